/* JSON as it is used in event bodies and frames (the one place where jansson is seen; other files
 * use json_t through this header).
 *
 * Rules of a body, checked by tests/unit/base/t_json.c: 1. Compact UTF-8, keys in the order in
 * which they were set, written once, never re-serialized. 2. Integers only; the unit is in the name
 * (dur_us, size_bytes, cost_uusd). 3. A value that is *bytes* (argv word, path, env value, stdin)
 * is a string if it is valid UTF-8 without NUL, else the
 *    object {"b64":"..."}; json_bytes and json_get_bytes are the only codec for it. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"

/* CLEANUP(json_release) json_t *j = ...; */
void json_release(json_t **j);

/* Parses exactly one value; @what names the source in the error ("policy", "control frame").
 * Returns owned or NULL. */
json_t *json_parse(const char *text, size_t len, const char *what, struct err *err) NODISCARD;
/* At least the number of values in @text; stops above @most. Parsed, each takes up to some 400
 * bytes: for text of programs that are not trusted, before json_parse. */
size_t json_count(const char *text, size_t len, size_t most);

void json_dump_buf(const json_t *j, struct buf *out); /* appends compact text */
char *json_dump_str(const json_t *j);		      /* returns owned */

json_t *json_bytes(const void *bytes, size_t len); /* new reference; rule 3 */
/* the same for a C string; NULL gives json null */
json_t *json_bytes_z(const char *s);
/* Fills @out (reset first) from a string or a {"b64":...}; false if @j is neither. */
bool json_get_bytes(const json_t *j, struct buf *out);
json_t *json_argv(char *const *argv, size_t nr); /* array of json_bytes */
/* appends; false if an element is not bytes */
bool json_get_argv(const json_t *arr, struct strv *out);

/* Lookups that answer a default when the key is absent or of another type. Strings are borrowed. */
const char *json_str(const json_t *o, const char *key, const char *def);
int64_t json_int(const json_t *o, const char *key, int64_t def);
bool json_flag(const json_t *o, const char *key, bool def);

/* Setters that cannot fail (they assert). json_put takes the reference of @value; NULL values are
 * not set. */
void json_put(json_t *o, const char *key, json_t *value);
/* valid UTF-8 expected; else it becomes rule 3's form */
void json_put_str(json_t *o, const char *key, const char *s);
void json_put_int(json_t *o, const char *key, int64_t v);
void json_put_flag(json_t *o, const char *key, bool v);
void json_put_bytes(json_t *o, const char *key, const void *bytes, size_t len);

#endif
