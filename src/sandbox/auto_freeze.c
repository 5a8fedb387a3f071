/* Sandboxes that are frozen while nothing may happen in them: an action waits for your approval,
 * and nobody is attached. Processes that actions left running in the sandbox are frozen, too.
 * Another action of the sandbox still works: the sandbox thaws while one runs, and freezes again
 * when all have ended. A freeze that you requested never ends here. */
#include <string.h>

#include "sandbox/effect_priv.h"

enum { LOOK_MS = 100 };

/* Spawned processes are what is to stand still. */
static bool auto_freeze_works(const struct slot *s)
{
	for (const struct job *j = s->jobs; j; j = j->next)
		if (action_state(j->action) == ACTION_RUNNING &&
		    !json_flag(action_spec(j->action)->args, "spawn", false))
			return true;
	return !gate_box_quiet(s->boxes->gate, s->id);
}

static void auto_freeze_look(void *self)
{
	struct slot *s = self;
	if (!s->still || s->stilled || s->frozen || s->closing || !s->open)
		return;
	if (auto_freeze_works(s)) {
		loop_timer_set(s->still_timer, LOOK_MS, 0);
		return;
	}
	s->stilled = true;
	boxes_freeze_why(s->boxes, s->id, true, s->still, "nobody is attached who could decide");
}

static void auto_freeze_go(struct slot *s, const char *why)
{
	bool was = s->stilled;
	s->stilled = false;
	if (was)
		boxes_freeze_why(s->boxes, s->id, false, s->still, why);
}

void boxes_auto_freeze(struct boxes *b, uint64_t box, uint64_t cause, const char *why)
{
	struct slot *s = slot_find(b, box);
	if (!s || s->still == cause)
		return;
	if (!cause)
		auto_freeze_go(s, why);
	s->still = cause;
	if (!s->still_timer)
		s->still_timer = loop_timer_new(b->loop, auto_freeze_look, s);
	if (cause)
		loop_timer_set(s->still_timer, 0, 0);
	else
		loop_timer_stop(s->still_timer);
}

void slot_works(struct slot *s)
{
	if (!s->still)
		return;
	auto_freeze_go(s, "another action begins");
	loop_timer_set(s->still_timer, LOOK_MS, 0);
}
