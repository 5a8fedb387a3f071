/* After a crash, or in a copy: the recording names the open actions. A started action has an
 * unknown end; a held action is held again. */
#include "action/budget_recover.h"
#include "action/gate_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "record/read/copied.h"

struct open_action {
	uint64_t id, cause, agent, box, last;
	char *requested; /* the body */
	bool held, started, denied;
	uint64_t budget; /* that it is counted in; 0 none */
};

struct recovery {
	struct gate *gate;
	struct open_action *open;
	size_t nr, cap;
};

static struct open_action *gate_recover_find(struct recovery *r, uint64_t id)
{
	for (size_t i = r->nr; i-- > 0;)
		if (r->open[i].id == id)
			return &r->open[i];
	return NULL;
}

static void close_open(struct recovery *r, struct open_action *o)
{
	free(o->requested);
	memmove(o, o + 1, (size_t)(r->open + --r->nr - o) * sizeof(*o)); /* they stay in order */
}

/* What is left of a session approval is known by the wall clock only, but is never more than what
 * was given. */
static int64_t waiver_deadline(const struct event *ev, int64_t until_us)
{
	int64_t left = until_us - clock_wall_us(), whole = until_us - ev->ts_us;
	left = left < whole ? left : whole;
	return !until_us ? 0 : left > 0 ? clock_mono_us() + left : 1;
}

static void see_waiver(struct gate *g, const struct event *ev, const json_t *body)
{
	struct err ignored = ERR_INIT;
	struct waiver w = { .seq = ev->seq,
			    .agent = (uint64_t)json_int(body, "agent", 0),
			    .until_us = json_int(body, "until_us", 0),
			    .deadline_us = waiver_deadline(ev, json_int(body, "until_us", 0)),
			    .uses = json_int(body, "uses", 0) };
	const char *pattern = json_str(body, "pattern", "");
	if (!action_kind_find(json_str(body, "kind", ""), &w.kind) ||
	    waiver_check(w.kind, pattern, &ignored) < 0)
		return;
	w.pattern = mem_strdup(pattern);
	GROW(g->waiver, g->nr_waivers, g->cap_waivers);
	g->waiver[g->nr_waivers++] = w;
}

/* A waiver with limited uses has fewer left: those recorded since. */
static void use_waivers(struct gate *g, const struct open_action *o)
{
	struct err ignored = ERR_INIT;
	CLEANUP(json_release)
	json_t *body = json_parse(o->requested, strlen(o->requested), "event", &ignored);
	struct action_spec s;
	if (action_spec_from_json(&s, body, &ignored) < 0)
		return;
	const struct policy_subject subject = { .spec = &s, .wall = WALL_BOXED };
	waivers_touched(g, o->agent, &subject);
	action_spec_release(&s);
}

/* Pause and hold are states of the session: they outlive its supervisor. */
static void see_latch(struct gate *g, uint16_t kind, uint64_t seq, const json_t *body)
{
	uint64_t agent = (uint64_t)json_int(body, "agent", 0);
	struct err ignored = ERR_INIT;
	struct filter *f = NULL;
	bool freeze = json_flag(body, "freeze", false);
	switch (kind) {
	case EV_LATCH_PAUSE:
	case EV_LATCH_STEP:
		if (freeze)
			g->all_frozen = true;
		else if (agent)
			gate_find_agent(g, agent)->paused = true;
		else
			g->all_paused = true;
		break;
	case EV_LATCH_CONTINUE:
		if (!agent)
			g->all_frozen = false;
		if (!agent && !freeze)
			g->all_paused = false;
		for (size_t i = 0; i < g->nr_agents && !freeze; i++)
			if (!agent || g->agent[i].id == agent)
				g->agent[i].paused = false;
		break;
	case EV_LATCH_HOLD:
		if (filter_parse(&f, json_str(body, "filter", ""), NULL, NULL, &ignored) < 0)
			break;
		hold_set(g, f, json_str(body, "filter", ""), seq);
		break;
	default:
		break;
	}
}

static void see_decision(struct open_action *o, const json_t *body)
{
	const char *decision = json_str(body, "decision", "");
	o->held = false;
	o->denied = !strcmp(decision, "deny") || !strcmp(decision, "deny_pause") ||
		    !strcmp(decision, "kill");
}

