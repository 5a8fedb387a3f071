/* From request to end. Nothing here waits: each step is taken when its reason arrives, and what
 * calls other people's code is put off to the end of the turn. */
#include "action/gate_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "record/record_event.h"

enum { WHEN_LIMIT_US = 50000 };

struct gate *gate_new(struct loop *l, struct record *r, const struct gate_ops *ops)
{
	struct gate *g = NEW(struct gate);
	g->loop = l;
	g->record = r;
	if (ops)
		g->ops = *ops;
	g->all_end = &g->all;
	g->todo_end = &g->todo;
	g->hold_text = mem_strdup("");
	g->hold_before = mem_strdup("");
	record_on_output(r, gate_on_output, g);
	return g;
}

void gate_on_raw(struct gate *g, record_clean_fn *fn, void *self)
{
	g->raw = fn;
	g->raw_self = self;
}

static void action_free(struct action *a)
{
	judgement_release(&a->judgement);
	action_spec_release(&a->spec);
	free(a->when);
	json_decref(a->body);
	free(a->why);
	free(a->rule);
	free(a);
}

static void free_boxes(struct gate *g)
{
	for (size_t i = 0; i < g->nr_boxes; i++) {
		free(g->box[i]->profile);
		free(g->box[i]->name);
		free(g->box[i]->queue);
		free(g->box[i]);
	}
	free(g->box);
}

void gate_free(struct gate **gp)
{
	struct gate *g = *gp;
	if (!g)
		return;
	*gp = NULL;
	record_on_output(g->record, NULL, NULL);
	for (struct action *a = g->all, *next; a; a = next) {
		next = a->next;
		record_barrier_forget(g->record, a);
		action_free(a);
	}
	g->all = NULL;
	for (size_t i = 0; i < g->nr_policies; i++)
		policy_free(&g->policy[i]);
	for (size_t i = 0; i < g->nr_retired; i++)
		policy_free(&g->retired[i]);
	free(g->retired);
	for (size_t i = 0; i < g->nr_waivers; i++)
		free(g->waiver[i].pattern);
	for (size_t i = 0; i < g->nr_agents; i++)
		free(g->agent[i].name);
	for (size_t i = 0; i < g->nr_past; i++)
		action_spec_release(&g->past[i]);
	for (size_t i = 0; i < ARRAY_LEN(g->decided); i++)
		free(g->decided[i].name);
	free_boxes(g);
	strv_release(&g->unpriced);
	free(g->policy);
	free(g->waiver);
	free(g->agent);
	free(g->past);
	free(g->past_denied);
	free(g->past_parts);
	free(g->budget);
	free(g->hold_text);
	free(g->hold_before);
	filter_free(&g->hold);
	loop_timer_free(&g->timer);
	g->dead = true;
	if (!g->deferred) /* else the deferred call frees it */
		free(g);
}

/* --- what the gate knows of the world --------------------------------------------------------- */

void gate_add_policy(struct gate *g, struct policy *p)
{
	static const char *const names[] = { "none", "allow", "boxed", "careful", "ask", "deny" };
	GROW(g->policy, g->nr_policies, g->cap_policies);
	g->policy[g->nr_policies++] = p;
	uint8_t both[2 * HASH_LEN];
	memcpy(both, g->policy_hash.b, HASH_LEN);
	memcpy(both + HASH_LEN, p->hash.b, HASH_LEN);
	hash_of(both, sizeof(both), &g->policy_hash);
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	record_ev_policy_loaded(
		g->record, &(struct event){ 0 },
		&(struct ev_policy_loaded){ .file = ev_text_of(p->file),
					    EV_SET(rules, (int64_t)p->nr_rules),
					    .default_ = ev_text_of(names[p->def]),
					    .hash = ev_hex_of(&mem, p->hash.b, HASH_LEN) });
}

void gate_retire_policy(struct gate *g, const struct policy *p)
{
	for (size_t i = 0; i < g->nr_policies; i++)
		if (g->policy[i] == p) {
			GROW(g->retired, g->nr_retired, g->cap_retired);
			g->retired[g->nr_retired++] = g->policy[i];
			memmove(&g->policy[i], &g->policy[i + 1],
				(--g->nr_policies - i) * sizeof(*g->policy));
			return;
		}
}

void gate_set_judge(struct gate *g, const struct gate_judge *j)
{
	g->judge = *j;
}

