#include "ui/model/track.h"

#include <stdlib.h>
#include <string.h>

#include "base/longlist.h"

static uint64_t track_output_of(const struct model *m, uint64_t action)
{
	const struct model_action *a = model_action(m, action);
	return a ? a->out_bytes + a->err_bytes : 0;
}

void track_before(struct track *t, const struct model *m, const struct event *ev)
{
	if (ev->seq > t->nr)
		t->before =
			(struct model_sums){ m->uusd, m->tokens,
					     ev->kind == EV_OUTPUT ? track_output_of(m, ev->action)
								   : 0 };
}

static bool track_is_one_of(const char *kind, const char *const *list)
{
	while (*list && strcmp(kind, *list) != 0)
		list++;
	return *list != NULL;
}

static unsigned wish_of(const struct model *m, const struct event *ev)
{
	static const char *const runs[] = { "exec", "shell", NULL };
	static const char *const changes[] = { "write", "edit", "put", "merge", NULL };
	const struct model_action *a = model_action(m, ev->seq);
	const char *kind = a ? a->kind : "";
	return track_is_one_of(kind, runs)	? TRACK_EXEC
	       : track_is_one_of(kind, changes) ? TRACK_EDIT
	       : strcmp(kind, "model") == 0	? TRACK_MODEL
	       : strcmp(kind, "rollback") == 0	? TRACK_ROLLBACK
						: 0;
}

static unsigned track_flags_of(const struct model *m, const struct event *ev)
{
	const struct model_action *a = ev->action ? model_action(m, ev->action) : NULL;
	switch ((int)ev->kind) {
	case EV_ACTION_REQUESTED:
		return wish_of(m, ev);
	case EV_ROLLBACK_DONE:
		return TRACK_ROLLBACK;
	case EV_BASE_DRIFT:
		return TRACK_DRIFT;
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
	case EV_HONEYTOKEN_SEEN:
	case EV_SECRET_SEEN:
		return TRACK_ERROR;
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

static void track_count(struct track_sum *s, unsigned flags)
{
	s->flags |= flags;
	s->count[LANE_EVENTS]++;
	s->count[LANE_EXEC] += (flags & TRACK_EXEC) != 0;
	s->count[LANE_EDIT] += (flags & TRACK_EDIT) != 0;
	s->count[LANE_MODEL] += (flags & TRACK_MODEL) != 0;
}

static void track_add_step(struct track *t, const struct model *m, const struct event *ev,
			   enum track_what what, int64_t amount)
{
	const struct model_action *a = ev->agent ? NULL : model_action(m, ev->action);
	if (amount <= 0)
		return;
	LONG_GROW(t->step, t->nr_steps, t->cap_steps);
	t->step[t->nr_steps++] = (struct track_step){
		.ts_us = ev->ts_us,
		.seq = ev->seq,
		.agent = ev->agent ? ev->agent
			 : a	   ? a->agent
				   : m->start,
		.amount = amount > UINT32_MAX ? UINT32_MAX : (uint32_t)amount,
		.what = (uint8_t)what,
	};
	t->stretch[t->nr_stretches - 1].amount[what] += t->step[t->nr_steps - 1].amount;
}

void track_after(struct track *t, const struct model *m, const struct event *ev)
{
	if (ev->seq != t->nr + 1)
		return; /* it has been here before, or events are missing */
	int64_t gap = t->nr ? ev->ts_us - t->last_ts : 0;
	gap = gap < 0 ? 0 : gap > TRACK_IDLE_US ? TRACK_IDLE_US : gap;
	int64_t at = t->nr ? t->at_us[t->nr - 1] + gap : 0;
	size_t nr = t->nr;
	LONG_GROW(t->flags, nr, t->cap_flags);
	LONG_GROW(t->at_us, t->nr, t->cap);
	t->flags[t->nr] = (uint16_t)track_flags_of(m, ev);
	if (t->nr % TRACK_STRETCH == 0) {
		GROW(t->stretch, t->nr_stretches, t->cap_stretches);
		t->stretch[t->nr_stretches++] = (struct track_sum){ 0 };
	}
	track_count(&t->stretch[t->nr_stretches - 1], t->flags[t->nr]);
	t->at_us[t->nr++] = at;
	t->last_ts = ev->ts_us;
	track_add_step(t, m, ev, TRACK_COST, m->uusd - t->before.uusd);
	track_add_step(t, m, ev, TRACK_TOKENS, m->tokens - t->before.tokens);
	if (ev->kind == EV_OUTPUT)
		track_add_step(t, m, ev, TRACK_OUTPUT,
			       (int64_t)(track_output_of(m, ev->action) - t->before.out));
	if (ev->kind == EV_ACTION_REQUESTED)
		track_add_step(t, m, ev, TRACK_ACTIONS, 1);
}

void track_release(struct track *t)
{
	long_free(t->at_us);
	long_free(t->flags);
	long_free(t->step);
	free(t->stretch);
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

/* Index of the first step of an event behind @seq. */
static size_t step_behind(const struct track *t, uint64_t seq)
{
	size_t low = 0, high = t->nr_steps;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (t->step[mid].seq <= seq)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* A part of a stretch, event by event. */
static void add_part(const struct track *t, uint64_t from, uint64_t to, struct track_sum *sum)
{
	for (uint64_t i = from; i < to; i++)
		track_count(sum, t->flags[i]);
	for (size_t i = step_behind(t, from); i < t->nr_steps && t->step[i].seq <= to; i++)
		sum->amount[t->step[i].what] += t->step[i].amount;
}

static void add_whole(const struct track_sum *s, struct track_sum *sum)
{
	sum->flags |= s->flags;
	for (int l = 0; l < LANE_NR; l++)
		sum->count[l] += s->count[l];
	for (int w = 0; w < TRACK_WHAT_NR; w++)
		sum->amount[w] += s->amount[w];
}

struct track_sum track_between(const struct track *t, uint64_t from, uint64_t to)
{
	struct track_sum sum = { 0 };
	to = to > t->nr ? t->nr : to;
	while (from < to) {
		uint64_t end = (from / TRACK_STRETCH + 1) * TRACK_STRETCH;
		if (from % TRACK_STRETCH == 0 && end <= to)
			add_whole(&t->stretch[from / TRACK_STRETCH], &sum);
		else
			add_part(t, from, end < to ? end : to, &sum);
		from = end;
	}
	return sum;
}

/* A stretch in which there is nothing of the kind is stepped over whole. */
uint64_t track_find(const struct track *t, uint64_t seq, unsigned flags, int by)
{
	if (by > 0) {
		for (uint64_t i = seq; i < t->nr; i++)
			if (i % TRACK_STRETCH == 0 &&
			    !(t->stretch[i / TRACK_STRETCH].flags & flags))
				i += TRACK_STRETCH - 1;
			else if (t->flags[i] & flags)
				return i + 1;
		return 0;
	}
	for (uint64_t i = seq > t->nr ? t->nr : seq ? seq - 1 : 0; i > 0; i--)
		if (i % TRACK_STRETCH == 0 && !(t->stretch[i / TRACK_STRETCH - 1].flags & flags))
			i -= TRACK_STRETCH - 1;
		else if (t->flags[i - 1] & flags)
			return i;
	return 0;
}
