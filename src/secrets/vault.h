/* The secrets of a session: from name to value, on the host side only, when needed. The recorder
 * learns a value before any caller gets it. So no recording, screen, search, script, or console can
 * hold it, in any encoding of record/secrets.h.
 *
 * Code that sends a credential asks by name (vault_get) and passes the value on; no other code
 * keeps a copy. Values stay until the session's end (commands run once) and are then wiped. Loop
 * thread only. */
#ifndef SECRETS_VAULT_H
#define SECRETS_VAULT_H

#include "record/record.h"

struct vault;

/* Before the recording starts: reads the values that can be read at once, so that the first
 * event is clean, too. These are files and variables of the configuration, kept values,
 * environment variables whose names suggest a credential, and the names in the script's
 * sg.secret "NAME". @conf: "secrets" of the configuration, may be NULL. An unreadable value is
 * reported on its first use. A note warns if a value that is learned later is in the arguments
 * (those of the session, NULL-terminated, may be NULL; borrowed), which the first event holds. */
struct vault_start {
	const json_t *conf;
	const char *script;
	size_t script_len;
	char *const *args;
};
struct vault *vault_new(const struct vault_start *start);
/* @read is called when a value that was asked for has come, or cannot come. */
void vault_attach(struct vault *v, struct loop *l, struct record *r, loop_fn *read, void *self);
void vault_free(struct vault **v); /* wipes */

/* @value is borrowed for the callback, NULL with @err. Comes later, never from inside the call. */
typedef void vault_fn(void *self, const char *value, size_t len, const struct err *err);
/* @cause, @agent: for the event secret.used; @what: one or two words for users ("model call",
 * "sg.host.exec"). */
void vault_get(struct vault *v, const char *name, const char *what, uint64_t cause, uint64_t agent,
	       vault_fn *done, void *self);
void vault_forget(struct vault *v, const void *self); /* its callbacks do not come */
/* The same without waiting: a value known already. NULL: not (yet). Borrowed until the session
 * ends. */
const char *vault_value(const struct vault *v, const char *name, size_t *len_out);
/* A script has named it (sg.secret): read now, so that the recorder knows its value; no caller
 * is notified. */
void vault_declare(struct vault *v, const char *name, uint64_t agent);
/* A value is being read and will come soon (a command may take its time): reports about it wait. */
bool vault_reading(const struct vault *v);

/* Every {"$secret":"NAME"} below @j: their names. */
void secret_names(const json_t *j, struct strv *out);

#endif
