/* model_apply for actions: requests, decisions, output, and ends. */
#include <stdlib.h>
#include <string.h>

#include "base/longlist.h"
#include "query/action_end.h"
#include "ui/model/model_fold.h"

void fold_action_requested(struct model *m, struct model_agent *a, const struct event *ev,
			   const struct ev_action_requested *o)
{
	bool again = fold_repeat_action(m, ev);
	if (!a)
		a = fold_script_agent(m, ev);
	LONG_GROW(m->action, m->nr_actions, m->cap_actions);
	m->action[m->nr_actions++] = (struct model_action){
		.id = ev->seq,
		.agent = a ? a->id : ev->agent,
		.box = ev->box,
		.asked_us = ev->ts_us,
		.kind = fold_intern(m, o->kind),
		.code = -1,
		.again = again,
	};
	if (!a || again)
		return;
	a->actions++;
	/* a connection that a command makes: the agent is still at the command */
	if (!o->within)
		a->current = a->last = ev->seq;
	if (ev->box)
		a->box = ev->box;
}

/* Since when it is as it is: what asks has asked since before, whatever else it does meanwhile. */
static void model_fold_moved(struct model_agent *a, const struct model_action *act,
			     const struct event *ev)
{
	if (a && !a->ask && !act->again)
		a->since_us = ev->ts_us;
}

static void model_fold_unhold(struct model *m, struct model_action *act, struct model_agent *a)
{
	if (act->state != ACT_WAITS)
		return;
	size_t i = 0;
	while (i < m->nr_held && m->held[i] != act->id)
		i++;
	if (i == m->nr_held)
		return;
	memmove(&m->held[i], &m->held[i + 1], (m->nr_held - i - 1) * sizeof(*m->held));
	m->nr_held--;
	if (a && a->held > 0)
		a->held--;
}

static bool only_paused(const struct ev_action_held *o)
{
	return o->reasons.nr == 1 && ev_text_is(o->reasons.item[0], "pause");
}

static void action_held(struct model *m, struct model_action *act, struct model_agent *a,
			const struct event *ev, const struct ev_action_held *o)
{
	model_fold_unhold(m, act, a);
	act->state = ACT_WAITS;
	act->held = ev->seq;
	act->held_us = ev->ts_us;
	act->until_us = o->until_us;
	act->high_risk = ev_text_is(o->risk, "high");
	act->latched = only_paused(o);
	model_fold_moved(a, act, ev);
	if (act->latched)
		return;
	GROW(m->held, m->nr_held, m->cap_held);
	m->held[m->nr_held++] = act->id;
	if (a)
		a->held++;
}

static void model_fold_action_ended(struct model *m, struct model_action *act,
				    struct model_agent *a, const struct event *ev)
{
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	struct ev_action_ended end;
	event_decode(&desc_ev_action_ended, ev, &arena, &end);
	enum action_outcome how = action_outcome_of(&end);
	model_fold_unhold(m, act, a);
	act->state = ACT_OVER;
	act->ended = ev->seq;
	act->end_us = ev->ts_us;
	act->code = end.has_code ? (int)end.code : -1;
	act->ok = how == OUTCOME_OK || how == OUTCOME_UNKNOWN;
	if (strcmp(act->kind, "model") != 0) {
		m->uusd += end.cost_uusd;
		if (a)
			a->uusd += end.cost_uusd;
	}
	model_fold_moved(a, act, ev);
	if (!a || act->again)
		return;
	a->errors += !act->ok;
	if (a->current == act->id)
		a->current = 0;
}

/* Streams: record.h. */
static void output_came(struct model_action *act, const struct ev_output *o)
{
	int64_t stream = o->stream;
	uint64_t len = (uint64_t)o->len;
	if (stream == 4 || stream == 5)
		act->wire_bytes += stream == 5 ? len : 0;
	else if (stream == 2)
		act->err_bytes += len;
	else
		act->out_bytes += len;
	if (stream == 3)
		act->pty_bytes += len;
}

static void model_fold_size(struct model *m, struct model_size size)
{
	GROW(m->size, m->nr_sizes, m->cap_sizes);
	m->size[m->nr_sizes++] = size;
}

static void model_fold_resize(struct model *m, const struct model_action *act,
			      const struct ev_proc_resize *o)
{
	model_fold_size(m, (struct model_size){ .action = act->id,
						.at = act->pty_bytes,
						.cols = o->has_cols ? (int)o->cols : 80,
						.rows = o->has_rows ? (int)o->rows : 24 });
}

static void model_fold_attached(struct model *m, const struct model_action *act,
				const struct ev_terminal_attached *o)
{
	model_fold_size(m, (struct model_size){ .action = act->id,
						.at = act->pty_bytes,
						.cols = o->has_cols ? (int)o->cols : 80,
						.rows = o->has_rows ? (int)o->rows : 24 });
}

static void model_fold_keyframe(struct model *m, const struct model_action *act,
				const struct event *ev, const struct ev_terminal_screen *o)
{
	model_fold_size(m, (struct model_size){ .action = act->id,
						.at = (uint64_t)o->at,
						.key = ev->seq,
						.cols = (int)o->cols,
						.rows = (int)o->rows });
}

static bool fold_by_human(const struct ev_action_decided *o)
{
	return ev_text_is(o->by, "human");
}

void fold_action_event(struct model *m, struct model_agent *a, const struct event *ev,
		       const void *body)
{
	struct model_action *act = fold_action(m, ev->action);
	if (!act)
		return;
	if (!a)
		a = fold_agent(m, act->agent);
	switch (ev->kind) {
	case EV_ACTION_JUDGED:
		act->judged = ev->seq;
		break;
	case EV_ACTION_HELD:
		action_held(m, act, a, ev, body);
		break;
	case EV_ACTION_LATER:
		act->later = ev->seq;
		break;
	case EV_ACTION_DECIDED:
		model_fold_unhold(m, act, a);
		act->state = ACT_JUDGED_;
		act->decided = ev->seq;
		act->person = fold_by_human(body);
		break;
	case EV_ACTION_STARTED:
		model_fold_unhold(m, act, a);
		act->state = ACT_RUNS;
		act->started = ev->seq;
		act->start_us = ev->ts_us;
		model_fold_moved(a, act, ev);
		break;
	case EV_ACTION_ENDED:
		model_fold_action_ended(m, act, a, ev);
		break;
	case EV_OUTPUT:
		output_came(act, body);
		break;
	case EV_PROC_EXEC:
		act->traced = true;
		break;
	case EV_PROC_RESIZE:
		model_fold_resize(m, act, body);
		break;
	case EV_TERMINAL_ATTACHED:
		model_fold_attached(m, act, body);
		break;
	case EV_TERMINAL_SCREEN:
		model_fold_keyframe(m, act, ev, body);
		break;
	default:
		break;
	}
}
