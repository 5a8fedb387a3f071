/* What people answered to actions that asked them: what `policy mine` counts. */
#ifndef CATALOG_ANSWERS_H
#define CATALOG_ANSWERS_H

#include "check/past.h"

/* One answer as the catalog keeps it: {"id", "decision", "wanted"}; wanted is what patterns are
 * held against. NULL: nobody answered it. Returns owned. */
json_t *human_answer(const struct past_action *a) NODISCARD;

#endif
