/* An event as one object: what events, show, search, line mode and the export print with --json. */
#ifndef WIRE_EVENT_JSON_H
#define WIRE_EVENT_JSON_H

#include "base/json.h"
#include "wire/event.h"

/* {seq, time (RFC 3339, UTC), mono_us, kind (its name, or "kind-N" of an unknown one), cause?,
 * agent?, box?, action?, body, redacted? (true: the body was removed, and null)}. Returns owned. */
json_t *event_json(const struct event *ev);

#endif
