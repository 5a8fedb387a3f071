/* model_apply: one function per family of events. */
#include <stdlib.h>
#include <string.h>

#include "base/longlist.h"
#include "query/action_end.h"
#include "record/read/ended.h"
#include "ui/model/journal.h"
#include "ui/model/model_fold.h"

static const char *model_fold_intern(struct model *m, struct ev_text t)
{
	struct ev_text word = { t.s ? t.s : "", t.n };
	for (size_t i = 0; i < m->nr_words; i++)
		if (ev_text_is(word, m->word[i]))
			return m->word[i];
	GROW(m->word, m->nr_words, m->cap_words);
	return m->word[m->nr_words++] = mem_strndup(word.s, word.n);
}

/* Whatever changes an element finds it by these. */
static struct model_agent *model_fold_agent_of(struct model *m, uint64_t id)
{
	struct model_agent *a = (struct model_agent *)(uintptr_t)model_agent(m, id);
	journal_keep_agent(m->journal, a);
	return a;
}

struct model_agent *fold_agent(struct model *m, uint64_t id)
{
	return id ? model_fold_agent_of(m, id) : NULL;
}

static struct limits model_fold_limits_of(const struct ev_limits *l)
{
	return (struct limits){ l->uusd, l->tokens, l->time_us, l->steps, l->actions };
}

static void model_fold_add_row(struct rows *r, const struct event *ev)
{
	LONG_GROW(r->row, r->nr, r->cap);
	r->row[r->nr++] = (struct row){ ev->seq, ev->kind };
}

bool model_is_row(uint16_t kind)
{
	switch (kind) {
	case EV_OUTPUT:
	case EV_ACTION_JUDGED:
	case EV_ACTION_STARTED:
	case EV_ACTION_ENDED:
	case EV_ACTION_HELD:
	case EV_AGENT_STATE:
	case EV_HOST_FRAME:
	case EV_HOST_CALL:
	case EV_HOST_MODULE:
	case EV_MODEL_CALL:
	case EV_MODEL_SENT:
	case EV_MODEL_REPLY:
	case EV_PROC_STDIN:
	case EV_PROC_RESIZE:
	case EV_TERMINAL_SCREEN:
	case EV_BUDGET_SPENT:
	case EV_STORE_SET:
	case EV_CONTROL_COMMAND:
	case EV_PREVIEW_STARTED:
	case EV_PREVIEW_TREE:
	case EV_PREVIEW_DROPPED:
		return false;
	default:
		return true;
	}
}

/* --- activity --------------------------------------------------------------------------------- */

static void spark_add(struct spark *s, const struct event *ev, bool held, bool error)
{
	int64_t slot = ev->ts_us / SPARK_SLOT_US;
	size_t i = (size_t)(slot % SPARK_SLOTS);
	if (s->slot[i] != slot) {
		s->slot[i] = slot;
		s->events[i] = 0;
		s->held[i] = s->error[i] = false;
	}
	if (s->events[i] < UINT16_MAX)
		s->events[i]++;
	s->held[i] = s->held[i] || held;
	s->error[i] = s->error[i] || error;
}

/* A script's own actions are a row of the fleet, too, once there are any. */
static struct model_agent *script_agent(struct model *m, const struct event *ev)
{
	struct model_agent *a = m->start ? model_fold_agent_of(m, m->start) : NULL;
	if (a || !m->start)
		return a;
	GROW(m->agent, m->nr_agents, m->cap_agents);
	/* its id is the lowest */
	memmove(&m->agent[1], &m->agent[0], m->nr_agents * sizeof(*m->agent));
	m->nr_agents++;
	m->agent[0] = (struct model_agent){
		.id = m->start,
		.script = true,
		.name = mem_strdup("script"),
		.task = mem_strdup(m->name),
		.model = mem_strdup(""),
		.start_us = m->start_us,
		.since_us = ev->ts_us,
	};
	return &m->agent[0];
}

/* --- agents ----------------------------------------------------------------------------------- */

static char *fold_copy(struct ev_text t, const char *absent)
{
	return t.s ? mem_strndup(t.s, t.n) : mem_strdup(absent);
}

static void agent_start(struct model *m, const struct event *ev, const struct ev_agent_start *o)
{
	GROW(m->agent, m->nr_agents, m->cap_agents);
	m->agent[m->nr_agents++] = (struct model_agent){
		.id = ev->seq,
		.parent = (uint64_t)o->parent,
		.box = (uint64_t)o->box,
		.name = fold_copy(o->name, "agent"),
		.task = fold_copy(o->task, ""),
		.model = fold_copy(o->model, ""),
		.start_us = ev->ts_us,
		.since_us = ev->ts_us,
		.interactive = o->interactive,
		.limits = model_fold_limits_of(&o->limits),
		/* its program calls models that nobody here sees */
		.cost_unknown = ev_text_is(o->model, "outside"),
	};
	m->cost_unknown |= m->agent[m->nr_agents - 1].cost_unknown;
}

