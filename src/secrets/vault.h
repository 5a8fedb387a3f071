/* The secrets of a session: from name to value, on the host side only, when it is needed. A value
 * that we come to hold is told to the recorder before anybody gets it, so that nothing that is
 * recorded, shown, searched or sent to a script or a console can hold it, in any form of
 * record/secrets.h.
 *
 * Whoever puts a credential on the wire asks by name (vault_get) and hands the value on; nobody
 * else keeps a copy. Values stay until the session's end (commands are asked once) and are wiped
 * then. Loop thread only. */
#ifndef SECRETS_VAULT_H
#define SECRETS_VAULT_H

#include "record/record.h"

struct vault;

/* Before the record is there: reads what can be read at once (files and variables of the
 * configuration, what is kept, environment variables that by their name hold a credential, and what
 * the script's text names by sg.secret "NAME") so that the very first event is clean, too. @conf:
 * "secrets" of the configuration, may be NULL. What cannot be read is told when somebody asks for
 * it; a note says so when a value that is learned later stands in the arguments (those of the
 * session, NULL-terminated, may be NULL; borrowed), which that event holds. */
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
/* @cause, @agent: for the event secret.used; @what: one or two words for people ("model call",
 * "sg.host.exec"). */
void vault_get(struct vault *v, const char *name, const char *what, uint64_t cause, uint64_t agent,
	       vault_fn *done, void *self);
void vault_forget(struct vault *v, const void *self); /* its callbacks do not come */
/* The same without waiting: what is known already. NULL: not (yet). Borrowed until the session
 * ends. */
const char *vault_value(const struct vault *v, const char *name, size_t *len_out);
/* A script has named it (sg.secret): read now, so that its value is known to the recorder; nobody
 * is told. */
void vault_declare(struct vault *v, const char *name, uint64_t agent);
/* A value is being read that will come soon (a command's may take its time): what is to be told of
 * it is not told yet. */
bool vault_reading(const struct vault *v);

/* Every {"$secret":"NAME"} below @j: their names. */
void secret_names(const json_t *j, struct strv *out);

#endif
