#ifndef SUPERVISOR_CORE_OUTPUT_EXCERPT_H
#define SUPERVISOR_CORE_OUTPUT_EXCERPT_H

#include "base/buf.h"

/* The part of an action's output that a call gets: first and last HOST_OUTPUT_SHOWN bytes of
 * each stream. The same excerpt can be made again from the recording (luahost_record.c), so the
 * frame that carries it is stored without it. */
struct shown {
	struct buf head, tail;
	uint64_t total;
};
void output_excerpt_add(struct shown *o, const void *bytes, size_t len);
/* appends; says in the middle what was left out */
void output_excerpt_text(const struct shown *o, struct buf *out);
void output_excerpt_release(struct shown *o);

#endif
