/* All rules against one action: the matches, and the verdict that they make together. */
#include <stdlib.h>
#include <string.h>

#include "action/policy_priv.h"
#include "base/mem.h"

const char *verdict_name(enum verdict v)
{
	static const char *const name[] = {
		[VERDICT_ALLOW] = "allow", [VERDICT_ASK] = "ask", [VERDICT_DENY] = "deny"
	};
	assert((unsigned)v < ARRAY_LEN(name));
	return name[v];
}

bool match_counts(const struct match *m, enum verdict *out)
{
	enum verdict own = m->rule->verdict;
	if (m->maybe && own == VERDICT_DENY)
		own = VERDICT_ASK;
	switch (m->state) {
	case MATCH_YES:
	case MATCH_WHEN_YES:
		*out = own;
		return true;
	case MATCH_MAYBE:
	case MATCH_WHEN:
	case MATCH_WHEN_FAILED:
		*out = VERDICT_ASK;
		return true;
	case MATCH_WHEN_NO:
	case MATCH_WHEN_UNASKED:
		return false;
	}
	return false;
}

/* Rule 8 of policy.h. */
static bool stays_in_box(const struct action_spec *s)
{
	switch (s->kind) {
	case ACT_CONNECT:
		return !s->host && !s->leaves_box; /* into it, to a server that listens there */
	case ACT_HOST:
	case ACT_FETCH:
	case ACT_PORT:
	case ACT_PUT:
	case ACT_GET:
	case ACT_MERGE:
		return false;
	case ACT_EXEC:
	case ACT_READ:
	case ACT_WRITE:
	case ACT_EDIT:
	case ACT_MODEL:
	case ACT_MCP:
	case ACT_ASK:
	case ACT_SNAPSHOT:
	case ACT_ROLLBACK:
	case ACT_SHELL:
	case ACT_KIND_NR:
		break;
	}
	return !s->leaves_box;
}

static enum verdict default_verdict(enum policy_default d, const struct action_spec *s)
{
	if (s->kind == ACT_MODEL || s->kind == ACT_ASK || s->kind == ACT_SNAPSHOT ||
	    s->kind == ACT_SHELL)
		return VERDICT_ALLOW;
	switch (d) {
	case DEFAULT_ALLOW:
		return VERDICT_ALLOW;
	case DEFAULT_BOXED:
		return stays_in_box(s) ? VERDICT_ALLOW : VERDICT_ASK;
	case DEFAULT_CAREFUL:
		return s->kind == ACT_READ ? VERDICT_ALLOW : VERDICT_ASK;
	case DEFAULT_DENY:
		return VERDICT_DENY;
	case DEFAULT_NONE:
	case DEFAULT_ASK:
		break;
	}
	return VERDICT_ASK;
}

static void find_default(struct policy *const *policies, size_t nr, enum gate_wall wall,
			 struct judgement *j)
{
	for (size_t i = 0; i < nr; i++)
		if (policies[i]->def > j->def) {
			j->def = policies[i]->def;
			j->def_file = policies[i]->file;
		}
	if (j->def != DEFAULT_NONE)
		return;
	switch (wall) {
	case WALL_BOXED:
		j->def = DEFAULT_BOXED;
		break;
	case WALL_CAREFUL:
		j->def = DEFAULT_CAREFUL;
		break;
	case WALL_NONE:
		j->def = DEFAULT_ASK;
		break;
	}
}

/* Rule 11: does an added rule answer this ask for the part @bit? */
static bool ask_lifted(const struct judgement *j, const struct match *ask, uint64_t bit)
{
	enum verdict one;
	if (ask->rule->verdict != VERDICT_ASK || ask->policy->firm || bit == POLICY_OPAQUE)
		return false;
	for (size_t i = 0; i < j->nr_matches; i++) {
		const struct match *m = &j->match[i];
		const struct strv *lifts = &m->rule->lifts;
		if (!m->policy->added || !(m->parts & bit) || !match_counts(m, &one) ||
		    one != VERDICT_ALLOW)
			continue;
		for (size_t k = 0; k < lifts->nr; k++)
			if (!strcmp(lifts->item[k], ask->rule->name))
				return true;
	}
	return false;
}

