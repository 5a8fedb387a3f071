/* Budgets form a tree: reserved and used amounts count in a budget and in all above it. */
#include "action/budget_recover.h"
#include "action/gate_priv.h"

#include <stdlib.h>
#include <string.h>

#include "record/record_event.h"

enum what { USD, TOKENS, TIME, STEPS, ACTIONS, WHAT_NR };
static const char *const budget_what_name[WHAT_NR] = { "uusd", "tokens", "time_us", "steps",
						       "actions" };

/* The amount that an action reserves may come from arguments that a model wrote, and the amount
 * used from the effector: neither gives a budget more than it has, nor makes its sums overflow. */
static int64_t budget_amount(const json_t *o, const char *key)
{
	static const int64_t most = INT64_C(100000000000000); /* a hundred million dollars */
	int64_t n = json_int(o, key, 0);
	return n < 0 ? 0 : n < most ? n : most;
}

static int64_t budget_plus(int64_t a, int64_t b)
{
	int64_t sum;
	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static void to_array(const struct budget_limits *l, int64_t out[WHAT_NR])
{
	out[USD] = l->uusd;
	out[TOKENS] = l->tokens;
	out[TIME] = l->time_us;
	out[STEPS] = l->steps;
	out[ACTIONS] = l->actions;
}

static struct ev_limits array_limits(const int64_t v[WHAT_NR])
{
	return (struct ev_limits){ .there = true,
				   .uusd = v[USD],
				   .tokens = v[TOKENS],
				   .time_us = v[TIME],
				   .steps = v[STEPS],
				   .actions = v[ACTIONS] };
}

static json_t *array_json(const int64_t v[WHAT_NR])
{
	json_t *o = json_object();
	for (int i = 0; i < WHAT_NR; i++)
		if (v[i])
			json_put_int(o, budget_what_name[i], v[i]);
	return o;
}

static struct budget *budget_find(struct gate *g, uint64_t id)
{
	for (size_t i = 0; id && i < g->nr_budgets; i++)
		if (g->budget[i].id == id)
			return &g->budget[i];
	return NULL;
}

/* The newest of its agent; the session's own (agent 0) else. */
static struct budget *budget_for(struct gate *g, uint64_t agent)
{
	struct budget *root = NULL;
	for (size_t i = g->nr_budgets; i-- > 0;) {
		if (g->budget[i].agent == agent)
			return &g->budget[i];
		if (!g->budget[i].agent && !g->budget[i].parent)
			root = &g->budget[i];
	}
	return root;
}

/* The budget to charge. A command belongs to its agent; its connections belong to the session
 * alone. */
static struct budget *budget_of(struct gate *g, const struct action_spec *s)
{
	return budget_for(g, s->within ? 0 : s->agent);
}

static bool budget_counted(const struct action_spec *s)
{
	return !s->person && s->kind != ACT_ASK && s->kind != ACT_SNAPSHOT &&
	       s->kind != ACT_SHELL &&
	       !(!s->agent && (s->kind == ACT_ROLLBACK || s->kind == ACT_MERGE));
}

/* The present cost of open sandboxes; the same amount is spent when they close. */
static void accrue_again(struct gate *g)
{
	for (size_t i = 0; i < g->nr_budgets; i++)
		g->budget[i].accrued = 0;
	if (g->ops.accrue)
		g->ops.accrue(g->ops.self);
}

void gate_accrue(struct gate *g, uint64_t agent, int64_t uusd)
{
	for (struct budget *b = budget_for(g, agent); uusd > 0 && b; b = budget_find(g, b->parent))
		b->accrued = budget_plus(b->accrued, uusd);
}

static int64_t used_of(const struct budget *b, int i)
{
	return i == USD ? budget_plus(b->used[i], b->accrued) : b->used[i];
}

/* Is @limit reached, with @want more? Steps are counted when they begin, so theirs may be reached
 * but not passed. */
static bool budget_used_up(const struct budget *b, int i, int64_t want)
{
	if (!b->limit[i])
		return false;
	int64_t sum = budget_plus(budget_plus(used_of(b, i), b->reserved[i]), want);
	return i == STEPS || want ? sum > b->limit[i] : sum >= b->limit[i];
}

static void budget_warned(struct gate *g, const struct budget *b, int i)
{
	const char *what = budget_what_name[i];
	record_ev_budget_warn(g->record, &(struct event){ .cause = b->id, .agent = b->agent },
			      &(struct ev_budget_warn){ .budget = (int64_t)b->id,
							.what = { what, strlen(what) },
							.used = used_of(b, i),
							.limit = b->limit[i] });
}

static void budget_emptied(struct gate *g, const struct budget *b, int i)
{
	const char *what = budget_what_name[i];
	record_ev_budget_empty(g->record, &(struct event){ .cause = b->id, .agent = b->agent },
			       &(struct ev_budget_empty){ .budget = (int64_t)b->id,
							  .what = { what, strlen(what) },
							  .used = used_of(b, i),
							  .limit = b->limit[i] });
}

/* Warns once at 80 percent. */
static void budget_warn(struct gate *g, struct budget *b)
{
	for (int i = 0; i < WHAT_NR; i++)
		if (b->limit[i] && !(b->warned >> i & 1) &&
		    used_of(b, i) >= b->limit[i] - b->limit[i] / 5) {
			b->warned |= 1u << i;
			budget_warned(g, b, i);
		}
}

static void say_empty(struct gate *g, struct budget *b, int i, uint64_t agent)
{
	if (b->empty >> i & 1)
		return;
	b->empty |= 1u << i;
	budget_emptied(g, b, i);
	if (g->ops.on_budget)
		g->ops.on_budget(g->ops.self, agent, budget_what_name[i]);
}

bool gate_counts_dollars(struct gate *g, uint64_t agent)
{
	for (const struct budget *b = budget_for(g, agent); b; b = budget_find(g, b->parent))
		if (b->limit[USD])
			return true;
	return false;
}

/* Its model has no known price, a budget in dollars would never end it, and you have not accepted
 * that yet. */
static bool price_asked(struct gate *g, const struct action_spec *s)
{
	if (!s->unpriced || !gate_counts_dollars(g, s->within ? 0 : s->agent))
		return false;
	for (size_t i = 0; i < g->unpriced.nr; i++)
		if (!strcmp(g->unpriced.item[i], s->tool ? s->tool : ""))
			return false;
	return true;
}

void price_accepted(struct action *a)
{
	struct gate *g = a->gate;
	const char *model = a->spec.tool ? a->spec.tool : "";
	if (!(a->reasons & HOLD_PRICE))
		return;
	strv_push(&g->unpriced, model);
	for (struct action *o = g->all; o; o = o->next)
		if (o != a && o->state == ACTION_HELD && o->reasons & HOLD_PRICE &&
		    !strcmp(o->spec.tool ? o->spec.tool : "", model))
			action_release(o, HOLD_PRICE, "price");
}

unsigned budget_reserve(struct action *a)
{
	struct gate *g = a->gate;
	int64_t want[WHAT_NR] = { 0 };
	budget_drop(a);
	if (!budget_counted(&a->spec))
		return 0;
	struct budget *first = budget_of(g, &a->spec);
	const json_t *reserve = json_object_get(a->spec.args, "reserve");
	want[USD] = budget_amount(reserve, "uusd");
	want[TOKENS] = budget_amount(reserve, "tokens");
	want[ACTIONS] = 1;
	bool over = false;
	if (gate_counts_dollars(g, a->spec.within ? 0 : a->spec.agent))
		accrue_again(g);
	for (struct budget *b = first; b; b = budget_find(g, b->parent))
		for (int i = 0; i < WHAT_NR; i++)
			if (budget_used_up(b, i, want[i])) {
				over = true;
				say_empty(g, b, i, a->spec.agent);
			}
	for (struct budget *b = first; b; b = budget_find(g, b->parent))
		for (int i = 0; i < WHAT_NR; i++)
			b->reserved[i] += want[i];
	a->budget = first ? first->id : 0;
	for (int i = 0; i < WHAT_NR; i++)
		a->reserved[i] = want[i];
	return (over ? HOLD_BUDGET : 0) | (price_asked(g, &a->spec) ? HOLD_PRICE : 0);
}

void budget_drop(struct action *a)
{
	for (struct budget *b = budget_find(a->gate, a->budget); b;
	     b = budget_find(a->gate, b->parent))
		for (int i = 0; i < WHAT_NR; i++)
			b->reserved[i] -= a->reserved[i];
	a->budget = 0;
}

static void budget_use(struct gate *g, struct budget *b, const int64_t used[WHAT_NR])
{
	for (; b; b = budget_find(g, b->parent)) {
		for (int i = 0; i < WHAT_NR; i++)
			b->used[i] = budget_plus(b->used[i], used[i]);
		budget_warn(g, b);
	}
}

void budget_settle(struct action *a, const json_t *body, int64_t dur_us)
{
	struct budget *b = budget_find(a->gate, a->budget);
	int64_t used[WHAT_NR] = { 0 };
	if (!b)
		return;
	budget_drop(a);
	used[USD] = budget_amount(body, "cost_uusd");
	used[TOKENS] = budget_amount(body, "tokens");
	used[TIME] = dur_us;
	used[ACTIONS] = 1;
	budget_use(a->gate, b, used);
}

uint64_t gate_budget(struct gate *g, uint64_t parent, uint64_t agent,
		     const struct budget_limits *lim)
{
	struct budget b = { .parent = parent, .agent = agent };
	to_array(lim, b.limit);
	b.id = record_ev_budget_new(g->record, &(struct event){ .cause = parent, .agent = agent },
				    &(struct ev_budget_new){ EV_SET(parent, (int64_t)parent),
							     EV_SET(agent, (int64_t)agent),
							     .limits = array_limits(b.limit) });
	GROW(g->budget, g->nr_budgets, g->cap_budgets);
	g->budget[g->nr_budgets++] = b;
	return b.id;
}

uint64_t gate_budget_of(const struct gate *g, uint64_t agent)
{
	for (size_t i = 0; !agent && i < g->nr_budgets; i++)
		if (!g->budget[i].agent && !g->budget[i].parent)
			return g->budget[i].id;
	for (size_t i = g->nr_budgets; agent && i-- > 0;)
		if (g->budget[i].agent == agent)
			return g->budget[i].id;
	return 0;
}

static void from_json(const json_t *o, int64_t out[WHAT_NR])
{
	for (int i = 0; i < WHAT_NR; i++)
		out[i] = json_int(o, budget_what_name[i], 0);
}

void budget_recover(struct gate *g, const struct event *ev, const json_t *body)
{
	struct budget *b = budget_find(g, (uint64_t)json_int(body, "budget", 0));
	int64_t v[WHAT_NR] = { 0 };
	if (ev->kind == EV_BUDGET_NEW) {
		struct budget new = { .id = ev->seq,
				      .parent = (uint64_t)json_int(body, "parent", 0),
				      .agent = (uint64_t)json_int(body, "agent", 0) };
		from_json(json_object_get(body, "limits"), new.limit);
		GROW(g->budget, g->nr_budgets, g->cap_budgets);
		g->budget[g->nr_budgets++] = new;
	} else if (b && ev->kind == EV_BUDGET_EXTENDED) {
		from_json(json_object_get(body, "limits"), b->limit);
		b->warned = b->empty = 0;
	} else if (ev->kind == EV_BUDGET_SPENT) {
		from_json(json_object_get(body, "used"), v);
		for (; b; b = budget_find(g, b->parent))
			for (int i = 0; i < WHAT_NR; i++)
				b->used[i] = budget_plus(b->used[i], v[i]);
	} else if (b && (ev->kind == EV_BUDGET_WARN || ev->kind == EV_BUDGET_EMPTY)) {
		for (int i = 0; i < WHAT_NR; i++)
			if (!strcmp(json_str(body, "what", ""), budget_what_name[i]))
				*(ev->kind == EV_BUDGET_WARN ? &b->warned : &b->empty) |= 1u << i;
	}
}

uint64_t budget_recover_of(struct gate *g, uint64_t agent, const json_t *requested)
{
	struct err ignored = ERR_INIT;
	struct action_spec s;
	if (action_spec_from_json(&s, requested, &ignored) < 0)
		return 0;
	s.agent = agent;
	const struct budget *b = budget_counted(&s) ? budget_of(g, &s) : NULL;
	action_spec_release(&s);
	return b ? b->id : 0;
}

void budget_recover_use(struct gate *g, uint64_t budget, const json_t *ended)
{
	int64_t used[WHAT_NR] = { [USD] = budget_amount(ended, "cost_uusd"),
				  [TOKENS] = budget_amount(ended, "tokens"),
				  [TIME] = json_int(ended, "dur_us", 0),
				  [ACTIONS] = 1 };
	for (struct budget *b = budget_find(g, budget); b; b = budget_find(g, b->parent))
		for (int i = 0; i < WHAT_NR; i++)
			b->used[i] = budget_plus(b->used[i], used[i]);
}

static bool fits_now(struct gate *g, const struct action *a)
{
	accrue_again(g);
	for (struct budget *b = budget_find(g, a->budget); b; b = budget_find(g, b->parent))
		for (int i = 0; i < WHAT_NR; i++)
			if (b->limit[i] &&
			    (a->reserved[i] ? used_of(b, i) + a->reserved[i] > b->limit[i]
			     : i == STEPS   ? b->used[i] > b->limit[i]
					    : used_of(b, i) >= b->limit[i]))
				return false;
	return true;
}

void gate_budget_extend(struct gate *g, uint64_t budget, const struct budget_limits *more,
			json_t *who)
{
	struct budget *b = budget_find(g, budget);
	int64_t add[WHAT_NR];
	if (!b)
		return;
	to_array(more, add);
	for (int i = 0; i < WHAT_NR; i++)
		if (add[i] && b->limit[i]) {
			if (__builtin_add_overflow(b->limit[i], add[i], &b->limit[i]))
				b->limit[i] = INT64_MAX;
			b->warned &= ~(1u << i);
			b->empty &= ~(1u << i);
		}
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	record_ev_budget_extended(g->record, &(struct event){ .cause = b->id, .agent = b->agent },
				  &(struct ev_budget_extended){ .budget = (int64_t)budget,
								.more = array_limits(add),
								.limits = array_limits(b->limit),
								.who = ev_who_from(&mem, who) });
	for (int i = 0; i < WHAT_NR; i++) /* too little, or of another kind */
		if (b->limit[i] && b->used[i] >= b->limit[i] && i != STEPS) {
			b->empty |= 1u << i;
			budget_emptied(g, b, i);
		}
	for (struct action *a = g->all; a; a = a->next)
		if (a->state == ACTION_HELD && a->reasons & HOLD_BUDGET && fits_now(g, a))
			action_release(a, HOLD_BUDGET, "budget");
}

void gate_budget_spend(struct gate *g, uint64_t budget, const struct budget_limits *used)
{
	struct budget *b = budget_find(g, budget);
	int64_t add[WHAT_NR];
	if (!b)
		return;
	to_array(used, add);
	record_ev_budget_spent(
		g->record, &(struct event){ .cause = b->id, .agent = b->agent },
		&(struct ev_budget_spent){ .budget = (int64_t)budget, .used = array_limits(add) });
	budget_use(g, b, add);
}

void gate_charge(struct gate *g, uint64_t agent, int64_t uusd)
{
	const struct budget *b = budget_for(g, agent);
	if (b && uusd > 0)
		gate_budget_spend(g, b->id, &(struct budget_limits){ .uusd = uusd });
}

/* The least that this budget and those above it have left. */
json_t *gate_budget_left(struct gate *g, uint64_t budget)
{
	json_t *o = json_object();
	accrue_again(g);
	for (struct budget *b = budget_find(g, budget); b; b = budget_find(g, b->parent))
		for (int i = 0; i < WHAT_NR; i++) {
			if (!b->limit[i])
				continue;
			int64_t left = b->limit[i] - used_of(b, i) - b->reserved[i];
			left = left < 0 ? 0 : left;
			if (left < json_int(o, budget_what_name[i], INT64_MAX))
				json_put_int(o, budget_what_name[i], left);
		}
	return o;
}

char *gate_budget_empty(struct gate *g, uint64_t budget)
{
	accrue_again(g);
	for (const struct budget *b = budget_find(g, budget); b; b = budget_find(g, b->parent))
		for (int i = 0; i < WHAT_NR; i++) {
			long long used = used_of(b, i), limit = b->limit[i];
			if (!limit || used < limit)
				continue;
			if (i == USD)
				return mem_printf("$%lld.%04lld of $%lld.%04lld", used / 1000000,
						  used / 100 % 10000, limit / 1000000,
						  limit / 100 % 10000);
			return i == TIME ? mem_printf("%lld of %lld seconds", used / 1000000,
						      limit / 1000000)
					 : mem_printf("%lld of %lld %s", used, limit,
						      budget_what_name[i]);
		}
	return NULL;
}

json_t *budgets_json(const struct gate *g)
{
	json_t *a = json_array();
	for (size_t i = 0; i < g->nr_budgets; i++) {
		const struct budget *b = &g->budget[i];
		json_t *o = json_object();
		json_put_int(o, "budget", (json_int_t)b->id);
		json_put_int(o, "parent", (json_int_t)b->parent);
		json_put_int(o, "agent", (json_int_t)b->agent);
		json_put(o, "limits", array_json(b->limit));
		json_put(o, "used", array_json(b->used));
		json_array_append_new(a, o);
	}
	return a;
}
