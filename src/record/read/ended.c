#include "record/read/ended.h"

#include <string.h>

/* statuses of a program ended by a signal: 128 + the signal */
enum { INTERRUPTED = 130, TERMINATED = 143 };

const char *ended_status_word(bool good, int64_t status)
{
	if (good)
		return "ended";
	return status == INTERRUPTED || status == TERMINATED ? "stopped" : "failed";
}

const char *ended_word(const struct ev_session_end *end)
{
	return ended_status_word(end->ok, end->status);
}

struct ev_text ended_why(const struct ev_session_end *end)
{
	struct ev_text why = end->why;
	if (end->ok || !why.n)
		return (struct ev_text){ "", 0 };
	const char *line = memchr(why.s, '\n', why.n);
	return (struct ev_text){ why.s, line ? (size_t)(line - why.s) : why.n };
}
