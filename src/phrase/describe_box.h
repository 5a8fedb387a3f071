/* Words for events of sandboxes and their connections. */
#ifndef PHRASE_DESCRIBE_BOX_H
#define PHRASE_DESCRIBE_BOX_H

#include "wire/event.h"

/* Appends nothing if the fields that it needs are missing. false: an event of another kind. */
bool describe_box(const struct event *ev, struct buf *out);

#endif
