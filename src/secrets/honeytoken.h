/* Honeytokens: credentials that look real and open nothing. Each sandbox gets its own, planted
 * in the usual places of credentials. No program has a reason to carry them elsewhere, so
 * carrying one is suspicious. The recorder knows their values as it knows secrets, and notes
 * honeytoken.seen (record.h, record_honeytoken). No event holds a value, only its H. A workspace
 * file into which a sandbox copies one is kept unchanged. A reopened sandbox gets new ones. Loop
 * thread only. */
#ifndef SECRETS_HONEYTOKEN_H
#define SECRETS_HONEYTOKEN_H

#include "supervisor/core/core.h"
#include "sandbox/driver.h"

struct honey;

/* A script's option (true, or a list of names) becomes a list of names in @open. ERR_SCRIPT: no
 * such name; ERR_UNSUPPORTED: boxes of @d have no home directory of their own. */
NODISCARD int honeytoken_option(const struct driver *d, const json_t *value, json_t *open,
				struct err *err);
/* Makes those of @names for @box, which is about to be opened, and gives it those that are
 * variables. Returns owned; NULL: none are configured. */
struct honey *honeytoken_new(struct super *s, uint64_t box, const json_t *names);
/* The box is open: writes those that are files, notes honeytoken.planted. Takes @h; @done comes
 * once, now or later, unless honeytoken_forget is called. */
void honeytoken_plant(struct honey *h, struct box *b, void (*done)(struct super *s, uint64_t box));
void honeytoken_forget(struct honey **h);

#endif
