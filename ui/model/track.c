#include "ui/model/track.h"

#include <stdlib.h>

static uint64_t output_of(const struct model *m, uint64_t action)
{
	const struct model_action *a = model_action(m, action);
	return a ? a->out_bytes + a->err_bytes : 0;
}

void track_before(struct track *t, const struct model *m, const struct event *ev)
{
	if (ev->seq > t->nr)
		t->before = (struct model_sums){ m->uusd, m->tokens, ev->kind == EV_OUTPUT ? output_of(m, ev->action) : 0 };
}

static unsigned flags_of(const struct model *m, const struct event *ev)
{
	const struct model_action *a = ev->action ? model_action(m, ev->action) : NULL;
	switch ((int)ev->kind) {
	case EV_AGENT_TURN:
		return TRACK_TURN;
	case EV_ACTION_HELD:
		return TRACK_HELD;
	case EV_ACTION_DECIDED:
		return TRACK_APPROVED;
	case EV_ACTION_ENDED:
		if (a && a->decided && !a->started)
			return TRACK_DENIED;
		return a && !a->ok ? TRACK_ERROR : 0;
	case EV_SNAPSHOT_TAKEN:
		return TRACK_SNAPSHOT | TRACK_DIFF;
	case EV_NOTE:
		return m->nr_marks > 0 && m->mark[m->nr_marks - 1].seq == ev->seq ? TRACK_MARK : 0;
	case EV_AGENT_END:
	case EV_SESSION_END:
		return TRACK_END;
	default:
		return 0;
	}
}

static void add_step(struct track *t, const struct model *m, const struct event *ev, enum track_what what, int64_t amount)
{
	const struct model_action *a = ev->agent ? NULL : model_action(m, ev->action);
	if (amount <= 0)
		return;
	GROW(t->step, t->nr_steps, t->cap_steps);
	t->step[t->nr_steps++] = (struct track_step){
		.ts_us = ev->ts_us,
		.seq = ev->seq,
		.agent = ev->agent ? ev->agent : a ? a->agent : m->start,
		.amount = amount > UINT32_MAX ? UINT32_MAX : (uint32_t)amount,
		.what = (uint8_t)what,
	};
}

void track_after(struct track *t, const struct model *m, const struct event *ev)
{
	if (ev->seq != t->nr + 1)
		return; /* it has been here before, or events are missing */
	int64_t gap = t->nr ? ev->ts_us - t->last_ts : 0;
	gap = gap < 0 ? 0 : gap > TRACK_IDLE_US ? TRACK_IDLE_US : gap;
	int64_t at = t->nr ? t->at_us[t->nr - 1] + gap : 0;
	size_t nr = t->nr;
	GROW(t->flags, nr, t->cap_flags);
	GROW(t->at_us, t->nr, t->cap);
	t->flags[t->nr] = (uint16_t)flags_of(m, ev);
	t->at_us[t->nr++] = at;
	t->last_ts = ev->ts_us;
	add_step(t, m, ev, TRACK_COST, m->uusd - t->before.uusd);
	add_step(t, m, ev, TRACK_TOKENS, m->tokens - t->before.tokens);
	if (ev->kind == EV_OUTPUT)
		add_step(t, m, ev, TRACK_OUTPUT, (int64_t)(output_of(m, ev->action) - t->before.out));
	if (ev->kind == EV_ACTION_REQUESTED)
		add_step(t, m, ev, TRACK_ACTIONS, 1);
}

void track_release(struct track *t)
{
	free(t->at_us);
	free(t->flags);
	free(t->step);
	*t = (struct track){ 0 };
}

uint64_t track_seq(const struct track *t, int64_t at_us)
{
	size_t low = 0, high = t->nr;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (t->at_us[mid] <= at_us)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

int64_t track_length(const struct track *t)
{
	return t->nr ? t->at_us[t->nr - 1] : 0;
}

uint64_t track_find(const struct track *t, uint64_t seq, unsigned flags, int by)
{
	if (by > 0) {
		for (uint64_t i = seq + 1; i <= t->nr; i++)
			if (t->flags[i - 1] & flags)
				return i;
		return 0;
	}
	for (uint64_t i = seq > t->nr ? t->nr : seq ? seq - 1 : 0; i > 0; i--)
		if (t->flags[i - 1] & flags)
			return i;
	return 0;
}