static void gate_recover_see(struct recovery *r, const struct event *ev)
{
	struct err ignored = ERR_INIT;
	struct open_action *o = ev->action ? gate_recover_find(r, ev->action) : NULL;
	CLEANUP(json_release) json_t *body = NULL;
	if (o)
		o->last = ev->seq;
	switch (ev->kind) {
	case EV_ACTION_REQUESTED:
		GROW(r->open, r->nr, r->cap);
		r->open[r->nr++] =
			(struct open_action){ .id = ev->seq,
					      .cause = ev->cause,
					      .agent = ev->agent,
					      .box = ev->box,
					      .last = ev->seq,
					      .requested = mem_strdup(ev->body ? ev->body : "{}") };
		if (r->gate->nr_budgets) {
			body = json_parse(ev->body ? ev->body : "{}", ev->body ? ev->len : 2,
					  "event", &ignored);
			r->open[r->nr - 1].budget = budget_recover_of(r->gate, ev->agent, body);
		}
		break;
	case EV_ACTION_JUDGED:
		body = json_parse(ev->body ? ev->body : "{}", ev->body ? ev->len : 2, "event",
				  &ignored);
		if (o && json_flag(body, "waived", false))
			use_waivers(r->gate, o);
		break;
	case EV_ACTION_HELD:
		if (o)
			o->held = true;
		break;
	case EV_ACTION_DECIDED:
		body = json_parse(ev->body ? ev->body : "{}", ev->body ? ev->len : 2, "event",
				  &ignored);
		if (o)
			see_decision(o, body);
		/* by that of another */
		if (o && json_int(body, "with", 0) && *json_str(body, "waiver", ""))
			use_waivers(r->gate, o);
		break;
	case EV_ACTION_STARTED:
		if (o) {
			o->held = false;
			o->started = true;
		}
		break;
	case EV_ACTION_ENDED:
		if (o && o->started && o->budget) {
			body = json_parse(ev->body ? ev->body : "{}", ev->body ? ev->len : 2,
					  "event", &ignored);
			budget_recover_use(r->gate, o->budget, body);
		}
		if (o)
			close_open(r, o);
		break;
	case EV_BUDGET_NEW:
	case EV_BUDGET_EXTENDED:
	case EV_BUDGET_SPENT:
	case EV_BUDGET_WARN:
	case EV_BUDGET_EMPTY:
		body = json_parse(ev->body ? ev->body : "{}", ev->body ? ev->len : 2, "event",
				  &ignored);
		budget_recover(r->gate, ev, body);
		break;
	case EV_POLICY_WAIVER:
	case EV_POLICY_WAIVER_END:
	case EV_LATCH_PAUSE:
	case EV_LATCH_STEP:
	case EV_LATCH_CONTINUE:
	case EV_LATCH_HOLD:
		body = json_parse(ev->body ? ev->body : "{}", ev->body ? ev->len : 2, "event",
				  &ignored);
		if (ev->kind == EV_POLICY_WAIVER)
			see_waiver(r->gate, ev, body);
		else if (ev->kind == EV_POLICY_WAIVER_END)
			waiver_drop(r->gate, (uint64_t)json_int(body, "waiver", 0));
		else
			see_latch(r->gate, ev->kind, ev->seq, body);
		break;
	default:
		break;
	}
}

/* A fork loses nothing: actions that were open at its start continue in the original session. */
static const char *why_unknown(const struct open_action *o, uint64_t copied)
{
	if (o->last > copied)
		return o->denied ? "denied before the supervisor died" : "the supervisor died";
	return o->denied    ? "denied; copied before it had ended"
	       : o->started ? "copied while it ran"
			    : "copied before it began";
}

static void end_unknown(struct gate *g, const struct open_action *o, uint64_t copied)
{
	json_t *body = json_object();
	json_put_str(body, "end", o->denied ? "denied" : "interrupted");
	json_put_str(body, "why", why_unknown(o, copied));
	json_put_int(body, "dur_us", 0);
	json_put_flag(body, "started", o->started);
	if (o->started && o->budget)
		budget_recover_use(g, o->budget, body);
	record_append_json(g->record, EV_ACTION_ENDED, o->last, o->agent, o->box, o->id, body);
}

/* Asked for over a connection that has died with the supervisor: no script comes back to it. */
static bool of_a_person(const json_t *requested)
{
	return json_object_get(json_object_get(requested, "args"), "who") &&
	       !json_object_get(requested, "call");
}

/* Enough of the action for users to see it; the whole comes back with its script. */
static void hold_again(struct gate *g, const struct open_action *o, uint64_t copied)
{
	struct err ignored = ERR_INIT;
	CLEANUP(json_release)
	json_t *body = json_parse(o->requested, strlen(o->requested), "event", &ignored);
	const char *intent = json_str(body, "intent", "");
	struct hash hash;
	struct action_spec s;
	if (of_a_person(body) || !hex_parse(intent, strlen(intent), hash.b, sizeof(hash.b)) ||
	    action_spec_from_json(&s, body, &ignored) < 0) {
		end_unknown(g, o, copied);
		return;
	}
	s.cause = o->cause;
	s.agent = o->agent;
	s.box = o->box;
	struct action *a = gate_add_action(g);
	a->id = o->id;
	a->last_seq = o->last;
	a->state = ACTION_HELD;
	a->orphan = true;
	a->reasons = HOLD_ASK;
	a->intent = hash;
	a->spec = s;
}

int gate_recover(struct gate *g, const char *session_path, struct err *err)
{
	struct session *s = NULL;
	struct feed *feed = NULL;
	struct recovery r = { .gate = g };
	struct arena arena = ARENA_INIT;
	struct event ev;
	int rc = session_open(&s, session_path, err);
	if (rc == 0)
		rc = feed_new(&feed, s, FEED_ALL, 0, err);
	int more = rc == 0 ? feed_next(feed, &ev, &arena, 0, err) : -1;
	for (; more == 1; more = feed_next(feed, &ev, &arena, 0, err)) {
		gate_recover_see(&r, &ev);
		arena_reset(&arena);
	}
	rc = more;
	uint64_t copied = rc == 0 ? session_copied(s) : 0;
	for (size_t i = 0; rc == 0 && i < r.nr; i++)
		if (r.open[i].held)
			hold_again(g, &r.open[i], copied);
		else
			end_unknown(g, &r.open[i], copied);
	for (size_t i = 0; i < r.nr; i++)
		free(r.open[i].requested);
	free(r.open);
	arena_release(&arena);
	if (feed)
		feed_free(&feed);
	if (s)
		session_close(&s);
	return rc < 0 ? err_wrap(err, "recover") : 0;
}
