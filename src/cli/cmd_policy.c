/* sandglass policy: is a policy file right, and what would happen to a command? Nothing is run but
 * the file itself, in a Lua host without hands. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "action/added.h"
#include "action/policy_doubt.h"
#include "cli/lib/cmd_priv.h"
#include "cli/lib/config.h"
#include "cli/lib/policy_file.h"
#include "secrets/trust.h"
#include "base/mem.h"
#include "base/paths.h"

/* --- check ------------------------------------------------------------------------------------
 */

static char *file_to_check(struct cmd_ctx *ctx)
{
	const char *named = cmd_word(ctx, 1) ? cmd_word(ctx, 1) : cmd_opt(ctx, "file");
	if (named)
		return mem_strdup(named);
	return access(policy_file_project, F_OK) == 0 ? mem_strdup(policy_file_project)
						      : paths_config("policy.lua");
}

static void cmd_policy_put_doubt(json_t *rule, const struct policy_doubt *d)
{
	CLEANUP(buf_release) struct buf effect = BUF_INIT, fix = BUF_INIT;
	policy_doubt_effect(d, &effect);
	policy_doubt_fix(d, &fix);
	json_t *o = json_object();
	json_put_str(o, "kind", policy_doubt_name(d->kind));
	json_put_str(o, "pattern", d->pattern);
	json_put_str(o, "effect", buf_cstr(&effect));
	json_put_str(o, "fix", buf_cstr(&fix));
	json_put(rule, "doubt", o);
}

static void cmd_policy_say_doubt(struct cmd_ctx *ctx, const struct policy_doubt *d)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT, safe = BUF_INIT;
	buf_puts(&b, "        note: ");
	policy_doubt_effect(d, &b);
	buf_puts(&b, "; ");
	policy_doubt_fix(d, &b);
	cmd_safe(&safe, buf_cstr(&b), b.len, false);
	fprintf(ctx->out, "%s\n", buf_cstr(&safe));
}

static int cmd_policy_check(struct cmd_ctx *ctx)
{
	struct policy *p;
	struct err err = ERR_INIT;
	CLEANUP(free_ptr) char *file = file_to_check(ctx);
	if (!cmd_word(ctx, 1) && !cmd_opt(ctx, "file") && access(file, F_OK) != 0)
		return cmd_fail_with(ctx, EXIT_USAGE,
				     "no policy file found: neither '%s' nor '%s'\n"
				     "'sandglass init' writes one.",
				     policy_file_project, file);
	if (policy_file_load(file, &p, &err) < 0)
		return cmd_fail(ctx, &err);
	static const char *const defaults[] = { "", "allow", "boxed", "careful", "ask", "deny" };
	for (size_t i = 0; i < p->nr_rules; i++) {
		const struct rule *r = &p->rule[i];
		const struct policy_doubt doubt = policy_doubt_of(r);
		if (ctx->json) {
			json_t *o = json_object();
			json_put_str(o, "rule", r->name);
			json_put_str(o, "verdict", verdict_name(r->verdict));
			json_put_str(o, "file", file);
			json_put_int(o, "line", r->line);
			if (r->why)
				json_put_str(o, "why", r->why);
			json_put_flag(o, "when", r->when != 0);
			if (doubt.kind)
				cmd_policy_put_doubt(o, &doubt);
			cmd_json(ctx, o);
		} else if (!ctx->quiet) {
			CLEANUP(buf_release) struct buf b = BUF_INIT, safe = BUF_INIT;
			buf_printf(&b, "  %-5s %-20s line %d%s%s%s", verdict_name(r->verdict),
				   r->name, r->line, r->when ? ", asks a function" : "",
				   r->why ? ": " : "", r->why ? r->why : "");
			cmd_safe(&safe, buf_cstr(&b), b.len, false);
			fprintf(ctx->out, "%s\n", buf_cstr(&safe));
			if (doubt.kind)
				cmd_policy_say_doubt(ctx, &doubt);
		}
	}
	if (!ctx->json) {
		cmd_print_safe(ctx->out, file, strlen(file), false);
		fprintf(ctx->out, ": ok, %zu rules%s%s\n", p->nr_rules, p->def ? ", default " : "",
			defaults[p->def]);
	}
	policy_free(&p);
	return EXIT_DONE;
}