/* Of the matches that speak about the part @bit. @defaulted_out: no rule did. */
static enum verdict part_verdict(const struct judgement *j, const struct facts *f, uint64_t bit,
				 bool *defaulted_out)
{
	enum verdict v = VERDICT_ALLOW, one;
	bool any = false;
	for (size_t i = 0; i < j->nr_matches; i++) {
		if (!(j->match[i].parts & bit) || !match_counts(&j->match[i], &one))
			continue;
		any = true;
		if (one == VERDICT_ASK && ask_lifted(j, &j->match[i], bit))
			continue;
		v = one > v ? one : v;
	}
	*defaulted_out = !any && !(f->looked & bit);
	return *defaulted_out ? default_verdict(j->def, f->subject->spec) : v;
}

static void add_up_rules(struct judgement *j)
{
	enum verdict one;
	j->risk = RISK_NONE;
	j->limit_us = j->timeout_us = 0;
	j->on_timeout = ON_TIMEOUT_ALLOW;
	for (size_t i = 0; i < j->nr_matches; i++) {
		const struct rule *r = j->match[i].rule;
		if (!match_counts(&j->match[i], &one))
			continue;
		if (r->risk > j->risk)
			j->risk = r->risk;
		if (r->limit_us && (!j->limit_us || r->limit_us < j->limit_us))
			j->limit_us = r->limit_us;
		if (one != VERDICT_ASK || !r->timeout_us)
			continue;
		if (!j->timeout_us || r->timeout_us < j->timeout_us)
			j->timeout_us = r->timeout_us;
		if (r->on_timeout < j->on_timeout)
			j->on_timeout = r->on_timeout;
	}
	if (!j->timeout_us)
		j->on_timeout = ON_TIMEOUT_DENY;
}

bool judgement_confirm(const struct judgement *j)
{
	enum verdict one;
	for (size_t i = 0; i < j->nr_matches; i++)
		if (j->match[i].rule->confirm && j->match[i].parts & j->not_allowed &&
		    match_counts(&j->match[i], &one))
			return true;
	return false;
}

static int match_order(const void *a, const void *b)
{
	const struct match *x = a, *y = b;
	enum verdict vx = VERDICT_ALLOW, vy = VERDICT_ALLOW;
	bool cx = match_counts(x, &vx), cy = match_counts(y, &vy);
	if (cx != cy)
		return cx ? -1 : 1;
	if (x->lifted != y->lifted)
		return x->lifted ? 1 : -1;
	if (vx != vy)
		return vx > vy ? -1 : 1;
	int files = strcmp(x->policy->file, y->policy->file);
	return files ? files : x->rule->line - y->rule->line;
}

/* A merge whose script wants a user to look at the changes first. */
static bool waits_for_review(const struct action_spec *s)
{
	return s->kind == ACT_MERGE && json_flag(s->args, "review", false);
}

