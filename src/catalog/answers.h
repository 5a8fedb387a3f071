/* Users' answers to actions that required approval: the input of `policy mine`. */
#ifndef CATALOG_ANSWERS_H
#define CATALOG_ANSWERS_H

#include "check/past.h"

/* One answer as the catalog keeps it: {"id", "decision", "wanted"}; "wanted" has the fields that
 * patterns are matched against, and is missing if the action was redacted. NULL: you didn't decide
 * this action. Returns owned. */
json_t *human_answer(const struct past_action *a) NODISCARD;

#endif
