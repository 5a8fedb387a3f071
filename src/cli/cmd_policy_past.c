/* policy past FILE [SESSION...]: how would this policy have judged all recorded actions? Runs only
 * the file.
 *
 * Three changes are reported. An action ran and would be denied. It ran without approval and
 * would require one. It was denied by a rule or a user and would be allowed. The last kind, if a
 * user denied the action, must not happen: exit status 1. For several sessions a table counts
 * the changes by program, directory, and host; -q prints only the table. */
#include <stdlib.h>
#include <string.h>

#include "action/shell.h"
#include "cli/choice_options.h"
#include "cli/lib/cmd_priv.h"
#include "cli/lib/policy_file.h"
#include "cli/policy_past.h"
#include "base/mem.h"
#include "query/row.h"

static const char *const change_text[] = {
	[SAME] = "same",
	[NOW_DENIED] = "ran, would be denied",
	[NOW_ASKED] = "ran unasked, would ask",
	[NOW_ALLOWED] = "was denied or asked, would be allowed",
	[NOW_ALLOWED_AGAINST] = "you denied it, would be allowed",
};
static const char *const change_word[] = { "same", "now_denied", "now_asked", "now_allowed",
					   "now_allowed_against_person" };

static size_t cmd_policy_past_group_of(struct past_policy *p, enum change c, const char *what,
				       const char *rule)
{
	CLEANUP(free_ptr) char *key = mem_printf("%d\n%s\n%s", (int)c, what, rule);
	const json_t *at = json_object_get(p->known, key);
	if (at)
		return (size_t)json_integer_value(at);
	json_object_set_new_nocheck(p->known, key, json_integer((json_int_t)p->groups));
	GROW(p->group, p->groups, p->group_cap);
	p->group[p->groups] =
		(struct group){ .change = c, .what = mem_strdup(what), .rule = mem_strdup(rule) };
	return p->groups++;
}

/* The command that counts: "sh -c" and its like only lead to it. */
static const struct shell_part *command_of(const struct shell *sh)
{
	for (size_t i = 0; sh && i < sh->nr; i++)
		if (!(sh->part[i].flags & (SHELL_LOOKED | SHELL_TARGET)) && sh->part[i].nr_words)
			return &sh->part[i];
	return NULL;
}

/* The common parts of a group's actions: the program, the host, the directory. */
static void cmd_policy_past_put_common(const json_t *row, const struct judgement *j,
				       const char *what, struct buf *out)
{
	const struct shell_part *command = command_of(j->shell);
	const char *host = json_str(row, "host", NULL),
		   *slash = json_object_get(row, "path") && *what ? strchr(what + 1, '/') : NULL;
	buf_printf(out, "%s ", json_str(row, "kind", ""));
	if (command)
		cmd_safe(out, command->word[0].text, command->word[0].len, false);
	else if (host)
		cmd_safe(out, host, strlen(host), false);
	else
		cmd_safe(out, what, slash ? (size_t)(slash + 1 - what) : strlen(what), false);
	if (command ? command->nr_words > 1 : !host && slash)
		buf_puts(out, command ? " *" : "*");
}

void policy_past_count(struct past_policy *p, size_t group, const char *session, uint64_t id)
{
	struct group *g = &p->group[group];
	if (!g->session) {
		g->session = mem_strdup(session);
		g->first = id;
	}
	g->actions++;
	if (g->last && !strcmp(g->last, session))
		return;
	g->sessions++;
	free(g->last);
	g->last = mem_strdup(session);
}

static void cmd_policy_past_put_rule(const struct judgement *j, struct buf *out)
{
	const struct match *m = judgement_winner(j);
	if (!m) {
		buf_puts(out, "default");
		return;
	}
	cmd_safe(out, m->rule->name, strlen(m->rule->name), false);
	buf_printf(out, ", line %d%s", m->rule->line,
		   m->state == MATCH_WHEN ? ": its function would decide" : "");
}

size_t policy_past_group(struct past_policy *p, enum change c, const json_t *row,
			 const struct judgement *j)
{
	CLEANUP(buf_release) struct buf what = BUF_INIT, common = BUF_INIT, rule = BUF_INIT;
	row_what(row, &what);
	cmd_policy_past_put_common(row, j, buf_cstr(&what), &common);
	cmd_policy_past_put_rule(j, &rule);
	return cmd_policy_past_group_of(p, c, buf_cstr(&common), buf_cstr(&rule));
}

