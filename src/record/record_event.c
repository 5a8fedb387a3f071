#include "record/record_event.h"

uint64_t record_event(struct record *r, enum event_kind kind, const struct event *at,
		      const struct event_desc *d, const void *body)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	event_encode(d, body, &text);
	struct event ev = { .kind = (uint16_t)kind,
			    .cause = at->cause,
			    .agent = at->agent,
			    .box = at->box,
			    .action = at->action,
			    .body = text.data,
			    .len = text.len };
	return record_append(r, &ev);
}
