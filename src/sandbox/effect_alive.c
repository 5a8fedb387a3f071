/* The number of processes that ended actions have left behind in a sandbox. Each end adds those it
 * left. When nothing else runs in the sandbox, it is checked whether they still live, so that
 * processes of later runs are not counted with them. The number falls only by that check: a run
 * that starts before it has its processes among those counted. */
#include <string.h>

#include "base/mem.h"
#include "sandbox/effect_priv.h"
#include "wire/guest.h"

struct alive_look {
	struct slot *slot; /* NULL: nobody waits for the answer */
	bool stale; /* an action has ended since: its processes may be missing from the answer */
};

static void on_stats(void *self, json_t *result, const struct err *err)
{
	struct alive_look *l = self;
	struct slot *s = l->slot;
	const json_t *procs = json_object_get(result, "procs");
	/* a list that is full may be cut */
	bool known = !err && json_is_array(procs) && json_array_size(procs) < GUEST_MAX_PS,
	     stale = l->stale;
	int live = 0;
	for (size_t i = 0; i < json_array_size(procs); i++)
		live += strcmp(json_str(json_array_get(procs, i), "state", ""), "Z") != 0;
	free(l);
	if (!s)
		return;
	s->alive_look = NULL;
	if (stale)
		alive_look(s);
	else if (known && live < s->alive)
		s->alive = live;
}

void alive_look(struct slot *s)
{
	if (s->alive_look)
		s->alive_look->stale = true;
	if (!s->alive || s->alive_look || s->jobs || s->frozen || s->closing || !s->open ||
	    !s->driver->stats)
		return;
	s->alive_look = NEW(struct alive_look);
	s->alive_look->slot = s;
	s->driver->stats(s->box, on_stats, s->alive_look);
}

void boxes_alive_look(struct boxes *b, uint64_t box)
{
	struct slot *s = slot_find(b, box);
	if (s)
		alive_look(s);
}

void alive_forget(struct slot *s)
{
	if (s->alive_look)
		s->alive_look->slot = NULL;
	s->alive_look = NULL;
}
