/* model_apply: one function per family of events. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/longlist.h"
#include "query/action_end.h"
#include "record/read/ended.h"
#include "ui/model/journal.h"
#include "ui/model/model_fold.h"

static const char *model_fold_intern(struct model *m, const char *s)
{
	for (size_t i = 0; i < m->nr_words; i++)
		if (strcmp(m->word[i], s) == 0)
			return m->word[i];
	GROW(m->word, m->nr_words, m->cap_words);
	return m->word[m->nr_words++] = mem_strdup(s);
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

static struct limits model_fold_limits_of(const json_t *o)
{
	return (struct limits){ json_int(o, "uusd", 0), json_int(o, "tokens", 0),
				json_int(o, "time_us", 0), json_int(o, "steps", 0),
				json_int(o, "actions", 0) };
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

static void agent_start(struct model *m, const struct event *ev, const json_t *o)
{
	GROW(m->agent, m->nr_agents, m->cap_agents);
	m->agent[m->nr_agents++] = (struct model_agent){
		.id = ev->seq,
		.parent = (uint64_t)json_int(o, "parent", 0),
		.box = (uint64_t)json_int(o, "box", 0),
		.name = mem_strdup(json_str(o, "name", "agent")),
		.task = mem_strdup(json_str(o, "task", "")),
		.model = mem_strdup(json_str(o, "model", "")),
		.start_us = ev->ts_us,
		.since_us = ev->ts_us,
		.interactive = json_flag(o, "interactive", false),
		.limits = model_fold_limits_of(json_object_get(o, "limits")),
		/* its program calls models that nobody here sees */
		.cost_unknown = strcmp(json_str(o, "model", ""), "outside") == 0,
	};
	m->cost_unknown |= m->agent[m->nr_agents - 1].cost_unknown;
}

static void agent_end(struct model_agent *a, const struct event *ev, const json_t *o)
{
	fold_text(&a->stop, json_str(o, "stop", "end"));
	fold_bytes(&a->text, o, "text");
	a->ended = true;
	a->good = json_flag(o, "ok", false);
	a->end_us = ev->ts_us;
	a->since_us = ev->ts_us;
	a->seq_end = ev->seq;
}

static void model_fold_note(struct model *m, struct model_agent *a, const json_t *o)
{
	const char *level = json_str(o, "level", "");
	if (a && strcmp(level, "progress") == 0) {
		a->done = json_int(o, "done", 0);
		a->total = json_int(o, "total", 0);
	}
	if (strcmp(level, "warn") == 0)
		fold_bytes(&m->notice, o, "text");
}

static void model_fold_mark(struct model *m, const struct event *ev, const json_t *o)
{
	struct model_mark k = { .seq = ev->seq, .on = ev->cause ? ev->cause : ev->seq };
	if (strcmp(json_str(o, "level", ""), "mark") != 0)
		return;
	fold_text(&k.text, json_str(o, "text", ""));
	fold_text(&k.key, json_str(o, "key", ""));
	GROW(m->mark, m->nr_marks, m->cap_marks);
	m->mark[m->nr_marks++] = k;
}

static void model_fold_reply(struct model *m, struct model_agent *a, const struct event *ev,
			     const json_t *o)
{
	const json_t *usage = json_object_get(o, "usage");
	int64_t tokens = json_int(usage, "in", 0) + json_int(usage, "out", 0);
	int64_t uusd = json_int(o, "cost_uusd", 0);
	struct model_action *act = fold_action(m, ev->action);
	m->tokens += tokens;
	m->uusd += uusd;
	m->cost_unknown = m->cost_unknown || json_flag(o, "cost_unknown", false);
	if (act)
		act->reply = ev->seq;
	if (!a)
		return;
	a->tokens += tokens;
	a->uusd += uusd;
	a->cost_unknown = a->cost_unknown || json_flag(o, "cost_unknown", false);
	if (json_object_get(o, "text"))
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
			     const json_t *o)
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
		.kind = model_fold_intern(m, json_str(o, "kind", "")),
		.code = -1,
		.again = again,
	};
	if (!a || again)
		return;
	a->actions++;
	/* a connection that a command makes: the agent is still at the command */
	if (!json_int(o, "within", 0))
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

static bool only_paused(const json_t *held)
{
	const json_t *why = json_object_get(held, "reasons");
	const char *first = json_string_value(json_array_get(why, 0));
	return json_array_size(why) == 1 && first && strcmp(first, "pause") == 0;
}

