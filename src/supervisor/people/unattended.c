#include "supervisor/people/unattended.h"

#include <stdlib.h>

#include "supervisor/core/core.h"
#include "supervisor/core/parts.h"

struct away {
	uint64_t *box;
	size_t nr, cap;
};

static void unattended_release(void *object)
{
	struct away *a = object;
	free(a->box);
}

static struct away *unattended_of(const struct super *s)
{
	static const struct super_part part = { sizeof(struct away), unattended_release };
	return super_part(s, &part);
}

/* The first action of the list that waits in @box; 0 none. */
static uint64_t waits_in(struct super *s, const json_t *held, uint64_t box)
{
	size_t i;
	json_t *h;
	json_array_foreach(held, i, h)
	{
		uint64_t id = (uint64_t)json_int(h, "action", 0);
		const struct action *a = gate_action(s->gate, id);
		if (a && action_spec(a)->box == box)
			return id;
	}
	return 0;
}

static bool unattended_listed(const struct away *a, uint64_t box)
{
	for (size_t i = 0; i < a->nr; i++)
		if (a->box[i] == box)
			return true;
	return false;
}

static void still_for(struct super *s, const json_t *held)
{
	struct away *a = unattended_of(s);
	size_t i;
	json_t *h;
	json_array_foreach(held, i, h)
	{
		uint64_t id = (uint64_t)json_int(h, "action", 0);
		const struct action *act = gate_action(s->gate, id);
		uint64_t box = act ? action_spec(act)->box : 0;
		if (!box || unattended_listed(a, box))
			continue;
		GROW(a->box, a->nr, a->cap);
		a->box[a->nr++] = box;
		boxes_auto_freeze(s->boxes, box, id, NULL);
	}
}

void unattended_look(struct super *s)
{
	if (!s->gate || !s->boxes)
		return;
	struct away *a = unattended_of(s);
	bool alone = !s->nr_people && !s->ending;
	if (!alone && !a->nr)
		return;
	CLEANUP(json_release) json_t *state = gate_state(s->gate);
	const json_t *held = json_object_get(state, "held");
	size_t kept = 0;
	for (size_t i = 0; i < a->nr; i++) {
		if (alone && waits_in(s, held, a->box[i]))
			a->box[kept++] = a->box[i];
		else
			boxes_auto_freeze(s->boxes, a->box[i], 0,
					  alone	      ? "it is decided"
					  : s->ending ? "the session ends"
						      : "a user is attached");
	}
	a->nr = kept;
	if (alone)
		still_for(s, held);
}