static void agent_end(struct model_agent *a, const struct event *ev, const struct ev_agent_end *o)
{
	fold_text(&a->stop, "end");
	fold_bytes(&a->stop, o->stop);
	fold_bytes(&a->text, o->text);
	a->ended = true;
	a->good = o->ok;
	a->end_us = ev->ts_us;
	a->since_us = ev->ts_us;
	a->seq_end = ev->seq;
}

static void model_fold_note(struct model *m, struct model_agent *a, const struct ev_note *o)
{
	if (a && ev_text_is(o->level, "progress")) {
		a->done = o->done;
		a->total = o->total;
	}
	if (ev_text_is(o->level, "warn"))
		fold_bytes(&m->notice, o->text);
}

static void model_fold_mark(struct model *m, const struct event *ev, const struct ev_note *o)
{
	struct model_mark k = { .seq = ev->seq, .on = ev->cause ? ev->cause : ev->seq };
	if (!ev_text_is(o->level, "mark"))
		return;
	k.text = fold_copy(o->text, "");
	k.key = fold_copy(o->key, "");
	GROW(m->mark, m->nr_marks, m->cap_marks);
	m->mark[m->nr_marks++] = k;
}

static void model_fold_reply(struct model *m, struct model_agent *a, const struct event *ev,
			     const struct ev_model_reply *o)
{
	int64_t tokens = o->usage.in + o->usage.out, uusd = o->cost_uusd;
	struct model_action *act = fold_action(m, ev->action);
	m->tokens += tokens;
	m->uusd += uusd;
	m->cost_unknown = m->cost_unknown || o->cost_unknown;
	if (act)
		act->reply = ev->seq;
	if (!a)
		return;
	a->tokens += tokens;
	a->uusd += uusd;
	a->cost_unknown = a->cost_unknown || o->cost_unknown;
	if (o->text.s)
		a->said = ev->seq;
}

static void model_fold_ask(struct model *m, struct model_agent *a, const struct event *ev)
{
	GROW(m->ask, m->nr_asks, m->cap_asks);
	m->ask[m->nr_asks++] = (struct model_ask){ ev->seq, a ? a->id : ev->agent };
	if (a)
		a->ask = ev->seq;
}

/* An answer names its question by cause, or belongs to the same action, or is the agent's only
 * one. */
static void ask_answered(struct model *m, struct model_agent *a, const struct event *ev)
{
	size_t i = 0;
	while (i < m->nr_asks && m->ask[i].seq != ev->cause)
		i++;
	uint64_t by = a ? a->id : ev->agent;
	for (size_t k = 0; i == m->nr_asks && k < m->nr_asks; k++)
		if (m->ask[k].agent == by)
			i = k;
	if (i < m->nr_asks)
		memmove(&m->ask[i], &m->ask[i + 1], (--m->nr_asks - i) * sizeof(*m->ask));
	if (!a)
		return;
	a->ask = 0;
	for (size_t k = 0; k < m->nr_asks; k++) /* it may have asked more than one */
		if (m->ask[k].agent == by)
			a->ask = m->ask[k].seq;
}

/* --- actions ---------------------------------------------------------------------------------- */

