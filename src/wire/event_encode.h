/* Structs of events as the text of bodies: compact JSON with the fields in their declared order.
 * Left out are texts, numbers, flags, lists, and objects that are empty, but a field marked with !
 * in its declaration is written whenever has_NAME is set. */
#ifndef WIRE_EVENT_ENCODE_H
#define WIRE_EVENT_ENCODE_H

#include "wire/event_body.h"

/* Appends. A json field must hold JSON; a text that is not UTF-8 becomes {"b64":"..."}. */
void event_encode(const struct event_desc *d, const void *in, struct buf *out);

#endif
