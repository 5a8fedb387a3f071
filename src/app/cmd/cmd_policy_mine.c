/* policy mine [SESSION...]: the rules that people's answers amount to, proved on the same past.
 *
 * Each approved action proposes patterns, narrowest first. A pattern is taken when no action that a
 * person denied would be touched by it, and, if it is wide, only when it answers at least two
 * approved actions; a rule without which as much is answered is left out. What is printed is a
 * policy file. */
#include <stdlib.h>
#include <string.h>

#include "app/check/past.h"
#include "app/cmd/cmd_priv.h"
#include "app/cmd/policy_file.h"
#include "base/mem.h"
#include "query/row.h"

struct answer {
	json_t *requested, *row;
	bool approved, answered;
};
struct rule_found {
	enum action_kind of;
	char *kind, *pattern;
	size_t answers;
	uint64_t example;
	char *session;
};
struct mine {
	struct answer *item;
	size_t nr, cap;
	struct rule_found *rule;
	size_t nr_rules, cap_rules;
};

static int cmd_policy_mine_gather(void *self, const struct past_action *a, struct err *err)
{
	struct mine *m = self;
	(void)err;
	if (!a->requested || a->suite || strcmp(json_str(a->row, "by", ""), "human") != 0)
		return 0;
	const char *d = json_str(a->row, "decision", "");
	bool approved = !strcmp(d, "approve") || !strcmp(d, "promote"),
	     denied = !strcmp(d, "deny") || !strcmp(d, "deny_pause");
	if (!approved && !denied)
		return 0;
	GROW(m->item, m->nr, m->cap);
	json_t *row = json_copy((json_t *)(uintptr_t)a->row);
	json_put_str(row, "session", session_id(a->s));
	m->item[m->nr++] =
		(struct answer){ .requested = json_incref((json_t *)(uintptr_t)a->requested),
				 .row = row,
				 .approved = approved };
	return 0;
}

/* The subject of an answer; release @spec after. */
static bool subject_of(const struct answer *a, struct action_spec *spec, struct policy_subject *out)
{
	struct err none = ERR_INIT;
	if (action_spec_from_json(spec, a->requested, &none) < 0)
		return false;
	const char *profile = json_str(a->row, "profile", NULL);
	*out = (struct policy_subject){ .spec = spec,
					.wall = policy_past_wall(profile),
					.profile = profile,
					.agent = json_str(a->row, "agent", NULL),
					.box = json_str(a->row, "box", NULL) };
	return true;
}

struct reach {
	size_t approved;
	bool denied; /* it touches what a person denied */
};

static struct reach reach_of(const struct mine *m, const struct waiver *w)
{
	struct reach r = { 0 };
	for (size_t i = 0; i < m->nr; i++) {
		struct action_spec spec;
		struct policy_subject subject;
		if (!subject_of(&m->item[i], &spec, &subject))
			continue;
		if (m->item[i].approved)
			r.approved += waiver_covers(w, 0, &subject);
		else
			r.denied |= waiver_touches(w, 0, &subject);
		action_spec_release(&spec);
	}
	return r;
}

static void cmd_policy_mine_mark(struct mine *m, const struct waiver *w)
{
	for (size_t i = 0; i < m->nr; i++) {
		struct action_spec spec;
		struct policy_subject subject;
		if (!m->item[i].approved || !subject_of(&m->item[i], &spec, &subject))
			continue;
		m->item[i].answered |= waiver_covers(w, 0, &subject);
		action_spec_release(&spec);
	}
}

/* The widest proposal that is proved, else none. */
static void cmd_policy_mine_propose(struct mine *m, struct answer *a)
{
	struct action_spec spec;
	struct policy_subject subject;
	struct judgement j = { 0 };
	json_t *p;
	size_t i;
	struct waiver best = { 0 };
	struct reach best_reach = { 0 };
	if (!subject_of(a, &spec, &subject))
		return;
	subject.wall = WALL_NONE; /* all of its parts are in question, whatever stood around it */
	policy_judge(NULL, 0, NULL, 0, 0, &subject, &j);
	CLEANUP(json_release) json_t *list = policy_proposals(&j, &subject);
	json_array_foreach(list, i, p)
	{
		struct waiver w = { .kind = spec.kind,
				    .pattern = (char *)(uintptr_t)json_str(p, "pattern", "") };
		struct reach r = reach_of(m, &w);
		if (r.denied || !r.approved || (json_flag(p, "wide", false) && r.approved < 2))
			continue;
		if (r.approved > best_reach.approved) {
			best = w;
			best_reach = r;
		}
	}
	if (best.pattern) {
		cmd_policy_mine_mark(m, &best);
		a->answered = true;
		GROW(m->rule, m->nr_rules, m->cap_rules);
		m->rule[m->nr_rules++] =
			(struct rule_found){ .of = spec.kind,
					     .kind = mem_strdup(action_kind_name(spec.kind)),
					     .pattern = mem_strdup(best.pattern),
					     .answers = best_reach.approved,
					     .session = mem_strdup(json_str(a->row, "session", "")),
					     .example = (uint64_t)json_int(a->row, "id", 0) };
	}
	judgement_release(&j);
	action_spec_release(&spec);
}

static bool cmd_policy_mine_covers(const struct rule_found *r, const struct policy_subject *subject)
{
	const struct waiver w = { .kind = r->of, .pattern = r->pattern };
	return waiver_covers(&w, 0, subject);
}

