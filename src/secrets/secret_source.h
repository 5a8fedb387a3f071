/* Where the value of a secret is, by its name. Only the host side reads it, when it is needed; no
 * value is ever printed.
 *
 * Looked for in this order: 1. the configuration's secrets = { NAME = "env:VARIABLE" | "file:PATH"
 * | { "COMMAND", "WORD", ... } }; 2. what 'sandglass secret set NAME' has kept: one file for each,
 * 0600, in a directory 0700 ($XDG_DATA_HOME/sandglass/secrets); 3. the environment variable NAME. A
 * file that others can read is refused. One line break at the end of a file or of a command's
 * output does not count. Reading blocks (a command at most 30 s): off the loop thread. */
#ifndef SECRETS_SECRET_SOURCE_H
#define SECRETS_SECRET_SOURCE_H

#include "base/json.h"

enum secret_kind { SECRET_ENV, SECRET_FILE, SECRET_STORE, SECRET_COMMAND };
struct secret_source {
	enum secret_kind kind;
	char *what; /* variable or path */
	struct strv argv;
};

/* Letters, digits, "_", "-", ".", at most 100, not beginning with "." or "-". */
bool secret_name_ok(const char *name);
/* @conf: {NAME: text | [words]}, may be NULL. ERR_NOENT: nothing is known of that name, the text
 * says what to do. ERR_INVALID: the configuration holds something else, perhaps the value itself
 * (it is not repeated). */
NODISCARD int secret_find(const json_t *conf, const char *name, struct secret_source *out,
			  struct err *err);
void secret_source_release(struct secret_source *s);
const char *secret_kind_name(enum secret_kind k); /* "env", "file", "kept", "command" */
/* Appends the value. Wipe what @out holds when it is used. */
NODISCARD int secret_read(const struct secret_source *s, struct buf *out, struct err *err);
void secret_wipe_buf(struct buf *b);

/* Rule 2's files. */
NODISCARD int secret_store_set(const char *name, const void *value, size_t len, struct err *err);
NODISCARD int secret_store_remove(const char *name, struct err *err); /* ERR_NOENT */
void secret_store_list(struct strv *out);			      /* names, sorted */

/* Environment variables that by their name hold a credential (…_API_KEY, …_TOKEN, ...): their
 * names. */
void secret_ambient(struct strv *out);

#endif
