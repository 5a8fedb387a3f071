/* Values that must never be kept: found in texts and in streams, replaced by "<secret:NAME>".
 *
 * A value is looked for as it is, as JSON writes it, and, in event bodies, inside {"b64":...}. In a stream only as many
 * bytes wait for their successors as could be the beginning of a value. One thread. */
#ifndef RECORD_SECRETS_H
#define RECORD_SECRETS_H

#include "base/json.h"

struct secrets;
struct secrets *secrets_new(void);
void secrets_free(struct secrets **s);
NODISCARD int secrets_add(struct secrets *s, const char *name, const char *value, size_t len, struct err *err);
bool secrets_any(const struct secrets *s);

/* If <bytes, len> holds a value, puts the cleaned bytes into @out (reset first) and returns true; else leaves @out. */
bool secrets_clean(const struct secrets *s, const void *bytes, size_t len, struct buf *out);
/* The same for an event body; what comes out is a JSON object again. */
bool secrets_clean_body(const struct secrets *s, const char *body, size_t len, struct buf *out);
/* Stream: appends <bytes, len> to @held, moves what is certain, cleaned, to the end of @out. @end: all of it. */
void secrets_stream(const struct secrets *s, struct buf *held, const void *bytes, size_t len, bool end, struct buf *out);

#endif
