/* model_apply for the session: its start and end, latches, budgets, policy, and warnings. */
#include <stdlib.h>
#include <string.h>

#include "record/read/ended.h"
#include "ui/model/model_fold.h"

static void model_fold_latch(struct model *m, const struct event *ev, uint64_t id, bool on,
			     bool freeze)
{
	struct model_agent *a = fold_agent(m, id);
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
			fold_agent(m, m->agent[i].id)->paused = false;
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
	*(own ? &a->used_up : &m->used_up) = fold_intern(m, o->what);
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
		a = fold_agent(m, (uint64_t)o->agent);
	budget_limits(m, a, ev->seq, fold_limits_of(&o->limits));
}

static void budget_extended(struct model *m, struct model_agent *a,
			    const struct ev_budget_extended *o)
{
	struct limits lim = fold_limits_of(&o->limits);
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
	struct model_agent *script =
		!m->good && nobody_failed(m) ? fold_script_agent(m, ev) : fold_agent(m, m->start);
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
	struct model_agent *script = fold_agent(m, m->start);
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

void fold_session_event(struct model *m, struct model_agent *a, const struct event *ev,
			const void *body)
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
	case EV_LATCH_PAUSE:
		model_fold_paused(m, ev, body);
		break;
	case EV_LATCH_CONTINUE:
		model_fold_continued(m, ev, body);
		break;
	case EV_BUDGET_NEW:
		budget_new(m, a, ev, body);
		break;
	case EV_BUDGET_EXTENDED:
		budget_extended(m, a, body);
		break;
	case EV_BUDGET_EMPTY:
		budget_empty(m, a, body);
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
