/* Pause, step, continue and hold filters: what keeps an allowed action waiting. */
#include "action/gate_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "record/record_event.h"

/* Your own actions continue while agents are paused. */
static bool by_people(const struct action_spec *s)
{
	return s->person || (!s->agent && (s->kind == ACT_SHELL || s->kind == ACT_ROLLBACK ||
					   s->kind == ACT_MERGE || s->kind == ACT_SNAPSHOT));
}

bool gate_paused(const struct gate *g, uint64_t agent)
{
	if (g->all_paused || g->all_frozen)
		return true;
	for (size_t i = 0; i < g->nr_agents; i++)
		if (g->agent[i].id == agent)
			return g->agent[i].paused;
	return false;
}

bool gate_latched(struct gate *g, struct action *a)
{
	struct gate_agent *agent = gate_find_agent(g, a->spec.agent);
	bool paused = agent->paused && !a->spec.within;
	if (a->released || by_people(&a->spec) || !(g->all_paused || g->all_frozen || paused))
		return false;
	if (agent->steps && !a->spec.within)
		agent->steps--;
	else if (g->all_steps)
		g->all_steps--;
	else
		return true;
	a->released = true; /* also when it has to wait for its box */
	return false;
}

bool gate_finds(const struct gate *g, const struct filter *filter, const struct action *a)
{
	struct policy_subject subject;
	action_subject(a, &subject);
	json_t *row = judgement_act(&a->judgement, &subject, NULL), *rules = json_array();
	json_put_str(row, "verdict", verdict_name(a->judgement.verdict));
	static const char *const risks[] = { "none", "low", "medium", "high" };
	json_put_str(row, "risk", risks[a->judgement.risk]);
	for (size_t i = 0; i < a->judgement.nr_matches; i++)
		json_array_append_new(rules, json_string(a->judgement.match[i].rule->name));
	json_put(row, "rule", rules);
	json_put_int(row, "id", (json_int_t)a->id);
	json_put_str(row, "session", record_id(g->record));
	json_put_int(row, "ts_us", clock_wall_us());
	bool found = match_boxes(filter, row, &a->spec, false, clock_wall_us());
	json_decref(row);
	return found;
}

bool gate_holds(struct gate *g, const struct action *a)
{
	return g->hold && !filter_empty(g->hold) && !a->released && !by_people(&a->spec) &&
	       gate_finds(g, g->hold, a);
}

static json_t *reasons_json(unsigned reasons)
{
	json_t *a = json_array();
	if (reasons & HOLD_ASK)
		json_array_append_new(a, json_string("ask"));
	if (reasons & HOLD_FILTER)
		json_array_append_new(a, json_string("hold"));
	if (reasons & HOLD_PAUSE)
		json_array_append_new(a, json_string("pause"));
	if (reasons & HOLD_BUDGET)
		json_array_append_new(a, json_string("budget"));
	if (reasons & HOLD_PRICE)
		json_array_append_new(a, json_string("price"));
	return a;
}

const char *action_confirm(const struct action *a)
{
	const struct gate_box *b = gate_find_box(a->gate, a->spec.box);
	if (!(a->reasons & HOLD_ASK) || !a->has_judgement || !judgement_confirm(&a->judgement))
		return NULL;
	if (b && b->name && *b->name)
		return b->name;
	return a->spec.tool && *a->spec.tool ? a->spec.tool : action_kind_name(a->spec.kind);
}

static void gate_latch_put_rule(json_t *o, const struct action *a)
{
	static const char *const risks[] = { NULL, "low", "medium", "high" };
	static const char *const timeouts[] = { "deny", "hold", "allow" };
	const struct match *m = judgement_winner(&a->judgement);
	json_put_str(o, "verdict", verdict_name(a->judgement.verdict));
	if (m && a->judgement.verdict != VERDICT_ALLOW) {
		json_put_str(o, "rule", m->rule->name);
		json_put_str(o, "file", m->policy->file);
		json_put_int(o, "line", m->rule->line);
		json_put_str(o, "why", m->rule->why);
	}
	if (action_confirm(a)) {
		json_put_str(o, "confirm", "type");
		json_put_str(o, "type", action_confirm(a));
	}
	json_put_str(o, "risk", risks[a->judgement.risk]);
	if (a->until_us) {
		json_put_int(o, "until_us", a->until_us);
		json_put_str(o, "on_timeout", timeouts[a->judgement.on_timeout]);
	}
}

