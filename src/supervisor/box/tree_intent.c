#include "supervisor/box/tree_intent.h"

#include <stdlib.h>

#include "base/failpoint.h"
#include "base/mem.h"

void tree_recovered(struct super *s, uint64_t cause, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *body = json_array_get(list, i);
		record_append_json(s->record, EV_MERGE_UNDONE, cause, 0,
				   (uint64_t)json_int(body, "box", 0), 0, json_deep_copy(body));
	}
}

static void tree_intent_committed(void *self)
{
	struct merge_intent *i = self;
	failpoint_hit("merge-several-recorded");
	merge_intent_remove(i);
	free(i);
}

void tree_intent_done(struct super *s, struct merge_intent *i)
{
	if (!i->path)
		return;
	struct merge_intent *kept = NEW(struct merge_intent);
	*kept = *i;
	*i = MERGE_INTENT_INIT;
	record_barrier(s->record, record_head(s->record), tree_intent_committed, kept);
}