void gate_ask_timeout(struct gate *g, int64_t us)
{
	g->ask_timeout_us = us;
}

void gate_unattended(struct gate *g, bool no_input)
{
	g->unattended = no_input;
}

bool gate_person_missed(const struct gate *g)
{
	return g->person_missed;
}

struct gate_box *gate_find_box(struct gate *g, uint64_t id)
{
	for (size_t i = g->nr_boxes; i-- > 0;)
		if (g->box[i]->id == id)
			return g->box[i];
	return NULL;
}

struct gate_box *gate_make_box(struct gate *g, uint64_t id)
{
	struct gate_box *b = gate_find_box(g, id);
	if (b)
		return b;
	b = NEW(struct gate_box);
	b->id = id;
	b->wall = WALL_NONE; /* until gate_box sets its isolation */
	GROW(g->box, g->nr_boxes, g->cap_boxes);
	g->box[g->nr_boxes++] = b;
	return b;
}

void gate_box(struct gate *g, uint64_t box, enum gate_wall wall, const char *profile,
	      const char *name)
{
	struct gate_box *b = gate_make_box(g, box);
	b->wall = wall;
	b->gone = false;
	free(b->profile);
	free(b->name);
	b->profile = profile ? mem_strdup(profile) : NULL;
	b->name = name ? mem_strdup(name) : NULL;
}

struct gate_agent *gate_find_agent(struct gate *g, uint64_t id)
{
	for (size_t i = g->nr_agents; i-- > 0;)
		if (g->agent[i].id == id)
			return &g->agent[i];
	GROW(g->agent, g->nr_agents, g->cap_agents);
	g->agent[g->nr_agents] = (struct gate_agent){ .id = id };
	return &g->agent[g->nr_agents++];
}

void gate_agent(struct gate *g, uint64_t agent, const char *name)
{
	struct gate_agent *a = gate_find_agent(g, agent);
	free(a->name);
	a->name = name ? mem_strdup(name) : NULL;
}

/* The weakest isolation of all sandboxes of @s. */
static enum gate_wall weakest_wall(struct gate *g, const struct action_spec *s, enum gate_wall wall)
{
	for (size_t i = 0; i < json_array_size(s->boxes); i++) {
		uint64_t id = (uint64_t)json_int(json_array_get(s->boxes, i), "box", 0);
		const struct gate_box *b = gate_find_box(g, id);
		if (b && b->wall > wall)
			wall = b->wall;
	}
	return wall;
}

void action_subject(const struct action *a, struct policy_subject *out)
{
	const struct gate_box *b = gate_find_box(a->gate, a->spec.box);
	*out = (struct policy_subject){
		.spec = &a->spec,
		.wall = b ? b->wall : WALL_BOXED, /* no box: rule 8 asks for what reaches outside */
		.agent = a->spec.agent ? gate_find_agent(a->gate, a->spec.agent)->name : NULL,
		.box = b ? b->name : NULL,
		.profile = b ? b->profile : NULL,
	};
	out->wall = weakest_wall(a->gate, &a->spec, out->wall);
}

/* --- accessors -------------------------------------------------------------------------------- */

uint64_t action_id(const struct action *a)
{
	return a->id;
}

const struct action_spec *action_spec(const struct action *a)
{
	return &a->spec;
}

enum action_state action_state(const struct action *a)
{
	return a->state;
}

void *action_tag(const struct action *a)
{
	return a->tag;
}

void action_set_tag(struct action *a, void *tag)
{
	a->tag = tag;
}

const struct hash *action_intent(const struct action *a)
{
	return &a->intent;
}

struct action *gate_action(struct gate *g, uint64_t id)
{
	for (struct action *a = g->all; a; a = a->next)
		if (a->id == id && a->state != ACTION_ENDED)
			return a;
	return NULL;
}

const struct judgement *action_judgement(const struct action *a)
{
	return a->has_judgement ? &a->judgement : NULL;
}

bool action_by_person(const struct action *a)
{
	return a->by_person;
}

struct event action_place(const struct action *a)
{
	return (struct event){ .cause = a->last_seq ? a->last_seq : a->spec.cause,
			       .agent = a->spec.agent,
			       .box = a->spec.box,
			       .action = a->id };
}

uint64_t action_event(struct action *a, enum event_kind kind, json_t *body)
{
	a->last_seq =
		record_append_json(a->gate->record, kind, a->last_seq ? a->last_seq : a->spec.cause,
				   a->spec.agent, a->spec.box, a->id, body);
	return a->last_seq;
}