/* Order of importance: changes against a user's decision, then newly allowed actions; within
 * each the most frequent first. */
static int cmd_policy_past_weightier(const void *va, const void *vb)
{
	const struct group *a = va, *b = vb;
	if (a->change != b->change)
		return a->change > b->change ? -1 : 1;
	if (a->actions != b->actions)
		return a->actions > b->actions ? -1 : 1;
	return strcmp(a->what, b->what);
}

enum { ROWS = 25 };

static void print_groups(struct past_policy *p)
{
	FILE *out = p->ctx->out;
	if (!p->groups)
		return;
	qsort(p->group, p->groups, sizeof(*p->group), cmd_policy_past_weightier);
	fprintf(out, "\nactions sessions  %-15s  what\n", "first");
	for (size_t i = 0; i < p->groups && i < ROWS; i++) {
		const struct group *g = &p->group[i];
		CLEANUP(buf_release) struct buf line = BUF_INIT, first = BUF_INIT;
		buf_printf(&first, "%s#%llu", g->session, (unsigned long long)g->first);
		if (!i || g->change != p->group[i - 1].change)
			fprintf(out, "%s\n", change_text[g->change]);
		buf_printf(&line, "%7zu %8zu  %-15s  %s  (%s)", g->actions, g->sessions,
			   buf_cstr(&first), g->what, g->rule);
		fprintf(out, "%s\n", buf_cstr(&line));
	}
	if (p->groups > ROWS)
		fprintf(out, "  and %zu more kinds of change\n", p->groups - ROWS);
	fputc('\n', out);
}

static void groups_release(struct past_policy *p)
{
	for (size_t i = 0; i < p->groups; i++) {
		free(p->group[i].what);
		free(p->group[i].rule);
		free(p->group[i].session);
		free(p->group[i].last);
	}
	free(p->group);
	json_decref(p->known);
}

static enum change cmd_policy_past_change_of(const json_t *row, bool suite, enum verdict now)
{
	/* the start of an imported action is unknown and it was never checked against policy;
	 * its end shows that it ran */
	bool judged = json_object_get(row, "verdict") != NULL, held = json_flag(row, "held", false);
	bool ran = json_object_get(row, "started_us") ||
		   (!judged &&
		    (json_object_get(row, "exit") || !strcmp(json_str(row, "end", ""), "ok")));
	bool person = !suite && !strcmp(json_str(row, "by", ""), "human");
	if (ran && now == VERDICT_DENY)
		return NOW_DENIED;
	if (ran && now == VERDICT_ASK)
		return held ? SAME : NOW_ASKED;
	if (now != VERDICT_ALLOW || (ran && !held) || !judged)
		return SAME;
	return !ran && held && person ? NOW_ALLOWED_AGAINST : NOW_ALLOWED;
}

bool policy_past_shows(const struct past_policy *p, enum change c)
{
	return c != SAME && (!p->ctx->quiet || c == NOW_ALLOWED_AGAINST);
}

static void cmd_policy_past_tell(struct past_policy *p, const struct past_action *a, enum change c,
				 const struct judgement *j)
{
	const struct match *m = judgement_winner(j);
	CLEANUP(buf_release) struct buf what = BUF_INIT, line = BUF_INIT, rule = BUF_INIT;
	row_what(a->row, &what);
	progress_clear(&p->past->working);
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
	buf_printf(&line, "%s ", json_str(a->row, "kind", ""));
	cmd_safe(&line, buf_cstr(&what), what.len, false);
	cmd_policy_past_put_rule(j, &rule);
	fprintf(p->ctx->out, "%s#%llu  %s: %s  (%s)\n", session_id(a->s), (unsigned long long)a->id,
		change_text[c], buf_cstr(&line), buf_cstr(&rule));
}

