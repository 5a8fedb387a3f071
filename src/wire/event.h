/* What is an event? Every screen, export, check, and search is made from events.
 *
 * Kinds are declared in src/<directory>/kinds.def:
 *     KIND(number, NAME, "dotted.name", "sentence for readers; body fields with their types")
 * The text may continue as further strings on lines that start with a space. The Makefile gathers
 * them into kinds.inc, from which come enum event_kind, the names, the manual, and Lua's constants.
 * Numbers never change. Each directory has its range: record 1-99, action 100-199, sandbox 200-299,
 * proxy 300-349, control 350-399, app (session, agents, host frames, models, users) 400-599,
 * evidence 600-699. */
#ifndef WIRE_EVENT_H
#define WIRE_EVENT_H

#include "base/json.h"

enum event_kind {
#define KIND(number, NAME, name, doc) EV_##NAME = (number),
#include "kinds.inc"
#undef KIND
};

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
const char *event_kind_doc(uint16_t kind);  /* NULL if unknown */
bool event_kind_find(const char *name, uint16_t *out);
size_t event_kind_count(void);
uint16_t event_kind_at(size_t i); /* in ascending order */

#endif