/* --- the end of the turn ---------------------------------------------------------------------- */

static void ask_whens(struct action *a)
{
	struct gate *g = a->gate;
	struct policy_subject subject;
	uint64_t id = a->id;
	action_subject(a, &subject);
	for (size_t i = 0; i < a->nr_when; i++) {
		if (a->when[i].answered)
			continue;
		const struct match *m = &a->judgement.match[a->when[i].match];
		json_t *act = judgement_act(&a->judgement, &subject, m);
		if (a->spec.boxes)
			act_set_box(act, &a->spec, a->when[i].box);
		g->judge.when(g->judge.self, a->when[i].ticket, m->policy->file, m->rule->line,
			      act);
		json_decref(act);
		a = gate_action(g, id); /* the answer may have come at once and ended everything */
		if (!a || a->state != ACTION_JUDGING)
			return;
	}
}

static void remove_action(struct gate *g, struct action *gone)
{
	struct action **p = &g->all;
	while (*p != gone)
		p = &(*p)->next;
	*p = gone->next;
	if (!*p)
		g->all_end = p;
}

static void tell_client(struct action *a)
{
	struct gate *g = a->gate;
	struct action_result res = { .id = a->id,
				     .end = a->end,
				     .body = a->body,
				     .why = a->why,
				     .rule = a->rule,
				     .edited = a->edited };
	remove_action(g, a);
	if (a->client.done)
		a->client.done(a->client.self, &res);
	action_free(a);
}

/* One thing that was put off. The client's answer comes last and ends @a. */
static void gate_do_one(struct action *a)
{
	struct gate *g = a->gate;
	unsigned todo = a->todo;
	if (todo & TODO_WHEN) {
		a->todo &= ~(unsigned)TODO_WHEN;
		if (a->state == ACTION_JUDGING)
			ask_whens(a);
	} else if (todo & TODO_PREPARE) {
		a->todo &= ~(unsigned)TODO_PREPARE;
		if (a->state == ACTION_BARRIER && !a->cancelled) {
			a->prepared = true;
			a->eff->prepare(a->eff->self, a);
		}
	} else if (todo & (TODO_HELD | TODO_UNHELD)) {
		a->todo &= ~(unsigned)(TODO_HELD | TODO_UNHELD);
		if (g->ops.on_held)
			g->ops.on_held(g->ops.self, a->id, (todo & TODO_HELD) != 0);
	} else if (todo & TODO_DONE) {
		tell_client(a);
	}
}

static void run_todo(void *self)
{
	struct gate *g = self;
	unsigned round = 0;
	while (!g->dead && g->todo && round++ < 1000) {
		struct action *a = g->todo;
		/* nothing of it stays after this */
		bool last = a->todo == TODO_DONE || !(a->todo & (a->todo - 1));
		if (last) {
			g->todo = a->todo_next;
			if (!g->todo)
				g->todo_end = &g->todo;
			a->in_todo = false;
		}
		if (a->todo)
			gate_do_one(a);
	}
	g->deferred = false;
	if (g->dead) {
		free(g);
	} else if (g->todo) {
		g->deferred = true;
		loop_defer(g->loop, run_todo, g);
	}
}

void gate_todo(struct action *a, unsigned what)
{
	struct gate *g = a->gate;
	a->todo |= what;
	if (!a->in_todo) {
		a->in_todo = true;
		a->todo_next = NULL;
		*g->todo_end = a;
		g->todo_end = &a->todo_next;
	}
	if (!g->deferred) {
		g->deferred = true;
		loop_defer(g->loop, run_todo, g);
	}
}

/* --- submit ----------------------------------------------------------------------------------- */

struct action *gate_add_action(struct gate *g)
{
	struct action *a = NEW(struct action);
	a->gate = g;
	a->box_us = -1;
	*g->all_end = a;
	g->all_end = &a->next;
	return a;
}

/* The same action was held when the supervisor died: it continues under its old id. */
static struct action *adopt_orphan(struct gate *g, const struct hash *intent)
{
	for (struct action *a = g->all; a; a = a->next)
		if (a->orphan && hash_eq(&a->intent, intent))
			return a;
	return NULL;
}