void action_hold(struct action *a, unsigned reasons)
{
	struct gate *g = a->gate;
	json_t *body = json_object();
	action_waited(a);
	a->state = ACTION_HELD;
	a->hold_us = clock_awake_us();
	a->reasons = reasons;
	a->held_us = clock_wall_us();
	a->deadline_us = a->until_us = 0;
	if (reasons & HOLD_ASK && a->judgement.timeout_us) {
		a->deadline_us = clock_awake_us() + a->judgement.timeout_us;
		a->until_us = clock_wall_us() + a->judgement.timeout_us;
		gate_arm_timer(g);
	}
	a->tree = (struct hash){ { 0 } };
	if (a->eff && a->eff->tree)
		a->eff->tree(a->eff->self, a, &a->tree);
	json_put(body, "reasons", reasons_json(reasons));
	if (reasons & HOLD_FILTER && gate_holds(g, a))
		json_put_str(body, "filter", g->hold_text);
	gate_latch_put_rule(body, a);
	put_hash(body, "intent", &a->intent);
	if (!hash_is_zero(&a->tree))
		put_hash(body, "tree", &a->tree);
	if (a->shown_again)
		json_put_flag(body, "again", true);
	action_event(a, EV_ACTION_HELD, body);
	a->todo &= ~(unsigned)TODO_UNHELD;
	gate_todo(a, TODO_HELD);
}

void action_waited(struct action *a)
{
	if (a->hold_us)
		a->people_us += clock_awake_us() - a->hold_us;
	a->hold_us = 0;
}

void action_unhold(struct action *a)
{
	action_waited(a);
	a->deadline_us = a->until_us = 0;
	a->reasons = 0;
	if (a->todo & TODO_HELD)
		a->todo &= ~(unsigned)TODO_HELD; /* nobody has heard of it yet */
	else
		gate_todo(a, TODO_UNHELD);
}

/* Takes @what from the reasons of a held action; with none left it goes its way. */
void action_release(struct action *a, unsigned what, const char *by)
{
	a->reasons &= ~what;
	a->released |= (what & (HOLD_FILTER | HOLD_PAUSE)) != 0;
	if (a->reasons)
		return;
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	action_unhold(a);
	struct event at = action_place(a);
	a->last_seq = record_ev_action_decided(
		a->gate->record, &at,
		&(struct ev_action_decided){ .decision = ev_text_of("release"),
					     .by = ev_text_of(by),
					     .intent = ev_hex_of(&mem, a->intent.b, HASH_LEN) });
	action_admit(a);
}

static void latch_paused(struct gate *g, uint64_t agent, bool freeze, const json_t *who)
{
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	record_ev_latch_pause(g->record, &(struct event){ .agent = agent },
			      &(struct ev_latch_pause){ EV_SET(agent, (int64_t)agent),
							.freeze = freeze,
							.who = ev_who_from(&mem, who) });
}

static void latch_continued(struct gate *g, uint64_t agent, bool freeze, const json_t *who)
{
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	record_ev_latch_continue(g->record, &(struct event){ .agent = agent },
				 &(struct ev_latch_continue){ EV_SET(agent, (int64_t)agent),
							      .freeze = freeze,
							      .who = ev_who_from(&mem, who) });
}

static void latch_stepped(struct gate *g, uint64_t agent, const json_t *who)
{
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	record_ev_latch_step(g->record, &(struct event){ .agent = agent },
			     &(struct ev_latch_step){ EV_SET(agent, (int64_t)agent),
						      .who = ev_who_from(&mem, who) });
}

void gate_pause(struct gate *g, uint64_t agent, json_t *who)
{
	if (agent)
		gate_find_agent(g, agent)->paused = true;
	else
		g->all_paused = true;
	latch_paused(g, agent, false, who);
}

void gate_freeze(struct gate *g, json_t *who)
{
	g->all_frozen = true;
	latch_paused(g, 0, true, who);
}

void gate_continue(struct gate *g, uint64_t agent, json_t *who)
{
	if (!agent)
		g->all_paused = g->all_frozen = false;
	for (size_t i = 0; i < g->nr_agents; i++)
		if (!agent || g->agent[i].id == agent) {
			g->agent[i].paused = false;
			g->agent[i].steps = 0;
		}
	g->all_steps = 0;
	latch_continued(g, agent, false, who);
	for (struct action *a = g->all; a; a = a->next)
		if (a->state == ACTION_HELD && !a->orphan && (!agent || a->spec.agent == agent) &&
		    (a->reasons & (HOLD_FILTER | HOLD_PAUSE)))
			action_release(a, HOLD_FILTER | HOLD_PAUSE, "latch");
}