/* --- explain ----------------------------------------------------------------------------------
 */

struct set {
	struct policy **item;
	size_t nr, cap;
};

static int cmd_policy_load(struct set *s, const char *path, struct err *err)
{
	struct policy *p;
	if (policy_file_load(path, &p, err) < 0)
		return -1;
	GROW(s->item, s->nr, s->cap);
	s->item[s->nr++] = p;
	return 0;
}

static int cmd_policy_add(struct set *s, const char *path, struct err *err)
{
	return access(path, F_OK) == 0 ? cmd_policy_load(s, path, err) : 0;
}

static int cmd_policy_add_project(struct cmd_ctx *ctx, struct set *s, const char *path,
				  struct err *err)
{
	if (access(path, F_OK) != 0)
		return 0;
	if (trusted_file(path))
		return cmd_policy_add(s, path, err);
	fprintf(ctx->err,
		"sandglass: ignored '%s': not trusted\nTrust it with 'sandglass trust'.\n", path);
	return 0;
}

/* The files that a session with a sandbox of the repository here would have. */
static int load_all(struct cmd_ctx *ctx, struct set *s, struct err *err)
{
	CLEANUP(free_ptr) char *user = paths_config("policy.lua");
	const char *only = cmd_opt(ctx, "file");
	if (only)
		return access(only, F_OK) == 0 ? cmd_policy_add(s, only, err)
					       : err_sys(err, "can't open '%s'", only);
	if (cmd_policy_add(s, policy_file_machine, err) < 0 || cmd_policy_add(s, user, err) < 0)
		return -1;
	struct strv level = STRV_INIT;
	struct config *c = NULL;
	int rc = config_open(&c, ctx, err);
	CLEANUP(free_ptr) char *more = rc == 0 ? config_value(c, "policy") : NULL;
	if (c)
		config_close(&c);
	if (more)
		rc = cmd_policy_load(s, more, err);
	path_project_levels(".", &level);
	for (size_t i = 0; i < level.nr && rc == 0; i++) {
		CLEANUP(free_ptr) char *rules = path_join(level.item[i], policy_file_project);
		CLEANUP(free_ptr) char *added = path_join(level.item[i], ADDED_FILE);
		rc = cmd_policy_add_project(ctx, s, i ? rules : policy_file_project, err);
		if (rc == 0)
			rc = cmd_policy_add_project(ctx, s, i ? added : ADDED_FILE, err);
	}
	strv_release(&level);
	return rc;
}

static const char *match_word(enum match_state s)
{
	switch (s) {
	case MATCH_YES:
	case MATCH_WHEN_YES:
		return "";
	case MATCH_MAYBE:
		return " (may match, so it asks)";
	case MATCH_WHEN:
		return " (its function decides)";
	case MATCH_WHEN_NO:
	case MATCH_WHEN_FAILED:
	case MATCH_WHEN_UNASKED:
		return " (its function is not asked)";
	}
	return "";
}