uint64_t gate_submit(struct gate *g, const struct action_spec *spec, const struct effector *eff,
		     const struct action_client *client)
{
	const struct gate_box *b = gate_find_box(g, spec->box);
	struct hash intent;
	intent_of(spec, b ? b->profile : NULL, &intent);
	struct action *a = adopt_orphan(g, &intent);
	bool again = a != NULL;
	if (!a)
		a = gate_add_action(g);
	a->orphan = false;
	a->asked_us = clock_awake_us();
	a->intent = intent;
	action_spec_release(&a->spec);
	spec_copy(&a->spec, spec);
	a->eff = eff;
	if (client)
		a->client = *client;
	if (!again) {
		a->id = record_append_json(g->record, EV_ACTION_REQUESTED, spec->cause, spec->agent,
					   spec->box, 0, requested_body(a));
		a->last_seq = a->id;
	}
	past_push(g, a);
	action_judge(a);
	return a->id;
}

/* --- judging ---------------------------------------------------------------------------------- */

static const char *denial_text(const struct action *a)
{
	const struct match *m = judgement_winner(&a->judgement);
	if (!m)
		return "nothing allows it";
	return m->rule->say ? m->rule->say : m->rule->why ? m->rule->why : "a rule forbids it";
}

static void finish_unpriced(struct action *a)
{
	CLEANUP(free_ptr)
	char *why = mem_printf(
		"no price is known for '%s', so a budget in dollars can't limit it: set prices in the "
		"configuration, or a budget of tokens",
		a->spec.tool ? a->spec.tool : "");
	action_finish(a, END_BUDGET, NULL, why, NULL);
}

static void gate_on_judged(struct action *a)
{
	struct gate *g = a->gate;
	const struct match *m = judgement_winner(&a->judgement);
	enum verdict v = a->judgement.verdict;
	bool filtered = !a->by_person && ((a->spec.hold && !a->released) || gate_holds(g, a));
	bool nobody = g->unattended &&
		      ((v == VERDICT_ASK && !a->by_person) || (v != VERDICT_DENY && filtered));
	g->person_missed |= nobody;
	past_judged(g, a);
	json_t *body = judgement_json(&a->judgement);
	if (nobody) {
		json_put_str(body, "verdict", "deny");
		json_put_str(body, "why", "no user");
	}
	if (a->edited)
		json_put_flag(body, "edited", true);
	put_hash(body, "intent", &a->intent);
	put_hash(body, "policy", &g->policy_hash);
	action_event(a, EV_ACTION_JUDGED, body);
	if (a->judgement.limit_us &&
	    (!a->spec.timeout_us || a->judgement.limit_us < a->spec.timeout_us))
		a->spec.timeout_us = a->judgement.limit_us;
	if (v == VERDICT_DENY || nobody) {
		past_denied(g, a);
		action_finish(a, END_DENIED, NULL, nobody ? "no user to ask" : denial_text(a),
			      m ? m->rule->name : NULL);
		return;
	}
	if (v == VERDICT_ASK && !a->judgement.timeout_us)
		a->judgement.timeout_us = g->ask_timeout_us;
	unsigned reasons = v == VERDICT_ASK && !a->by_person ? HOLD_ASK : 0;
	reasons |= budget_reserve(a) & (a->by_person ? 0 : ~0u);
	reasons |= filtered ? HOLD_FILTER : 0;
	if (!a->by_person && gate_latched(g, a))
		reasons |= HOLD_PAUSE;
	if (reasons & HOLD_BUDGET && g->unattended)
		action_finish(a, END_BUDGET, NULL, "the budget is used up", NULL);
	else if (reasons & HOLD_PRICE && g->unattended)
		finish_unpriced(a);
	else if (reasons)
		action_hold(a, reasons);
	else
		action_admit(a);
	waivers_used(a);
}

/* Of several sandboxes an allow must match all, an ask or deny one: the first answer that decides
 * this counts for all of them. */
static void when_count(struct action *a, const struct when *w, enum match_state state,
		       const char *note)
{
	bool all = a->judgement.match[w->match].rule->verdict == VERDICT_ALLOW,
	     decides = all == (state != MATCH_WHEN_YES), failed = false;
	for (size_t i = 0; i < a->nr_when; i++) {
		struct when *v = &a->when[i];
		if (v->match != w->match)
			continue;
		failed |= v->failed;
		if (!v->answered && !decides)
			return;
		a->when_left -= !v->answered;
		v->answered = true;
	}
	judgement_when(&a->judgement, w->match, !decides && failed ? MATCH_WHEN_FAILED : state,
		       note);
}

