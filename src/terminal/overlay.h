/* The rows that the prefix key opens over a program's screen: what the agent does, what waits, the
 * keys. */
#ifndef TERMINAL_OVERLAY_H
#define TERMINAL_OVERLAY_H

#include "base/buf.h"
#include "base/json.h"

struct overlay_facts {
	const json_t *state; /* the supervisor's; borrowed */
	const char *name, *session;
	const char *note; /* how the last key went; "" nothing */
	uint64_t agent;
	int rows, cols, prefix;
	bool queue, help;   /* more rows */
	const char *typing; /* a host path, or the reason of a denial, that is being typed; NULL */
	uint64_t denying;   /* the action that is being denied; 0: a path is typed */
};

/* The oldest entry that waits and belongs to the agent (or, without one, to its session); NULL.
 * Borrowed. */
const json_t *overlay_oldest(const json_t *state, uint64_t agent);
size_t overlay_waiting(const json_t *state, uint64_t agent);
/* Appends what paints it at the bottom of the screen. */
void overlay_paint(const struct overlay_facts *f, struct buf *out);
/* One line for a window title or a status row: "claude  HELD 2  git push origin main". */
void overlay_line(const struct overlay_facts *f, struct buf *out);

#endif