/* Does some approval hang on this rule alone? A later, wider one may have made it idle. */
static bool is_needed(const struct mine *m, const struct rule_found *r)
{
	bool needed = false;
	for (size_t i = 0; i < m->nr && !needed; i++) {
		struct action_spec spec;
		struct policy_subject subject;
		if (!m->item[i].approved || !subject_of(&m->item[i], &spec, &subject))
			continue;
		needed = cmd_policy_mine_covers(r, &subject);
		for (size_t k = 0; k < m->nr_rules && needed; k++)
			needed = &m->rule[k] == r || !cmd_policy_mine_covers(&m->rule[k], &subject);
		action_spec_release(&spec);
	}
	return needed;
}

static void rule_release(struct rule_found *r)
{
	free(r->kind);
	free(r->pattern);
	free(r->session);
}

static void drop_idle(struct mine *m)
{
	for (size_t i = 0; i < m->nr_rules;) {
		if (is_needed(m, &m->rule[i])) {
			i++;
			continue;
		}
		rule_release(&m->rule[i]);
		memmove(&m->rule[i], &m->rule[i + 1], (--m->nr_rules - i) * sizeof(m->rule[i]));
	}
}

static void lua_string(const char *text, struct buf *out)
{
	buf_putc(out, '"');
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < 32 || *c == '"' || *c == '\\')
			buf_printf(out, "\\%03d", (unsigned char)*c);
		else
			buf_putc(out, *c);
	buf_putc(out, '"');
}

static const char *cmd_policy_mine_key_of(const char *kind)
{
	return !strcmp(kind, "exec") || !strcmp(kind, "shell") ? "cmd"
	       : !strcmp(kind, "connect") || !strcmp(kind, "fetch") || !strcmp(kind, "port")
		       ? "host"
	       : strstr("read write edit put get", kind) ? "path"
							 : "tool";
}

static void cmd_policy_mine_print(struct cmd_ctx *ctx, const struct mine *m)
{
	size_t approved = 0, answered = 0;
	for (size_t i = 0; i < m->nr; i++) {
		approved += m->item[i].approved;
		answered += m->item[i].approved && m->item[i].answered;
	}
	if (!m->nr_rules) {
		if (!approved)
			fprintf(ctx->err,
				"sandglass: no rules: no person has approved an action in these sessions\n");
		else
			fprintf(ctx->err,
				"sandglass: no rules: none would answer one of %zu approvals of people and touch none of their"
				" %zu denials\n",
				approved, m->nr - approved);
		return;
	}
	if (!ctx->json)
		fprintf(ctx->out,
			"-- Rules that answer %zu of %zu approvals of people; none touches any of their %zu denials.\n"
			"-- Read them before you put them into a policy file; what they do not answer goes on asking.\n"
			"local p = require \"sandglass.policy\"\nreturn p.rules {\n",
			answered, approved, m->nr - approved);
	for (size_t i = 0; i < m->nr_rules; i++) {
		const struct rule_found *r = &m->rule[i];
		CLEANUP(buf_release) struct buf line = BUF_INIT;
		if (ctx->json) {
			json_t *o = json_object();
			json_put_str(o, "kind", r->kind);
			json_put_str(o, "pattern", r->pattern);
			json_put_int(o, "answers", (int64_t)r->answers);
			json_put_str(o, "session", r->session);
			json_put_int(o, "example", (int64_t)r->example);
			cmd_json(ctx, o);
			continue;
		}
		buf_printf(&line, "  p.allow \"mined-%zu\" { kind = \"%s\", %s = ", i + 1, r->kind,
			   cmd_policy_mine_key_of(r->kind));
		lua_string(r->pattern, &line);
		buf_printf(&line, " },   -- %zu approval%s, first %s#%llu\n", r->answers,
			   r->answers == 1 ? "" : "s", r->session, (unsigned long long)r->example);
		fputs(buf_cstr(&line), ctx->out);
	}
	if (!ctx->json)
		fprintf(ctx->out, "}\n");
}

static void mine_release(struct mine *m)
{
	for (size_t i = 0; i < m->nr; i++) {
		json_decref(m->item[i].requested);
		json_decref(m->item[i].row);
	}
	for (size_t i = 0; i < m->nr_rules; i++)
		rule_release(&m->rule[i]);
	free(m->item);
	free(m->rule);
}

int cmd_policy_mine(struct cmd_ctx *ctx)
{
	struct mine m = { 0 };
	struct past past = { 0 };
	struct err err = ERR_INIT;
	int rc = past_sessions(ctx, 1, &past, &err);
	if (rc == 0)
		rc = past_all(ctx, &past, cmd_opt(ctx, "filter"), cmd_policy_mine_gather, &m, &err);
	past_release(&past);
	for (size_t i = 0; rc == 0 && i < m.nr; i++)
		if (m.item[i].approved && !m.item[i].answered)
			cmd_policy_mine_propose(&m, &m.item[i]);
	drop_idle(&m);
	if (rc == 0)
		cmd_policy_mine_print(ctx, &m);
	size_t nr = m.nr_rules;
	mine_release(&m);
	return rc < 0 ? cmd_fail(ctx, &err) : nr ? EXIT_DONE : EXIT_UNSUCCESSFUL;
}
