/* Words for what the gate says about an action: judged, held, decided, deferred, ended. */
#ifndef PHRASE_DESCRIBE_GATE_H
#define PHRASE_DESCRIBE_GATE_H

#include "wire/event.h"

/* Appends nothing if the fields that it needs are missing. false: an event of another kind. */
bool describe_gate(const struct event *ev, struct buf *out);

#endif
