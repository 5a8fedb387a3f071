/* What is an event? Every screen, export, check, and search is made from events.
 *
 * Kinds and the fields of their bodies are declared in src/<directory>/events.def
 * (wire/events.def explains them). schema/events.lua makes from the declarations: enum event_kind,
 * the names, structs (wire/event_body.h), the manual, and schema/events.json. Numbers never
 * change. */
#ifndef WIRE_EVENT_H
#define WIRE_EVENT_H

#include "base/json.h"

#include "event_kinds.inc" /* enum event_kind */

struct event {
	uint64_t seq;	/* 1, 2, 3 ... never given twice; order is seq and nothing else */
	uint64_t cause; /* seq that led to it; 0 = none */
	uint64_t agent; /* seq of the agent's agent.start; 0 = none */
	uint64_t box;	/* seq of the box's box.open; 0 = none */
	/* seq of the action's action.requested; 0 = none. "#405" on screens is this number */
	uint64_t action;
	int64_t ts_us;	 /* wall, UTC */
	int64_t mono_us; /* boot time clock */
	uint16_t kind;
	/* compact JSON object, UTF-8; NULL when redacted. Borrowed until the next call that fills
	 * it */
	const char *body;
	size_t len;
};

/* "action.requested"; "kind-412" (static buffer per call site is the caller's) when unknown: see
 * event_kind_print. */
const char *event_kind_name(uint16_t kind); /* NULL if unknown */
/* its sentence and the names of its fields; NULL if unknown */
const char *event_kind_doc(uint16_t kind);
bool event_kind_find(const char *name, uint16_t *out);
size_t event_kind_count(void);
uint16_t event_kind_at(size_t i); /* in ascending order */

#endif
