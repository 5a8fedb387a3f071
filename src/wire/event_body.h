/* Bodies of events as structs, made from src/<directory>/events.def (wire/events.def explains the
 * declarations; schema/events.lua makes the structs):
 *
 *     struct ev_action_ended e;
 *     event_decode(&desc_ev_action_ended, ev, &arena, &e);
 *     if (e.has_code && e.code) ...
 *
 * Decoding never fails. A redacted, malformed, or duplicate-key body gives an empty struct whose
 * member "decoded" names the reason. An absent field is 0, NULL, or a list whose item is NULL;
 * an empty list has an item. A field of another type than declared reads as absent, and
 * decoded.odd counts it. */
#ifndef WIRE_EVENT_BODY_H
#define WIRE_EVENT_BODY_H

#include "base/mem.h"
#include "wire/event.h"

/* A text: not terminated, valid as long as the arena and the event's body. NULL: absent. A json
 * field holds its JSON text. */
struct ev_text {
	const char *s;
	size_t n;
};

bool ev_text_is(struct ev_text t, const char *s);
/* Terminated, of the arena; "" if absent. */
const char *ev_text_dup(struct arena *a, struct ev_text t);
/* Appends at most @max bytes, and "..." if that is not all; false: @t is empty. */
bool ev_text_put(struct buf *out, struct ev_text t, size_t max);

enum ev_reading {
	BODY_READ,
	BODY_REDACTED,	/* the body was removed */
	BODY_MALFORMED, /* not a JSON object, or more than 2048 values deep */
	BODY_DUPLICATE	/* two members have the name of one field: readers might disagree */
};

struct ev_state {
	enum ev_reading reading;
	unsigned odd;	  /* fields of another type than declared */
	unsigned unknown; /* fields that are not declared */
};

enum event_type { EVT_INT, EVT_FLAG, EVT_STR, EVT_BYTES, EVT_JSON, EVT_STRUCT };
enum event_shape { EVS_ONE, EVS_LIST, EVS_LISTS, EVS_MAP };

struct event_desc;
struct event_field {
	const char *name;
	uint8_t len;
	uint8_t type;  /* enum event_type; of a list: of its elements */
	uint8_t shape; /* enum event_shape; LISTS and MAP are kept as JSON text */
	uint16_t off;
	uint16_t has; /* offset of has_NAME; 0: none */
	const struct event_desc *sub;
};
struct event_desc {
	const char *name;
	const struct event_field *field;
	uint16_t nr;
	uint16_t size; /* of the struct; its first member is ev_state, of a nested one "there" */
};

#include "event_bodies.inc"

/* NULL: unknown kind */
const struct event_desc *event_desc_of(uint16_t kind);
const struct event_field *event_desc_field(const struct event_desc *d, const char *name,
					   size_t len);

/* Fills @out, the struct of @d, from @ev's body, which must outlive it; more memory comes from
 * @a. */
void event_decode(const struct event_desc *d, const struct event *ev, struct arena *a, void *out);

#endif