static void print_judgement(struct cmd_ctx *ctx, const struct judgement *j)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT, safe = BUF_INIT;
	static const char *const defaults[] = {
		"none", "allow", "boxed", "careful", "ask", "deny"
	};
	static const char *const risks[] = { "", "low", "medium", "high" };
	buf_puts(&b, verdict_name(j->verdict));
	if (j->risk)
		buf_printf(&b, ", risk %s", risks[j->risk]);
	buf_putc(&b, '\n');
	for (size_t i = 0; i < j->nr_matches; i++) {
		const struct match *m = &j->match[i];
		buf_printf(&b, "  %-5s %s at %s:%d%s", verdict_name(m->rule->verdict),
			   m->rule->name, m->policy->file, m->rule->line, match_word(m->state));
		if (m->text)
			buf_printf(&b, " matches '%s'", m->text);
		buf_printf(&b, "%s%s\n", m->rule->why ? ": " : "",
			   m->rule->why ? m->rule->why : "");
	}
	if (j->opaque)
		buf_printf(&b, "  can't be parsed: %s\n",
			   j->opaque_why ? j->opaque_why : "too long or too deep");
	if (j->by_default || !j->nr_matches)
		buf_printf(&b, "  default %s of %s\n", defaults[j->def],
			   j->def_file ? j->def_file : "the sandbox's isolation");
	cmd_safe(&safe, buf_cstr(&b), b.len, true);
	fputs(buf_cstr(&safe), ctx->out);
}

static int cmd_policy_wall_of(struct cmd_ctx *ctx, enum gate_wall *out, struct err *err)
{
	const char *box = cmd_opt(ctx, "box");
	*out = WALL_BOXED;
	if (!box || !strcmp(box, "boxed"))
		return 0;
	*out = !strcmp(box, "careful") ? WALL_CAREFUL : WALL_NONE;
	if (!strcmp(box, "careful") || !strcmp(box, "none"))
		return 0;
	return err_set(err, ERR_USAGE, "--box: expected boxed, careful, or none, got '%s'", box);
}

static void cmd_policy_judge(struct cmd_ctx *ctx, const struct set *s, enum gate_wall wall)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	struct action_spec spec = { .kind = ACT_EXEC, .may_write = true, .tool = "shell" };
	struct policy_subject subject = { .spec = &spec, .wall = wall, .profile = "enforced" };
	struct judgement j = { 0 };
	for (size_t i = 1; cmd_word(ctx, i); i++)
		buf_printf(&line, "%s%s", i > 1 ? " " : "", cmd_word(ctx, i));
	strv_push(&spec.argv, "sh");
	strv_push(&spec.argv, "-c");
	strv_push_bytes(&spec.argv, buf_cstr(&line), line.len);
	spec.cmdline = buf_cstr(&line);
	policy_judge(s->item, s->nr, NULL, 0, 0, &subject, &j);
	if (ctx->json) {
		json_t *o = judgement_json(&j);
		json_put(o, "cmd", json_bytes(line.data, line.len));
		cmd_json(ctx, o);
	} else {
		print_judgement(ctx, &j);
	}
	judgement_release(&j);
	strv_release(&spec.argv);
}

static int cmd_policy_explain(struct cmd_ctx *ctx)
{
	struct set s = { 0 };
	struct err err = ERR_INIT;
	enum gate_wall wall;
	int rc = cmd_policy_wall_of(ctx, &wall, &err);
	if (rc == 0)
		rc = load_all(ctx, &s, &err);
	if (rc == 0)
		cmd_policy_judge(ctx, &s, wall);
	for (size_t i = 0; i < s.nr; i++)
		policy_free(&s.item[i]);
	free(s.item);
	return rc < 0 ? cmd_fail(ctx, &err) : EXIT_DONE;
}

int cmd_policy(struct cmd_ctx *ctx)
{
	const char *what = cmd_word(ctx, 0);
	if (!strcmp(what, "check"))
		return cmd_word(ctx, 2) ? cmd_usage(ctx, "check: expected one FILE")
					: cmd_policy_check(ctx);
	if (!strcmp(what, "past"))
		return cmd_policy_past(ctx);
	if (!strcmp(what, "mine"))
		return cmd_policy_mine(ctx);
	if (strcmp(what, "explain") != 0)
		return cmd_usage(ctx, "expected check, explain, past, or mine, got '%s'", what);
	if (!cmd_word(ctx, 1))
		return cmd_usage(ctx, "explain: missing argument: COMMAND");
	return cmd_policy_explain(ctx);
}
