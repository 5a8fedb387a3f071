#include "query/action_end.h"

enum action_outcome action_outcome_of(const struct ev_action_ended *end)
{
	if (end->decoded.reading != BODY_READ)
		return OUTCOME_UNKNOWN;
	if (ev_text_is(end->end, "denied"))
		return OUTCOME_DENIED;
	return ev_text_is(end->end, "ok") && !end->code && !end->signal ? OUTCOME_OK
									: OUTCOME_FAILED;
}
