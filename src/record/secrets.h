/* Values that must never be kept: found in texts and in streams, replaced by "<secret:NAME>".
 *
 * A value is looked for as it is and in the forms in which programs pass it on: as JSON writes it
 * (once and twice, with escaped slashes, in ASCII), in base64 at each of the three places it can
 * begin (both alphabets), percent-encoded, in hexadecimal. In JSON it is looked for in every string
 * and name, and inside {"b64":...}; numbers stay as they are. In a stream only as many bytes wait
 * for their successors as could be the beginning of a value.
 *
 * One pass over the text whatever the number of values (a table says for each pair of bytes how far
 * a match can be away). One thread; secrets_copy is for another one. */
#ifndef RECORD_SECRETS_H
#define RECORD_SECRETS_H

#include "base/hash.h"
#include "base/json.h"

enum { SECRET_SHORTEST = 6, SECRET_LONGEST = 64 << 10 };

struct secrets;
struct secrets *secrets_new(void);
void secrets_free(struct secrets **s);
struct secrets *secrets_copy(const struct secrets *s); /* returns owned; @s may be NULL */
/* Adds all forms of a value. A value that is there already keeps its first name. ERR_INVALID: too
 * short or too long. */
NODISCARD int secrets_add(struct secrets *s, const char *name, const char *value, size_t len,
			  struct err *err);
/* The same for bait: a value that is worth nothing and that nobody has a reason to carry
 * anywhere. */
NODISCARD int secrets_add_bait(struct secrets *s, const char *name, const char *value, size_t len,
			       struct err *err);
/* From now on @found receives the "<secret:NAME>" (borrows while @s lives) of each bait that is
 * replaced. Not copied. */
typedef void secrets_found_fn(void *self, const char *instead);
void secrets_watch(struct secrets *s, secrets_found_fn *found, void *self);
/* Those that are bait, or those that are not. Returns owned; @s may be NULL. */
struct secrets *secrets_part(const struct secrets *s, bool bait);
bool secrets_any(const struct secrets *s);
bool secrets_any_bait(const struct secrets *s);
/* H over @salt and all values: says whether two sets are the same without telling what they
 * hold. */
void secrets_fingerprint(const struct secrets *s, const void *salt, size_t salt_len,
			 struct hash *out);

/* Does <bytes, len> hold a value? Returns "<secret:NAME>" (borrows) or NULL. */
const char *secrets_within(const struct secrets *s, const void *bytes, size_t len);
/* If <bytes, len> holds a value, puts the cleaned bytes into @out (reset first) and returns true;
 * else leaves @out. */
bool secrets_clean(const struct secrets *s, const void *bytes, size_t len, struct buf *out);
/* The same for JSON text (an event body, a frame); the result is JSON again. */
bool secrets_clean_body(const struct secrets *s, const char *body, size_t len, struct buf *out);
/* The same for parsed JSON, in place. */
bool secrets_clean_value(const struct secrets *s, json_t *body);
/* Stream: appends <bytes, len> to @held, moves what is certain, cleaned, to the end of @out. @end:
 * all of it. */
void secrets_stream(const struct secrets *s, struct buf *held, const void *bytes, size_t len,
		    bool end, struct buf *out);

/* secrets_forms.c: calls @each for every form of the value, the value itself first. */
typedef void secret_form_fn(void *self, const void *bytes, size_t len);
void secret_forms(const char *value, size_t len, secret_form_fn *each, void *self);

#endif
