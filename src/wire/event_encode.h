/* Structs of events as the text of bodies: compact JSON with the fields in their declared order.
 * Left out are absent texts and lists (NULL), numbers that are 0, flags that are false, and
 * objects that are not there; but a field marked with ! in its declaration is written whenever
 * has_NAME is set. */
#ifndef WIRE_EVENT_ENCODE_H
#define WIRE_EVENT_ENCODE_H

#include "wire/event_body.h"

/* In an initializer: a field whose declaration is marked with !. */
#define EV_SET(field, value) .has_##field = true, .field = (value)

/* Borrows; NULL gives an absent text. */
struct ev_text ev_text_of(const char *s);
/* The hexadecimal digits of @h, of @a. */
struct ev_text ev_hex_of(struct arena *a, const void *bytes, size_t len);
/* A json field: the text of @v, of @a; NULL gives an absent one. */
struct ev_text ev_json_of(struct arena *a, const json_t *v);
/* A str or bytes field from parsed JSON: borrows @v, or of @a; absent if it is neither a string nor
 * {"b64":"..."}. */
struct ev_text ev_text_from(struct arena *a, const json_t *v);
/* A list of what @v holds, which must outlive it: v->nr items of @a. */
struct ev_text *ev_texts_of(struct arena *a, const struct strv *v);
/* The same for a list: @nr items of @a; NULL if @list is not a list. */
struct ev_text *ev_texts_from(struct arena *a, const json_t *list, size_t *nr);
struct ev_who ev_who_from(struct arena *a, const json_t *who);

/* Appends. A json field must hold JSON; a text that is not UTF-8 becomes {"b64":"..."}. */
void event_encode(const struct event_desc *d, const void *in, struct buf *out);

#endif