int policy_past_judge(const struct past_policy *p, const struct past_action *a,
		      struct judgement *out, enum change *change_out, struct err *err)
{
	struct action_spec spec;
	if (action_spec_from_json(&spec, a->requested, err) < 0)
		return -1;
	const char *profile = json_str(a->row, "profile", NULL);
	struct policy_subject subject = { .spec = &spec,
					  .wall = policy_past_wall(profile),
					  .profile = profile,
					  .agent = json_str(a->row, "agent", NULL),
					  .box = json_str(a->row, "box", NULL) };
	*out = (struct judgement){ 0 };
	policy_judge(&p->policy, 1, NULL, 0, 0, &subject, out);
	*change_out = cmd_policy_past_change_of(a->row, a->suite, out->verdict);
	action_spec_release(&spec);
	return 0;
}

int policy_past_each(void *self, const struct past_action *a, struct err *err)
{
	struct past_policy *p = self;
	struct judgement j;
	enum change c;
	if (!a->requested) { /* redacted: nothing is left that a policy could judge */
		p->redacted++;
		return 0;
	}
	if (policy_past_judge(p, a, &j, &c, err) < 0)
		return -1;
	p->functions += j.pending > 0;
	p->n[c]++;
	if (c != SAME && p->known)
		policy_past_count(p, policy_past_group(p, c, a->row, &j), session_id(a->s), a->id);
	if (policy_past_shows(p, c))
		cmd_policy_past_tell(p, a, c, &j);
	judgement_release(&j);
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
		json_put_int(o, "redacted", (int64_t)p->redacted);
		cmd_json(p->ctx, o);
		return;
	}
	if (p->known)
		print_groups(p);
	fprintf(p->ctx->out,
		"%zu actions of %zu session%s: %zu the same, %zu now denied, %zu now asked, %zu now allowed",
		all, sessions, sessions == 1 ? "" : "s", p->n[SAME], p->n[NOW_DENIED],
		p->n[NOW_ASKED], p->n[NOW_ALLOWED] + p->n[NOW_ALLOWED_AGAINST]);
	if (p->n[NOW_ALLOWED_AGAINST])
		fprintf(p->ctx->out, " (you had denied %zu of them)", p->n[NOW_ALLOWED_AGAINST]);
	fputc('\n', p->ctx->out);
	if (p->functions)
		fprintf(p->ctx->out,
			"%zu met a rule with a function, which is not asked about the past: it counts as ask\n",
			p->functions);
	if (p->redacted)
		fprintf(p->ctx->out, "%zu redacted, not checked\n", p->redacted);
}

static int cmd_policy_past_read(struct past_policy *p, struct err *err)
{
	struct cmd_ctx *ctx = p->ctx;
	struct session_choice choice;
	const char *filter = cmd_opt(ctx, "filter");
	if (session_choice_read(ctx, &choice, err) < 0 || past_sessions(ctx, 2, p->past, err) < 0)
		return -1;
	struct catalog *c = catalog_open(ctx->sessions);
	session_choice_past(&choice, c, p->past);
	p->known = p->past->paths.nr > 1 && !ctx->json ? json_object() : NULL;
	struct past_deeds *deeds = filter ? NULL : past_deeds_new(p, c);
	p->deeds = deeds;
	p->past->known = deeds ? past_deeds_known : NULL;
	int rc = past_all(p->past, filter, policy_past_each, p, err);
	past_deeds_free(&deeds);
	choice_catalog_done(ctx, &c, p->past);
	return rc;
}

int cmd_policy_past(struct cmd_ctx *ctx)
{
	struct past past = { 0 };
	struct past_policy p = { .ctx = ctx, .past = &past };
	struct err err = ERR_INIT;
	const char *file = cmd_word(ctx, 1);
	if (!file)
		return cmd_usage(ctx, "past: missing argument: FILE");
	if (policy_file_load(file, &p.policy, &err) < 0)
		return cmd_fail(ctx, &err);
	int rc = cmd_policy_past_read(&p, &err);
	if (rc == 0)
		sum_up(&p, past.paths.nr - past.unread);
	past_release(&past);
	groups_release(&p);
	policy_free(&p.policy);
	return rc < 0					 ? cmd_fail(ctx, &err)
	       : p.n[NOW_ALLOWED_AGAINST] || past.unread ? EXIT_UNSUCCESSFUL
							 : EXIT_DONE;
}
