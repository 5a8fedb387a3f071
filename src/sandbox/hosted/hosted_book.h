/* Hosted sandboxes on disk: one entry per sandbox, in
 * $XDG_STATE_HOME/sandglass/rented/PROVIDER-TAG. An entry without a lock holder belongs to a
 * supervisor that has died. Blocking, short. */
#ifndef SANDBOX_HOSTED_HOSTED_BOOK_H
#define SANDBOX_HOSTED_HOSTED_BOOK_H

#include "base/json.h"

struct book_entry;

/* A new entry with a tag of its own, locked. */
NODISCARD int hosted_book_open(struct book_entry **out, const char *provider, struct err *err);
const char *hosted_book_tag(const struct book_entry *e);
/* durable when it returns */
NODISCARD int hosted_book_put(struct book_entry *e, const json_t *box, struct err *err);
/* @gone: it was given back; else the entry stays for a sweep */
void hosted_book_close(struct book_entry **e, bool gone);

/* Random name of this user's installation, made once: boxes carry it, so that nobody else's are
 * touched. Returns owned. */
char *hosted_book_owner(struct err *err);
/* Entries of @provider whose supervisor has died, locked from now on by us; NULL when there is none
 * (left). */
struct book_entry *hosted_book_orphan(const char *provider);
/* as last put; NULL nothing; returns owned */
json_t *hosted_book_box(const struct book_entry *e);
/* Calls @fn for each entry of any provider. @box: as last put, an empty object before it is made.
 * All borrowed. */
typedef void book_entry_fn(void *self, const char *provider, const char *tag, const json_t *box,
			   bool lives);
void hosted_book_each(book_entry_fn *fn, void *self);
bool hosted_book_lives(const char *provider, const char *tag); /* a process holds its entry */

#endif
