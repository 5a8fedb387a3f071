/* A row as the predicate of the filter language sees it (query/filter.h, filter_match): what stands
 * in the model and in the bodies of the events up to the cursor. Texts are those of the record. */
#ifndef UI_FACTS_H
#define UI_FACTS_H

#include "ui/model/source.h"

/* Of an action (by its seq) or of any other event. Returns owned, never NULL. */
json_t *facts_row(struct source *s, uint64_t seq);
/* Of an agent: its current state, and its own totals. Returns owned. */
json_t *facts_agent(struct source *s, const struct model_agent *a);

#endif