static void close_with(struct judgement *j, const struct facts *f, const struct waiver *waivers,
		       size_t nr_waivers, uint64_t agent)
{
	uint64_t lifted = 0;
	for (size_t i = 0; i < nr_waivers; i++)
		lifted |= waiver_parts(&waivers[i], agent, f);
	j->verdict = VERDICT_ALLOW;
	j->not_allowed = 0;
	j->by_default = j->waived = false;
	for (unsigned i = 0; i < 64; i++) {
		uint64_t bit = UINT64_C(1) << i;
		bool defaulted;
		if (!(f->all & bit))
			continue;
		enum verdict v = part_verdict(j, f, bit, &defaulted);
		if (v == VERDICT_ASK && lifted & bit) {
			j->waived = true;
			v = VERDICT_ALLOW;
		}
		j->by_default |= defaulted;
		if (v != VERDICT_ALLOW)
			j->not_allowed |= bit;
		if (v > j->verdict)
			j->verdict = v;
	}
	/* no rule and no waiver can look at it */
	if (j->verdict == VERDICT_ALLOW && waits_for_review(f->subject->spec)) {
		j->verdict = VERDICT_ASK;
		j->by_default = true;
		j->waived = false;
		j->not_allowed = f->all;
	}
	for (size_t i = 0; i < j->nr_matches; i++) {
		uint64_t left = j->match[i].parts & f->all;
		for (unsigned k = 0; k < 64; k++)
			if (left >> k & 1 && ask_lifted(j, &j->match[i], UINT64_C(1) << k))
				left &= ~(UINT64_C(1) << k);
		j->match[i].lifted = !left;
	}
	add_up_rules(j);
	if (j->nr_matches)
		qsort(j->match, j->nr_matches, sizeof(*j->match), match_order);
}

void judgement_close(struct judgement *j, const struct policy_subject *subject,
		     const struct waiver *waivers, size_t nr_waivers, uint64_t agent)
{
	struct facts f;
	facts_init(&f, subject, j->shell);
	close_with(j, &f, waivers, nr_waivers, agent);
	facts_release(&f);
}

/* A plain deny does not wait for anybody's function. */
static void drop_whens(struct judgement *j)
{
	bool denied = false;
	for (size_t i = 0; i < j->nr_matches; i++)
		denied |=
			j->match[i].state == MATCH_YES && j->match[i].rule->verdict == VERDICT_DENY;
	for (size_t i = 0; i < j->nr_matches; i++) {
		if (j->match[i].state != MATCH_WHEN)
			continue;
		if (denied)
			j->match[i].state = MATCH_WHEN_UNASKED;
		else
			j->pending++;
	}
}

void policy_judge(struct policy *const *policies, size_t nr, const struct waiver *waivers,
		  size_t nr_waivers, uint64_t agent, const struct policy_subject *subject,
		  struct judgement *out)
{
	struct judgement j = { .shell = spec_split(subject->spec) };
	struct facts f;
	size_t cap = 0;
	j.opaque = j.shell && j.shell->opaque;
	j.opaque_why = j.opaque ? j.shell->why : NULL;
	facts_init(&f, subject, j.shell);
	find_default(policies, nr, subject->wall, &j);
	for (size_t p = 0; p < nr; p++)
		for (size_t r = 0; r < policies[p]->nr_rules; r++) {
			GROW(j.match, j.nr_matches, cap);
			struct match *m = &j.match[j.nr_matches];
			if (rule_matches(&policies[p]->rule[r], &f, &j, m)) {
				m->policy = policies[p];
				j.nr_matches++;
			}
		}
	drop_whens(&j);
	close_with(&j, &f, waivers, nr_waivers, agent);
	facts_release(&f);
	*out = j;
}

void judgement_when(struct judgement *j, size_t i, enum match_state state, const char *note)
{
	assert(i < j->nr_matches && j->match[i].state == MATCH_WHEN && j->pending);
	j->match[i].state = state;
	if (state != MATCH_WHEN_FAILED || !j->match[i].note) {
		free(j->match[i].note);
		j->match[i].note = note ? mem_strdup(note) : NULL;
	}
	j->pending--;
}

void judgement_release(struct judgement *j)
{
	for (size_t i = 0; i < j->nr_matches; i++) {
		free(j->match[i].text);
		free(j->match[i].note);
	}
	free(j->match);
	shell_free(&j->shell);
	*j = (struct judgement){ 0 };
}

const struct match *judgement_winner(const struct judgement *j)
{
	enum verdict v;
	for (size_t i = 0; i < j->nr_matches; i++)
		if (match_counts(&j->match[i], &v) && v == j->verdict)
			return &j->match[i];
	return NULL;
}
