/* Words for events of commands and models. They are apart from those of describe_typed, because
 * screens show these kinds in words of their own, or their bodies. */
#ifndef PHRASE_DESCRIBE_WORK_H
#define PHRASE_DESCRIBE_WORK_H

#include "wire/event.h"

/* Appends nothing if the fields that it needs are missing. false: an event of another kind. */
bool describe_work(const struct event *ev, struct buf *out);

#endif
