/* How an action ended. One rule for every reader: a body that is redacted or can't be read shows
 * that the action ended, but not how. Such an action counts as ended, and neither as failed nor as
 * denied. */
#ifndef QUERY_ACTION_END_H
#define QUERY_ACTION_END_H

#include "wire/event_body.h"

enum action_outcome { OUTCOME_OK, OUTCOME_DENIED, OUTCOME_FAILED, OUTCOME_UNKNOWN };

enum action_outcome action_outcome_of(const struct ev_action_ended *end);

#endif
