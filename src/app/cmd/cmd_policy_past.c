/* policy past FILE [SESSION...]: what would this policy have said to all that was done? Nothing is run but the file.
 *
 * Three things are told of an action whose answer would be another one: it ran and would be denied; it ran unasked and would
 * be asked; it was denied, by a rule or a person, and would be allowed. The last kind, where it was a person, is what a
 * change of policy must not do: exit status 1. */
#include <string.h>

#include "app/check/past.h"
#include "app/cmd/cmd_inner.h"
#include "app/cmd/policy_file.h"
#include "base/mem.h"
#include "query/row.h"

enum change { SAME, NOW_DENIED, NOW_ASKED, NOW_ALLOWED, NOW_ALLOWED_AGAINST, CHANGES };

static const char *const change_text[] = {
	[SAME] = "same",
	[NOW_DENIED] = "ran, would be denied",
	[NOW_ASKED] = "ran unasked, would ask",
	[NOW_ALLOWED] = "was denied or asked, would be allowed",
	[NOW_ALLOWED_AGAINST] = "a person denied it, would be allowed",
};
static const char *const change_word[] = { "same", "now_denied", "now_asked", "now_allowed", "now_allowed_against_person" };

struct past_policy {
	struct cmd_ctx *ctx;
	struct policy *policy;
	size_t n[CHANGES], functions;
};

static enum change change_of(const json_t *row, enum verdict now)
{
	bool ran = json_object_get(row, "started_us") != NULL, held = json_flag(row, "held", false);
	bool person = !strcmp(json_str(row, "by", ""), "human");
	if (ran && now == VERDICT_DENY)
		return NOW_DENIED;
	if (ran && now == VERDICT_ASK)
		return held ? SAME : NOW_ASKED;
	if (now != VERDICT_ALLOW || (ran && !held))
		return SAME;
	return !ran && held && person ? NOW_ALLOWED_AGAINST : NOW_ALLOWED;
}

static void print(struct past_policy *p, const struct past_action *a, enum change c, const struct judgement *j)
{
	const struct match *m = judgement_winner(j);
	CLEANUP(buf_release) struct buf what = BUF_INIT, line = BUF_INIT;
	row_what(a->row, &what);
	if (p->ctx->json) {
		json_t *o = json_object();
		json_put_str(o, "session", session_id(a->s));
		json_put_int(o, "action", (int64_t)a->id);
		json_put_str(o, "change", change_word[c]);
		json_put_str(o, "now", verdict_name(j->verdict));
		json_put_str(o, "rule", m ? m->rule->name : NULL);
		if (m)
			json_put_int(o, "line", m->rule->line);
		json_put(o, "what", json_bytes(what.data, what.len));
		json_put(o, "was", json_incref((json_t *)(uintptr_t)a->row));
		cmd_json(p->ctx, o);
		return;
	}
	buf_printf(&line, "%s#%llu  %s: %s ", session_id(a->s), (unsigned long long)a->id, change_text[c], json_str(a->row, "kind", ""));
	cmd_safe(&line, buf_cstr(&what), what.len, false);
	if (m) {
		buf_puts(&line, "  (");
		cmd_safe(&line, m->rule->name, strlen(m->rule->name), false);
		buf_printf(&line, ", line %d)", m->rule->line);
	} else {
		buf_puts(&line, "  (default)");
	}
	fprintf(p->ctx->out, "%s\n", buf_cstr(&line));
}

static int each(void *self, const struct past_action *a, struct err *err)
{
	struct past_policy *p = self;
	struct action_spec spec;
	if (action_spec_from_json(&spec, a->requested, err) < 0)
		return -1;
	const char *profile = json_str(a->row, "profile", NULL);
	struct policy_subject subject = { .spec = &spec, .wall = policy_past_wall(profile), .profile = profile,
					  .agent = json_str(a->row, "agent", NULL), .box = json_str(a->row, "box", NULL) };
	struct judgement j = { 0 };
	policy_judge(&p->policy, 1, NULL, 0, 0, &subject, &j);
	p->functions += j.pending > 0;
	enum change c = change_of(a->row, j.verdict);
	p->n[c]++;
	if (c != SAME && !(p->ctx->quiet && c != NOW_ALLOWED_AGAINST))
		print(p, a, c, &j);
	judgement_release(&j);
	action_spec_release(&spec);
	return 0;
}

static void sum_up(struct past_policy *p, size_t sessions)
{
	size_t all = 0;
	for (size_t i = 0; i < CHANGES; i++)
		all += p->n[i];
	if (p->ctx->json) {
		json_t *o = json_object();
		json_put_int(o, "sessions", (int64_t)sessions);
		json_put_int(o, "actions", (int64_t)all);
		for (size_t i = 0; i < CHANGES; i++)
			json_put_int(o, change_word[i], (int64_t)p->n[i]);
		json_put_int(o, "asked_functions", (int64_t)p->functions);
		cmd_json(p->ctx, o);
		return;
	}
	fprintf(p->ctx->out, "%zu actions of %zu session%s: %zu the same, %zu now denied, %zu now asked, %zu now allowed", all, sessions,
		sessions == 1 ? "" : "s", p->n[SAME], p->n[NOW_DENIED], p->n[NOW_ASKED], p->n[NOW_ALLOWED] + p->n[NOW_ALLOWED_AGAINST]);
	if (p->n[NOW_ALLOWED_AGAINST])
		fprintf(p->ctx->out, " (%zu of them a person had denied)", p->n[NOW_ALLOWED_AGAINST]);
	fputc('\n', p->ctx->out);
	if (p->functions)
		fprintf(p->ctx->out, "%zu met a rule with a function, which is not asked about the past: it counts as ask\n", p->functions);
}

int cmd_policy_past(struct cmd_ctx *ctx)
{
	struct past_policy p = { .ctx = ctx };
	struct past past = { 0 };
	struct err err = ERR_INIT;
	const char *file = cmd_word(ctx, 1);
	if (!file)
		return cmd_usage(ctx, "past: which policy file?");
	if (policy_file_load(file, &p.policy, &err) < 0)
		return cmd_fail(ctx, &err);
	int rc = past_sessions(ctx, 2, &past, &err);
	if (rc == 0) {
		rc = past_all(ctx, &past, cmd_opt(ctx, "filter"), each, &p, &err);
		if (rc == 0)
			sum_up(&p, past.paths.nr - past.unread);
	}
	past_release(&past);
	policy_free(&p.policy);
	return rc < 0 ? cmd_fail(ctx, &err) : p.n[NOW_ALLOWED_AGAINST] || past.unread ? EXIT_UNSUCCESSFUL : EXIT_DONE;
}