static void action_held(struct model *m, struct model_action *act, struct model_agent *a,
			const struct event *ev, const json_t *o)
{
	model_fold_unhold(m, act, a);
	act->state = ACT_WAITS;
	act->held = ev->seq;
	act->held_us = ev->ts_us;
	act->until_us = json_int(o, "until_us", 0);
	act->high_risk = strcmp(json_str(o, "risk", ""), "high") == 0;
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
static void output_came(struct model_action *act, int64_t stream, uint64_t len)
{
	if (stream == 4 || stream == 5)
		act->wire_bytes += stream == 5 ? len : 0;
	else if (stream == 2)
		act->err_bytes += len;
	else
		act->out_bytes += len;
	if (stream == 3)
		act->pty_bytes += len;
}

static void model_fold_action_event(struct model *m, struct model_agent *a, const struct event *ev,
				    const json_t *o)
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
		action_held(m, act, a, ev, o);
		break;
	case EV_ACTION_LATER:
		act->later = ev->seq;
		break;
	case EV_ACTION_DECIDED:
		model_fold_unhold(m, act, a);
		act->state = ACT_JUDGED_;
		act->decided = ev->seq;
		act->person = strcmp(json_str(o, "by", ""), "human") == 0;
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
		output_came(act, json_int(o, "stream", 1), (uint64_t)json_int(o, "len", 0));
		break;
	case EV_PROC_EXEC:
		act->traced = true;
		break;
	case EV_PROC_RESIZE:
		GROW(m->size, m->nr_sizes, m->cap_sizes);
		m->size[m->nr_sizes++] =
			(struct model_size){ act->id, act->pty_bytes, (int)json_int(o, "cols", 80),
					     (int)json_int(o, "rows", 24) };
		break;
	default:
		break;
	}
}

/* --- the session ------------------------------------------------------------------------------ */

