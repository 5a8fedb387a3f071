/* One agent continues while others stay frozen: which frozen sandboxes thaw with it? A shared
 * sandbox stays frozen until each of its agents may continue, so that no agent's command runs
 * because of another one. */
#include <stdlib.h>

#include "sandbox/effect_priv.h"

static bool thaw_may_go(const struct slot *s, uint64_t agent, const struct thaw_ops *ops)
{
	for (size_t i = 0; i < s->nr_let_go; i++)
		if (s->let_go[i] == agent)
			return true;
	return agent && ops->over(ops->self, agent);
}

static void thaw_let_go(struct slot *s, uint64_t agent)
{
	for (size_t i = 0; i < s->nr_let_go; i++)
		if (s->let_go[i] == agent)
			return;
	GROW(s->let_go, s->nr_let_go, s->cap_let_go);
	s->let_go[s->nr_let_go++] = agent;
}

void slot_forget_let_go(struct slot *s)
{
	free(s->let_go);
	s->let_go = NULL;
	s->nr_let_go = s->cap_let_go = 0;
}

/* False: not a sandbox of @agent's, or another user of it is frozen: then it stays. */
static bool thaw_goes(struct slot *s, uint64_t agent, const struct thaw_ops *ops)
{
	CLEANUP(free_ptr) uint64_t *used = NULL;
	size_t nr = gate_box_users(s->boxes->gate, s->id, &used);
	const uint64_t *user = nr ? used : &s->agent;
	bool its = false;
	nr = nr ? nr : 1;
	for (size_t i = 0; i < nr; i++)
		its |= user[i] == agent;
	if (!its)
		return false;
	thaw_let_go(s, agent);
	for (size_t i = 0; i < nr; i++)
		if (!thaw_may_go(s, user[i], ops)) {
			ops->stays(ops->self, s->id, user[i]);
			return false;
		}
	return true;
}

void boxes_thaw_for(struct boxes *b, uint64_t agent, uint64_t cause, const struct thaw_ops *ops)
{
	for (size_t i = 0; i < b->nr; i++) {
		struct slot *s = b->item[i];
		if (s->open && !s->closing && s->frozen && thaw_goes(s, agent, ops))
			boxes_freeze(b, s->id, false, cause);
	}
}
