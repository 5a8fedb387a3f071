/* model_apply: one function per family of events. */
#include <stdlib.h>
#include <string.h>

#include "base/longlist.h"
#include "ui/model/journal.h"
#include "ui/model/model_fold.h"

const char *fold_intern(struct model *m, struct ev_text t)
{
	struct ev_text word = { t.s ? t.s : "", t.n };
	for (size_t i = 0; i < m->nr_words; i++)
		if (ev_text_is(word, m->word[i]))
			return m->word[i];
	GROW(m->word, m->nr_words, m->cap_words);
	return m->word[m->nr_words++] = mem_strndup(word.s, word.n);
}

struct model_agent *fold_agent(struct model *m, uint64_t id)
{
	struct model_agent *a = (struct model_agent *)(uintptr_t)(id ? model_agent(m, id) : NULL);
	journal_keep_agent(m->journal, a);
	return a;
}

struct limits fold_limits_of(const struct ev_limits *l)
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

struct model_agent *fold_script_agent(struct model *m, const struct event *ev)
{
	struct model_agent *a = m->start ? fold_agent(m, m->start) : NULL;
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
		.limits = fold_limits_of(&o->limits),
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
		model_fold_ask(m, a ? a : fold_script_agent(m, ev), ev);
		break;
	case EV_ASK_ANSWERED:
		ask_answered(m, a ? a : fold_agent(m, m->start), ev);
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
		fold_action_requested(m, a, ev, body);
	else if (ev->kind == EV_OUTPUT || ev->kind == EV_PROC_RESIZE || ev->kind == EV_PROC_EXEC ||
		 ev->kind == EV_TERMINAL_ATTACHED || ev->kind == EV_TERMINAL_SCREEN ||
		 (ev->kind > EV_ACTION_REQUESTED && ev->kind < EV_LATCH_PAUSE))
		fold_action_event(m, a, ev, body);
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
	fold_session_event(m, a, ev, body);
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
	struct model_agent *a = id ? fold_agent(m, id) : NULL;
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
		apply_body(m, fold_agent(m, ev->agent), ev, body);
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