void gate_thaw(struct gate *g, json_t *who)
{
	if (!g->all_frozen)
		return;
	g->all_frozen = false;
	latch_continued(g, 0, true, who);
	for (struct action *a = g->all; a; a = a->next)
		if (a->state == ACTION_HELD && !a->orphan && (a->reasons & HOLD_PAUSE) &&
		    !(a->spec.within ? g->all_paused : gate_paused(g, a->spec.agent)))
			action_release(a, HOLD_PAUSE, "latch");
}

void gate_step(struct gate *g, uint64_t agent, json_t *who)
{
	if (agent)
		gate_find_agent(g, agent)->paused = true;
	else
		g->all_paused = true;
	latch_stepped(g, agent, who);
	for (struct action *a = g->all; a; a = a->next)
		if (a->state == ACTION_HELD && !a->orphan && (!agent || a->spec.agent == agent) &&
		    !(a->reasons & ~(unsigned)(HOLD_FILTER | HOLD_PAUSE))) {
			action_release(a, HOLD_FILTER | HOLD_PAUSE, "latch");
			return;
		}
	if (agent)
		gate_find_agent(g, agent)->steps = 1;
	else
		g->all_steps = 1;
}

int gate_hold(struct gate *g, const char *filter, json_t *who, struct err *err)
{
	struct filter *f = NULL;
	if (filter_parse(&f, filter, NULL, NULL, err) < 0)
		return -1;
	if (filter_known_before(f, err) < 0) {
		filter_free(&f);
		return -1;
	}
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	hold_set(g, f, filter,
		 record_ev_latch_hold(g->record, &(struct event){ 0 },
				      &(struct ev_latch_hold){ EV_SET(filter, ev_text_of(filter)),
							       .who = ev_who_from(&mem, who) }));
	return 0;
}

void hold_set(struct gate *g, struct filter *f, const char *text, uint64_t seq)
{
	filter_free(&g->hold);
	g->hold = f;
	free(g->hold_before);
	g->hold_before = g->hold_text;
	g->hold_text = mem_strdup(text);
	g->hold_seq = seq;
}

/* --- for clients that attach later ----------------------------------------------------------- */

static json_t *hold_row(const struct action *a)
{
	json_t *o = requested_body(a);
	const struct gate_box *b = gate_find_box(a->gate, a->spec.box);
	json_put_int(o, "action", (json_int_t)a->id);
	json_put_int(o, "agent", (json_int_t)a->spec.agent);
	json_put_str(o, "agent_name",
		     a->spec.agent ? gate_find_agent(a->gate, a->spec.agent)->name : NULL);
	json_put_int(o, "box", (json_int_t)a->spec.box);
	json_put_str(o, "box_name", b ? b->name : NULL);
	json_put(o, "reasons", reasons_json(a->reasons));
	if (a->held_us)
		json_put_int(o, "since_us", a->held_us);
	if (a->has_judgement)
		gate_latch_put_rule(o, a);
	if (a->orphan)
		json_put_flag(o, "waits_for_script", true);
	return o;
}

json_t *gate_state(struct gate *g)
{
	json_t *o = json_object(), *held = json_array(), *paused = json_array();
	for (struct action *a = g->all; a; a = a->next)
		if (a->state == ACTION_HELD)
			json_array_append_new(held, hold_row(a));
	if (g->all_paused || g->all_frozen)
		json_array_append_new(paused, json_integer(0));
	for (size_t i = 0; i < g->nr_agents; i++)
		if (g->agent[i].paused)
			json_array_append_new(paused, json_integer((json_int_t)g->agent[i].id));
	json_put(o, "held", held);
	json_put(o, "paused", paused);
	json_put_str(o, "hold", g->hold_text);
	json_put(o, "waivers", waivers_json(g));
	json_put(o, "budgets", budgets_json(g));
	return o;
}

bool gate_waits(const struct action *a)
{
	return a->state == ACTION_HELD && (a->reasons & ~(unsigned)HOLD_PAUSE);
}

bool gate_row_waits(const json_t *row)
{
	const json_t *why = json_object_get(row, "reasons");
	const char *first = json_string_value(json_array_get(why, 0));
	return !(json_array_size(why) == 1 && first && !strcmp(first, "pause"));
}

size_t gate_state_waits(const json_t *state)
{
	const json_t *held = json_object_get(state, "held");
	size_t n = 0;
	for (size_t i = 0; i < json_array_size(held); i++)
		n += gate_row_waits(json_array_get(held, i));
	return n;
}
