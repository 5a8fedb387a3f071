/* Other pending actions that a new session approval or rule decides: those that would not have
 * required approval under it. They are named first (gate_waiver_try, gate_rule). Only named
 * actions that still match go with the decision. */
#include "action/gate_priv.h"

#include <stdlib.h>

#include "action/policy_priv.h"

/* A function of a rule has said its word about this action already, and is not asked twice. */
static void answer_whens(struct judgement *j, const struct judgement *before)
{
	for (size_t i = 0; i < j->nr_matches; i++) {
		for (size_t k = 0; k < before->nr_matches && j->match[i].state == MATCH_WHEN; k++) {
			const struct match *m = &before->match[k];
			if (m->rule == j->match[i].rule &&
			    (m->state == MATCH_WHEN_YES || m->state == MATCH_WHEN_NO))
				judgement_when(j, i, m->state, m->note);
		}
	}
}

/* The verdict over @a with these policies and waivers. */
static enum verdict verdict_now(const struct action *a, struct policy *const *policies,
				size_t nr_policies, const struct waiver *waivers, size_t nr_waivers)
{
	struct policy_subject subject;
	struct judgement j;
	action_subject(a, &subject);
	policy_judge(policies, nr_policies, waivers, nr_waivers, a->spec.agent, &subject, &j);
	answer_whens(&j, &a->judgement);
	judgement_close(&j, &subject, waivers, nr_waivers, a->spec.agent);
	enum verdict v = j.verdict;
	judgement_release(&j);
	return v;
}

/* Why it stays held although the question about it is answered; NULL: it would go. */
static const char *gate_others_stays(struct action *a, enum verdict v)
{
	if (v == VERDICT_DENY)
		return NULL;
	if (action_confirm(a))
		return "its name must be typed";
	if (a->reasons & HOLD_BUDGET)
		return "the budget is used up";
	if (a->reasons & HOLD_PRICE)
		return "no price is known for its model";
	if (a->reasons & HOLD_PAUSE)
		return "its agent is paused";
	if (a->reasons & HOLD_FILTER)
		return "a hold filter stopped it";
	if (action_rejected(a))
		return "parts of it were rejected in the review";
	if (action_tree_changed(a) && a->judgement.risk == RISK_HIGH)
		return "the files of its sandbox have changed since it was shown";
	return NULL;
}

static bool gate_others_asked(const struct action *a)
{
	return a->state == ACTION_HELD && !a->orphan && a->has_judgement && a->reasons & HOLD_ASK;
}

json_t *others_json(struct gate *g, const struct action *but, enum verdict v,
		    struct policy *const *policies, size_t nr_policies,
		    const struct waiver *waivers, size_t nr_waivers)
{
	json_t *list = json_array();
	for (struct action *a = g->all; a; a = a->next) {
		if (a == but || !gate_others_asked(a) ||
		    verdict_now(a, policies, nr_policies, waivers, nr_waivers) != v)
			continue;
		json_t *o = json_object();
		json_put_int(o, "action", (json_int_t)a->id);
		json_put_int(o, "agent", (json_int_t)a->spec.agent);
		json_put_str(o, "stays", gate_others_stays(a, v));
		json_array_append_new(list, o);
	}
	return list;
}

json_t *others_with_waiver(struct gate *g, const struct action *but, const struct waiver *w)
{
	struct waiver *all = mem_calloc(g->nr_waivers + 1, sizeof(*all));
	for (size_t i = 0; i < g->nr_waivers; i++)
		all[i] = g->waiver[i];
	all[g->nr_waivers] = *w;
	json_t *list = others_json(g, but, VERDICT_ALLOW, g->policy, g->nr_policies, all,
				   g->nr_waivers + 1);
	free(all);
	return list;
}

static void decide_other(struct action *a, const struct decide *with, enum verdict v)
{
	struct decide d = *with;
	d.action = a->id;
	d.decision = v == VERDICT_DENY ? DECIDE_DENY : DECIDE_APPROVE;
	d.confirm = NULL;
	d.edit = NULL;
	d.promote = 0;
	d.with_action = with->action;
	decision_carry_out(a, &d);
}

void others_decide(struct gate *g, const struct decide *d)
{
	bool yes = d->decision == DECIDE_APPROVE || d->decision == DECIDE_EDIT;
	enum verdict v = yes ? VERDICT_ALLOW : VERDICT_DENY;
	for (size_t i = 0; i < json_array_size(d->others); i++) {
		struct action *a =
			gate_action(g, (uint64_t)json_integer_value(json_array_get(d->others, i)));
		waivers_expire(g); /* a waiver with limited uses is used up by others, too */
		if (!a || a->id == d->action || !gate_others_asked(a) ||
		    verdict_now(a, g->policy, g->nr_policies, g->waiver, g->nr_waivers) != v ||
		    gate_others_stays(a, v))
			continue;
		decide_other(a, d, v);
		if (d->others_done)
			json_array_append_new(d->others_done, json_integer((json_int_t)a->id));
		if (d->waiver)
			waivers_used_by(a);
	}
}