static void action_requested(struct model *m, struct model_agent *a, const struct event *ev,
			     const struct ev_action_requested *o)
{
	bool again = fold_repeat_action(m, ev);
	if (!a)
		a = script_agent(m, ev);
	LONG_GROW(m->action, m->nr_actions, m->cap_actions);
	m->action[m->nr_actions++] = (struct model_action){
		.id = ev->seq,
		.agent = a ? a->id : ev->agent,
		.box = ev->box,
		.asked_us = ev->ts_us,
		.kind = model_fold_intern(m, o->kind),
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

static void model_fold_action_event(struct model *m, struct model_agent *a, const struct event *ev,
				    const void *body)
{
	struct model_action *act = fold_action(m, ev->action);
	if (!act)
		return;
	if (!a)
		a = model_fold_agent_of(m, act->agent);
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

/* --- the session ------------------------------------------------------------------------------ */

static void model_fold_latch(struct model *m, const struct event *ev, uint64_t id, bool on,
			     bool freeze)
{
	struct model_agent *a = model_fold_agent_of(m, id);
	if (a) {
		a->paused = on;
		/* what waits has waited since before */
		a->since_us = a->held || a->ask ? a->since_us : ev->ts_us;
	} else {
		m->paused_by_freeze = freeze ? on : on && m->paused_by_freeze;
		m->paused_by_person = freeze ? m->paused_by_person : on;
		m->paused_all = m->paused_by_person || m->paused_by_freeze;
	}
	for (size_t i = 0; !a && !on && !freeze && i < m->nr_agents; i++)
		if (m->agent[i].paused)
			model_fold_agent_of(m, m->agent[i].id)->paused = false;
}

static void model_fold_paused(struct model *m, const struct event *ev,
			      const struct ev_latch_pause *o)
{
	model_fold_latch(m, ev, o->has_agent ? (uint64_t)o->agent : ev->agent, true, o->freeze);
}

static void model_fold_continued(struct model *m, const struct event *ev,
				 const struct ev_latch_continue *o)
{
	model_fold_latch(m, ev, o->has_agent ? (uint64_t)o->agent : ev->agent, false, o->freeze);
}

static void budget_empty(struct model *m, struct model_agent *a, const struct ev_budget_empty *o)
{
	bool own = a && (uint64_t)o->budget != m->session_budget;
	*(own ? &a->used_up : &m->used_up) = model_fold_intern(m, o->what);
}

static void budget_limits(struct model *m, struct model_agent *a, uint64_t id, struct limits lim)
{
	if (a) {
		a->limits = lim;
	} else if (!m->session_budget || m->session_budget == id) {
		m->session_budget = id;
		m->limits = lim;
	}
}

static void budget_new(struct model *m, struct model_agent *a, const struct event *ev,
		       const struct ev_budget_new *o)
{
	if (a)
		a->used_up = NULL;
	else
		a = model_fold_agent_of(m, (uint64_t)o->agent);
	budget_limits(m, a, ev->seq, model_fold_limits_of(&o->limits));
}

static void budget_extended(struct model *m, struct model_agent *a,
			    const struct ev_budget_extended *o)
{
	struct limits lim = model_fold_limits_of(&o->limits);
	if ((uint64_t)o->budget == m->session_budget) {
		m->used_up = NULL;
		m->limits = lim;
		return;
	}
	if (a)
		a->used_up = NULL;
	budget_limits(m, a, (uint64_t)o->budget, lim);
}

/* The event names the merge, not the box. */
static void merge_undone(struct model *m, const struct ev_merge_undone *o)
{
	for (size_t i = 0; o->merge.n && i < m->nr_boxes; i++)
		if (ev_text_is(o->merge, m->box[i].merge))
			fold_box(m, m->box[i].id)->merged = 0;
}

/* True if no agent shows the failure and its cause. */
static bool nobody_failed(const struct model *m)
{
	for (size_t i = 0; i < m->nr_agents; i++)
		if (!m->agent[i].ended || !m->agent[i].good)
			return false;
	return true;
}

static void model_fold_session_end(struct model *m, const struct event *ev,
				   const struct ev_session_end *o)
{
	m->ended = true;
	m->good = o->ok;
	m->how = ended_status_word(o->ok, o->status);
	struct model_agent *script = !m->good && nobody_failed(m)
					     ? script_agent(m, ev)
					     : model_fold_agent_of(m, m->start);
	if (!script || !script->script)
		return;
	script->ended = true;
	script->good = m->good;
	script->end_us = script->since_us = ev->ts_us;
	fold_text(&script->stop, m->good ? "done" : m->how);
	fold_text(&script->text, "");
	if (!m->good)
		fold_bytes(&script->text, o->why);
}

/* The script continues with its session: its end no longer counts. */
static void session_goes_on(struct model *m, const struct event *ev)
{
	struct model_agent *script = model_fold_agent_of(m, m->start);
	m->ended = false;
	m->attached = 0; /* attached clients were clients of the earlier supervisor */
	fold_forget_dry_runs(m);
	if (!script || !script->script || !script->ended)
		return;
	script->ended = script->good = false;
	script->end_us = 0;
	script->since_us = ev->ts_us;
	fold_text(&script->stop, "");
	fold_text(&script->text, "");
}

static void model_fold_session_start(struct model *m, const struct event *ev,
				     const struct ev_session_start *o)
{
	fold_text(&m->id, "");
	fold_bytes(&m->id, o->id);
	fold_text(&m->name, "");
	fold_bytes(&m->name, o->name);
	fold_bytes(&m->script, o->script);
	m->start_us = ev->ts_us;
	m->start = ev->seq;
}

static void model_fold_hold(struct model *m, const struct ev_latch_hold *o)
{
	fold_text(&m->hold, "");
	fold_bytes(&m->hold, o->filter);
}

static void model_fold_saved(struct model *m, const struct ev_host_changed *o)
{
	m->saved_us = o->us;
}

static void model_fold_warn(struct model *m, const struct ev_super_warn *o)
{
	if (ev_text_is(o->topic, "room"))
		m->no_room = !o->over;
	fold_bytes(&m->warning, o->text);
}

static void model_fold_honeytoken(struct model *m, const struct ev_honeytoken_seen *o)
{
	fold_bytes(&m->warning, o->text);
}

static void model_fold_secret(struct model *m, const struct ev_secret_seen *o)
{
	fold_bytes(&m->warning, o->text);
}

static void model_fold_session_event(struct model *m, const struct event *ev, const void *body)
{
	switch (ev->kind) {
	case EV_SESSION_START:
		model_fold_session_start(m, ev, body);
		break;
	case EV_SESSION_RESUMED:
	case EV_SESSION_FORKED:
		session_goes_on(m, ev);
		break;
	case EV_SESSION_END:
		model_fold_session_end(m, ev, body);
		break;
	case EV_MERGE_UNDONE:
		merge_undone(m, body);
		break;
	case EV_LATCH_HOLD:
		model_fold_hold(m, body);
		break;
	case EV_POLICY_LOADED:
		m->policies++;
		break;
	case EV_POLICY_WAIVER:
		m->waivers++;
		break;
	case EV_POLICY_WAIVER_END:
		m->waivers -= m->waivers > 0;
		break;
	case EV_CONTROL_ATTACH:
		m->attached++;
		break;
	case EV_CONTROL_DETACH:
		m->attached -= m->attached > 0;
		break;
	case EV_HOST_CHANGED:
		model_fold_saved(m, body);
		break;
	case EV_SUPER_WARN:
		model_fold_warn(m, body);
		break;
	case EV_HONEYTOKEN_SEEN:
		model_fold_honeytoken(m, body);
		break;
	case EV_SECRET_SEEN:
		model_fold_secret(m, body);
		break;
	default:
		break;
	}
}

static void agent_turn(struct model_agent *a, const struct ev_agent_turn *o)
{
	a->turn = o->has_n ? (uint32_t)o->n : a->turn + 1;
}

static void agent_state(struct model_agent *a, const struct ev_agent_state *o)
{
	fold_text(&a->word, "");
	fold_bytes(&a->word, o->state);
}

static void agent_event(struct model *m, struct model_agent *a, const struct event *ev,
			const void *body)
{
	switch (ev->kind) {
	case EV_AGENT_START:
		agent_start(m, ev, body);
		break;
	case EV_AGENT_TURN:
		if (a)
			agent_turn(a, body);
		break;
	case EV_AGENT_STATE:
		if (a)
			agent_state(a, body);
		break;
	case EV_AGENT_END:
		if (a)
			agent_end(a, ev, body);
		break;
	case EV_NOTE:
		model_fold_note(m, a, body);
		model_fold_mark(m, ev, body);
		break;
	case EV_MODEL_REPLY:
		model_fold_reply(m, a, ev, body);
		break;
	case EV_ASK:
		model_fold_ask(m, a ? a : script_agent(m, ev), ev);
		break;
	case EV_ASK_ANSWERED:
		ask_answered(m, a ? a : model_fold_agent_of(m, m->start), ev);
		break;
	default:
		break;
	}
}

static void model_fold_review_choice(struct model *m, const struct event *ev)
{
	GROW(m->choice, m->nr_choices, m->cap_choices);
	m->choice[m->nr_choices++] = (struct model_choice){ ev->seq, ev->box };
}

static void model_fold_base_drift(struct model *m, const struct event *ev)
{
	GROW(m->drift, m->nr_drifts, m->cap_drifts);
	m->drift[m->nr_drifts++] = (struct model_choice){ ev->seq, ev->box };
}

/* @body: the struct of the event's kind; NULL if has_news says no. */
static void apply_body(struct model *m, struct model_agent *a, const struct event *ev,
		       const void *body)
{
	if (ev->kind == EV_ACTION_REQUESTED)
		action_requested(m, a, ev, body);
	else if (ev->kind == EV_OUTPUT || ev->kind == EV_PROC_RESIZE || ev->kind == EV_PROC_EXEC ||
		 ev->kind == EV_TERMINAL_ATTACHED || ev->kind == EV_TERMINAL_SCREEN ||
		 (ev->kind > EV_ACTION_REQUESTED && ev->kind < EV_LATCH_PAUSE))
		model_fold_action_event(m, a, ev, body);
	else if (ev->kind == EV_LATCH_PAUSE)
		model_fold_paused(m, ev, body);
	else if (ev->kind == EV_LATCH_CONTINUE)
		model_fold_continued(m, ev, body);
	else if (ev->kind == EV_BUDGET_NEW)
		budget_new(m, a, ev, body);
	else if (ev->kind == EV_BUDGET_EXTENDED)
		budget_extended(m, a, body);
	else if (ev->kind == EV_BUDGET_EMPTY)
		budget_empty(m, a, body);
	else if (ev->kind == EV_BOX_OPEN)
		fold_box_open(m, ev, body);
	else if (ev->kind == EV_REVIEW_CHOICE)
		model_fold_review_choice(m, ev);
	else if (ev->kind == EV_BASE_DRIFT)
		model_fold_base_drift(m, ev);
	else if (ev->kind > EV_BOX_OPEN && ev->kind < 300)
		fold_box_event(m, ev, body);
	else if (ev->kind >= EV_AGENT_START && ev->kind <= EV_ASK_ANSWERED)
		agent_event(m, a, ev, body);
	else if (ev->kind >= EV_PREVIEW_STARTED && ev->kind <= EV_PREVIEW_DROPPED)
		fold_dry_run(m, ev, body);
	else if (ev->kind == EV_REDO_STARTED || ev->kind == EV_REDO_ENDED)
		fold_repeat(m, ev, body);
	model_fold_session_event(m, ev, body);
}

/* Bodies that say nothing to the model, or that it decodes: most events of a session, and the
 * largest. */
static bool has_news(enum event_kind kind)
{
	return kind != EV_ACTION_JUDGED && kind != EV_ACTION_ENDED && kind != EV_ACTION_STARTED &&
	       kind != EV_HOST_FRAME && kind != EV_HOST_CALL && kind != EV_MODEL_SENT &&
	       kind != EV_HOST_MODULE && kind != EV_MODEL_CALL && kind != EV_STORE_SET;
}

/* The struct of @ev's kind, which begins with its state; NULL: unknown kind. */
static const struct ev_state *fold_body(struct arena *a, const struct event *ev)
{
	const struct event_desc *d = ev->body ? event_desc_of(ev->kind) : NULL;
	void *body = d ? arena_alloc(a, d->size) : NULL;
	if (d)
		event_decode(d, ev, a, body);
	return body;
}

/* The agent whose timeline has the event. */
static struct model_agent *row_owner(struct model *m, const struct event *ev)
{
	const struct model_action *act =
		ev->agent ? NULL : model_action(m, ev->action ? ev->action : ev->seq);
	uint64_t id = ev->kind == EV_AGENT_START ? ev->seq
		      : ev->agent		 ? ev->agent
		      : act			 ? act->agent
		      : m->owner		 ? m->owner
						 : m->start;
	struct model_agent *a = id ? model_fold_agent_of(m, id) : NULL;
	return a && !ev->agent && !act && !m->owner && !a->script && ev->kind != EV_AGENT_START
		       ? NULL
		       : a;
}

/* The first program of a command is the command itself: its row shows it already. */
static bool is_the_command(const struct model *m, const struct event *ev)
{
	const struct model_action *act =
		ev->kind == EV_PROC_EXEC ? model_action(m, ev->action) : NULL;
	return act && !act->traced && strcmp(act->kind, "exec") == 0;
}

void model_apply(struct model *m, const struct event *ev)
{
	if (ev->seq <= m->head)
		return;
	m->head = ev->seq;
	m->events++;
	m->last_us = ev->ts_us;
	m->owner = 0;
	bool itself = is_the_command(m, ev);
	CLEANUP(arena_release) struct arena arena = ARENA_INIT;
	const struct ev_state *body = has_news(ev->kind) ? fold_body(&arena, ev) : NULL;
	/* a body that was removed or can't be read changes nothing */
	if (!has_news(ev->kind) || (body && body->reading == BODY_READ))
		apply_body(m, model_fold_agent_of(m, ev->agent), ev, body);
	struct model_agent *a = row_owner(m, ev);
	if (a) {
		const struct model_action *act = model_action(m, ev->action);
		spark_add(&a->spark, ev, act && ev->kind == EV_ACTION_HELD && !act->latched,
			  act && ev->kind == EV_ACTION_ENDED && !act->ok && !act->again);
	}
	if (!model_is_row(ev->kind) || itself)
		return;
	model_fold_add_row(&m->rows, ev);
	if (a)
		model_fold_add_row(&a->rows, ev);
}
