/* Appends events from their structs: record_ev_KIND(r, &at, &body), one function for each kind of
 * src/<directory>/events.def. They are made by schema/events.lua:
 *
 *     record_ev_budget_warn(r, &(struct event){ .cause = id, .agent = agent },
 *                           &(struct ev_budget_warn){ .budget = id, .used = used });
 *
 * Of @at only cause, agent, box, and action count. wire/event_encode.h says which fields are
 * written. Each returns the seq, as record_append does. */
#ifndef RECORD_RECORD_EVENT_H
#define RECORD_RECORD_EVENT_H

#include "record/record.h"
#include "wire/event_encode.h"

uint64_t record_event(struct record *r, enum event_kind kind, const struct event *at,
		      const struct event_desc *d, const void *body);

#include "event_records.inc"

#endif