static void when_answer(struct action *a, struct when *w, enum match_state state, const char *note)
{
	struct policy_subject subject;
	struct gate *g = a->gate;
	w->answered = true;
	w->failed = state == MATCH_WHEN_FAILED;
	/* an error stays although an answer about another sandbox follows */
	char **kept = &a->judgement.match[w->match].note;
	if (w->failed && note && !*kept)
		*kept = mem_strdup(note);
	a->when_left--;
	when_count(a, w, state, note);
	if (a->when_left)
		return;
	a->deadline_us = 0;
	action_subject(a, &subject);
	judgement_close(&a->judgement, &subject, g->waiver, g->nr_waivers, a->spec.agent);
	gate_on_judged(a);
}

static void fail_whens(struct action *a, const char *why)
{
	for (size_t i = 0; i < a->nr_when && a->state == ACTION_JUDGING; i++)
		if (!a->when[i].answered)
			when_answer(a, &a->when[i], MATCH_WHEN_FAILED, why);
}

void action_judge(struct action *a)
{
	struct gate *g = a->gate;
	struct policy_subject subject;
	action_subject(a, &subject);
	judgement_release(&a->judgement);
	waivers_expire(g);
	policy_judge(g->policy, g->nr_policies, g->waiver, g->nr_waivers, a->spec.agent, &subject,
		     &a->judgement);
	a->has_judgement = true;
	a->state = ACTION_JUDGING;
	free(a->when);
	a->when = NULL;
	a->nr_when = a->when_left = 0;
	if (!a->judgement.pending) {
		gate_on_judged(a);
		return;
	}
	size_t boxes = json_array_size(a->spec.boxes) ? json_array_size(a->spec.boxes) : 1;
	a->when = mem_calloc(a->judgement.pending * boxes, sizeof(*a->when));
	for (size_t i = 0; i < a->judgement.nr_matches; i++)
		for (size_t k = 0; a->judgement.match[i].state == MATCH_WHEN && k < boxes; k++)
			a->when[a->nr_when++] =
				(struct when){ .ticket = ++g->ticket, .match = i, .box = k };
	a->when_left = a->nr_when;
	if (!g->judge.when) {
		fail_whens(a, "no Lua host runs for it");
		return;
	}
	a->deadline_us = clock_awake_us() + WHEN_LIMIT_US;
	gate_arm_timer(g);
	gate_todo(a, TODO_WHEN);
}

void gate_judged(struct gate *g, uint64_t ticket, bool matched, const char *why,
		 const struct err *failed)
{
	for (struct action *a = g->all; a; a = a->next) {
		if (a->state != ACTION_JUDGING)
			continue;
		for (size_t i = 0; i < a->nr_when; i++) {
			struct when *w = &a->when[i];
			if (w->ticket != ticket || w->answered)
				continue;
			if (failed)
				when_answer(a, w, MATCH_WHEN_FAILED, failed->text);
			else
				when_answer(a, w, matched ? MATCH_WHEN_YES : MATCH_WHEN_NO, why);
			return;
		}
	}
	/* too late, or never asked: it has counted as failed already */
}

/* --- timers ----------------------------------------------------------------------------------- */

static void gate_on_timer(void *self)
{
	struct gate *g = self;
	int64_t now = clock_awake_us();
	for (struct action *a = g->all, *next; a; a = next) {
		next = a->next;
		if (!a->deadline_us || a->deadline_us > now)
			continue;
		a->deadline_us = 0;
		if (a->state == ACTION_JUDGING)
			fail_whens(a, "no answer within 50 ms");
		else if (a->state == ACTION_HELD)
			action_timed_out(a);
	}
	gate_arm_timer(g);
}

void gate_arm_timer(struct gate *g)
{
	int64_t first = 0, now = clock_awake_us();
	for (struct action *a = g->all; a; a = a->next)
		if (a->deadline_us && (!first || a->deadline_us < first))
			first = a->deadline_us;
	if (!first) {
		if (g->timer)
			loop_timer_stop(g->timer);
		return;
	}
	if (!g->timer)
		g->timer = loop_timer_new(g->loop, gate_on_timer, g);
	loop_timer_set(g->timer, first > now ? (uint64_t)(first - now + 999) / 1000 : 1, 0);
}
