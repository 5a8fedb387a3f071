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

const char *ended_word(const json_t *end)
{
	return ended_status_word(json_flag(end, "ok", false), json_int(end, "status", 0));
}

const char *ended_why(const json_t *end, size_t *len_out)
{
	const char *why = json_flag(end, "ok", false) ? "" : json_str(end, "why", "");
	*len_out = strcspn(why, "\n");
	return why;
}
