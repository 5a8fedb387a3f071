/* Words for events of a session, its agents, and its users. */
#ifndef PHRASE_DESCRIBE_SESSION_H
#define PHRASE_DESCRIBE_SESSION_H

#include "wire/event.h"

/* Appends nothing if the fields that it needs are missing. false: an event of another kind. */
bool describe_session(const struct event *ev, struct buf *out);

#endif