static void model_fold_latch(struct model *m, const struct event *ev, const json_t *o)
{
	uint64_t id = (uint64_t)json_int(o, "agent", (json_int_t)ev->agent);
	bool on = ev->kind == EV_LATCH_PAUSE, freeze = json_flag(o, "freeze", false);
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

static void model_fold_budget(struct model *m, struct model_agent *a, const struct event *ev,
			      const json_t *o)
{
	struct limits lim = model_fold_limits_of(json_object_get(o, "limits"));
	uint64_t id = ev->kind == EV_BUDGET_NEW ? ev->seq : (uint64_t)json_int(o, "budget", 0);
	if (ev->kind == EV_BUDGET_EMPTY) {
		const char **at = a && id != m->session_budget ? &a->used_up : &m->used_up;
		*at = model_fold_intern(m, json_str(o, "what", ""));
		return;
	}
	if (id == m->session_budget && ev->kind == EV_BUDGET_EXTENDED) {
		m->used_up = NULL;
		m->limits = lim;
		return;
	}
	if (a)
		a->used_up = NULL;
	if (!a)
		a = model_fold_agent_of(m, (uint64_t)json_int(o, "agent", 0));
	if (a) {
		a->limits = lim;
	} else if (!m->session_budget || m->session_budget == id) {
		m->session_budget = id;
		m->limits = lim;
	}
}

/* The event names the merge, not the box. */
static void merge_undone(struct model *m, const json_t *o)
{
	const char *id = json_str(o, "merge", "");
	for (size_t i = 0; *id && i < m->nr_boxes; i++)
		if (strcmp(m->box[i].merge, id) == 0)
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

static void model_fold_session_end(struct model *m, const struct event *ev, const json_t *o)
{
	m->ended = true;
	m->good = json_flag(o, "ok", false);
	m->how = ended_word(o);
	struct model_agent *script = !m->good && nobody_failed(m)
					     ? script_agent(m, ev)
					     : model_fold_agent_of(m, m->start);
	if (!script || !script->script)
		return;
	script->ended = true;
	script->good = m->good;
	script->end_us = script->since_us = ev->ts_us;
	fold_text(&script->stop, m->good ? "done" : ended_word(o));
	fold_text(&script->text, "");
	if (!m->good)
		fold_bytes(&script->text, o, "why");
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

static void model_fold_session_event(struct model *m, const struct event *ev, const json_t *o)
{
	switch (ev->kind) {
	case EV_SESSION_START:
		fold_text(&m->id, json_str(o, "id", ""));
		fold_text(&m->name, json_str(o, "name", ""));
		fold_bytes(&m->script, o, "script");
		m->start_us = ev->ts_us;
		m->start = ev->seq;
		break;
	case EV_SESSION_RESUMED:
	case EV_SESSION_FORKED:
		session_goes_on(m, ev);
		break;
	case EV_SESSION_END:
		model_fold_session_end(m, ev, o);
		break;
	case EV_MERGE_UNDONE:
		merge_undone(m, o);
		break;
	case EV_LATCH_HOLD:
		fold_text(&m->hold, json_str(o, "filter", ""));
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
		m->saved_us = json_int(o, "us", 0);
		break;
	case EV_SUPER_WARN:
		if (strcmp(json_str(o, "topic", ""), "room") == 0)
			m->no_room = !json_flag(o, "over", false);
		fold_bytes(&m->warning, o, "text");
		break;
	case EV_HONEYTOKEN_SEEN:
	case EV_SECRET_SEEN:
		fold_bytes(&m->warning, o, "text");
		break;
	default:
		break;
	}
}

static void agent_event(struct model *m, struct model_agent *a, const struct event *ev,
			const json_t *o)
{
	switch (ev->kind) {
	case EV_AGENT_START:
		agent_start(m, ev, o);
		break;
	case EV_AGENT_TURN:
		if (a)
			a->turn = (uint32_t)json_int(o, "n", a->turn + 1);
		break;
	case EV_AGENT_STATE:
		if (a)
			fold_text(&a->word, json_str(o, "state", ""));
		break;
	case EV_AGENT_END:
		if (a)
			agent_end(a, ev, o);
		break;
	case EV_NOTE:
		model_fold_note(m, a, o);
		model_fold_mark(m, ev, o);
		break;
	case EV_MODEL_REPLY:
		model_fold_reply(m, a, ev, o);
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

static void apply_body(struct model *m, struct model_agent *a, const struct event *ev,
		       const json_t *o)
{
	if (ev->kind == EV_ACTION_REQUESTED)
		action_requested(m, a, ev, o);
	else if (ev->kind == EV_OUTPUT || ev->kind == EV_PROC_RESIZE || ev->kind == EV_PROC_EXEC ||
		 (ev->kind > EV_ACTION_REQUESTED && ev->kind < EV_LATCH_PAUSE))
		model_fold_action_event(m, a, ev, o);
	else if (ev->kind == EV_LATCH_PAUSE || ev->kind == EV_LATCH_CONTINUE)
		model_fold_latch(m, ev, o);
	else if (ev->kind == EV_BUDGET_NEW || ev->kind == EV_BUDGET_EXTENDED ||
		 ev->kind == EV_BUDGET_EMPTY)
		model_fold_budget(m, a, ev, o);
	else if (ev->kind == EV_BOX_OPEN)
		fold_box_open(m, ev, o);
	else if (ev->kind == EV_REVIEW_CHOICE)
		model_fold_review_choice(m, ev);
	else if (ev->kind == EV_BASE_DRIFT)
		model_fold_base_drift(m, ev);
	else if (ev->kind > EV_BOX_OPEN && ev->kind < 300)
		fold_box_event(m, ev, o);
	else if (ev->kind >= EV_AGENT_START && ev->kind <= EV_ASK_ANSWERED)
		agent_event(m, a, ev, o);
	else if (ev->kind >= EV_PREVIEW_STARTED && ev->kind <= EV_PREVIEW_DROPPED)
		fold_dry_run(m, ev, o);
	else if (ev->kind == EV_REDO_STARTED || ev->kind == EV_REDO_ENDED)
		fold_repeat(m, ev, o);
	model_fold_session_event(m, ev, o);
}

/* Bodies that say nothing to the model, or that it decodes: most events of a session, and the
 * largest. */
static bool has_news(enum event_kind kind)
{
	return kind != EV_ACTION_JUDGED && kind != EV_ACTION_ENDED && kind != EV_ACTION_STARTED &&
	       kind != EV_HOST_FRAME && kind != EV_HOST_CALL && kind != EV_MODEL_SENT &&
	       kind != EV_HOST_MODULE && kind != EV_MODEL_CALL && kind != EV_STORE_SET;
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
	struct err err = ERR_INIT;
	if (ev->seq <= m->head)
		return;
	m->head = ev->seq;
	m->events++;
	m->last_us = ev->ts_us;
	m->owner = 0;
	bool itself = is_the_command(m, ev);
	CLEANUP(json_release)
	json_t *o = ev->body && has_news(ev->kind) ? json_parse(ev->body, ev->len, "event", &err)
						   : NULL;
	if (json_is_object(o) || !has_news(ev->kind))
		apply_body(m, model_fold_agent_of(m, ev->agent), ev, o);
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
