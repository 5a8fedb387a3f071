/* policy mine [SESSION...]: the rules that users' answers amount to, proved on the same past.
 *
 * Each approved action proposes patterns, narrowest first. A pattern is taken when no action that a
 * user denied would be touched by it, and, if it is wide, only when it answers at least two
 * approved actions; rules that answer nothing more are left out. The output is a policy file. */
#include <stdlib.h>
#include <string.h>

#include "action/waiver_lookup.h"
#include "catalog/answers.h"
#include "cli/choice_options.h"
#include "check/past.h"
#include "cli/lib/cmd_priv.h"
#include "cli/lib/policy_file.h"
#include "base/mem.h"
#include "query/row.h"

/* Users' answers to equal actions: one entry for all occurrences. */
struct deed {
	json_t *wanted; /* what patterns are held against; owned */
	size_t approved, denied;
	bool answered; /* by a rule */
	size_t rules;  /* rules that cover it */
	uint64_t id;   /* its first approval */
	char *session; /* ... and where that is; owned, NULL: it was only denied */
};
struct rule_found {
	enum action_kind of;
	char *kind, *pattern;
	size_t answers;
	uint64_t example;
	char *session;
};
struct mine {
	struct deed *deed;
	size_t nr, cap;
	json_t *known; /* text of a deed -> its place */
	json_t *tried; /* pattern -> approvals that it covers, 0: it is not proved */
	struct waiver_lookup *lookup;
	/* answers left out: the action was redacted, or its kind is unknown */
	size_t redacted, unknown, redacted_denials, unknown_denials;
	struct catalog *catalog;
	struct rule_found *rule;
	size_t nr_rules, cap_rules;
};

/* The subject of an action; release @spec after. */
static bool subject_of(const json_t *wanted, struct action_spec *spec, struct policy_subject *out)
{
	struct err none = ERR_INIT;
	if (action_spec_from_json(spec, wanted, &none) < 0)
		return false;
	/* all of its parts are in question, whatever stood around it */
	*out = (struct policy_subject){ .spec = spec, .wall = WALL_NONE };
	return true;
}

static struct deed *deed_of(struct mine *m, json_t *wanted)
{
	CLEANUP(buf_release) struct buf key = BUF_INIT;
	struct action_spec spec;
	struct policy_subject subject;
	json_dump_buf(wanted, &key);
	const json_t *at = json_object_get(m->known, buf_cstr(&key));
	if (at)
		return &m->deed[json_integer_value(at)];
	if (!subject_of(wanted, &spec, &subject))
		return NULL;
	waiver_lookup_add(m->lookup, &subject, (uint32_t)m->nr);
	action_spec_release(&spec);
	json_object_set_new_nocheck(m->known, buf_cstr(&key), json_integer((json_int_t)m->nr));
	GROW(m->deed, m->nr, m->cap);
	m->deed[m->nr] = (struct deed){ .wanted = json_incref(wanted) };
	return &m->deed[m->nr++];
}

static void cmd_policy_mine_count(struct mine *m, const char *session, const json_t *answer)
{
	const char *d = json_str(answer, "decision", "");
	json_t *wanted = json_object_get(answer, "wanted");
	bool approved = !strcmp(d, "approve") || !strcmp(d, "promote"),
	     denied = !strcmp(d, "deny") || !strcmp(d, "deny_pause");
	if (!approved && !denied)
		return;
	struct deed *deed = wanted ? deed_of(m, wanted) : NULL;
	if (!deed) {
		m->redacted_denials += !wanted && denied;
		m->redacted += !wanted && approved;
		m->unknown_denials += wanted && denied;
		m->unknown += wanted && approved;
		return;
	}
	deed->approved += approved;
	deed->denied += denied;
	if (approved && !deed->session) {
		deed->session = mem_strdup(session);
		deed->id = (uint64_t)json_int(answer, "id", 0);
	}
}

static int cmd_policy_mine_gather(void *self, const struct past_action *a, struct err *err)
{
	(void)err;
	CLEANUP(json_release) json_t *answer = human_answer(a);
	if (answer)
		cmd_policy_mine_count(self, session_id(a->s), answer);
	return 0;
}

/* Reads a session from the catalog; false: the file must be read. */
static bool cmd_policy_mine_known(void *self, const struct session_file *f)
{
	size_t i;
	json_t *one;
	struct mine *m = self;
	CLEANUP(json_release) json_t *details = catalog_details(m->catalog, f);
	const json_t *answers = json_object_get(details, "answers"),
		     *summary = json_object_get(details, "summary");
	if (!json_is_array(answers))
		return false;
	json_array_foreach(answers, i, one)
	{
		cmd_policy_mine_count(m, json_str(summary, "session", f->id), one);
	}
	return true;
}

/* Does @w cover the deed, or (@touches) a part of it? */
static bool deed_matches(const struct deed *d, const struct waiver *w, bool touches)
{
	struct action_spec spec;
	struct policy_subject subject;
	if (!subject_of(d->wanted, &spec, &subject))
		return false;
	bool yes = touches ? waiver_touches(w, 0, &subject) : waiver_covers(w, 0, &subject);
	action_spec_release(&spec);
	return yes;
}

/* Approvals that @w covers; 0 if it touches what a user denied. */
static size_t reach_of(const struct mine *m, const struct waiver *w)
{
	size_t nr, approved = 0;
	const uint32_t *may = waiver_lookup_find(m->lookup, w, &nr);
	for (size_t i = 0; i < nr; i++) {
		const struct deed *d = &m->deed[may[i]];
		if (d->denied && deed_matches(d, w, true))
			return 0;
		if (d->approved && deed_matches(d, w, false))
			approved += d->approved;
	}
	return approved;
}

/* The same, worked out once. */
static size_t proved_reach(struct mine *m, const struct waiver *w)
{
	CLEANUP(free_ptr) char *key = mem_printf("%d %s", (int)w->kind, w->pattern);
	const json_t *at = json_object_get(m->tried, key);
	if (at)
		return (size_t)json_integer_value(at);
	size_t reach = reach_of(m, w);
	json_object_set_new_nocheck(m->tried, key, json_integer((json_int_t)reach));
	return reach;
}

/* Every approved deed that @r covers: one rule more or (@add is -1) less for it. Returns how many
 * of them have no other. */
static size_t count_rule(struct mine *m, const struct rule_found *r, int add)
{
	const struct waiver w = { .kind = r->of, .pattern = r->pattern };
	size_t nr, alone = 0;
	const uint32_t *may = waiver_lookup_find(m->lookup, &w, &nr);
	for (size_t i = 0; i < nr; i++) {
		struct deed *d = &m->deed[may[i]];
		if (!d->approved || !deed_matches(d, &w, false))
			continue;
		alone += d->rules == 1;
		d->rules = (size_t)((ssize_t)d->rules + add);
		d->answered = true;
	}
	return alone;
}

/* The widest proposal that is proved, else none. */
static void cmd_policy_mine_propose(struct mine *m, struct deed *d)
{
	struct action_spec spec;
	struct policy_subject subject;
	struct judgement j = { 0 };
	json_t *p;
	size_t i, most = 0;
	const char *best = NULL;
	if (!subject_of(d->wanted, &spec, &subject))
		return;
	policy_judge(NULL, 0, NULL, 0, 0, &subject, &j);
	CLEANUP(json_release) json_t *list = policy_proposals(&j, &subject);
	json_array_foreach(list, i, p)
	{
		struct waiver w = { .kind = spec.kind,
				    .pattern = (char *)(uintptr_t)json_str(p, "pattern", "") };
		size_t reach = proved_reach(m, &w);
		if (reach <= most || (json_flag(p, "wide", false) && reach < 2))
			continue;
		best = w.pattern;
		most = reach;
	}
	if (best) {
		GROW(m->rule, m->nr_rules, m->cap_rules);
		struct rule_found *r = &m->rule[m->nr_rules++];
		*r = (struct rule_found){ .of = spec.kind,
					  .kind = mem_strdup(action_kind_name(spec.kind)),
					  .pattern = mem_strdup(best),
					  .answers = most,
					  .session = mem_strdup(d->session),
					  .example = d->id };
		count_rule(m, r, 1);
		d->answered = true;
	}
	judgement_release(&j);
	action_spec_release(&spec);
}

static void rule_release(struct rule_found *r)
{
	free(r->kind);
	free(r->pattern);
	free(r->session);
}

/* A rule without which as much is answered goes: a later, wider one may have made it idle. */
static void drop_idle(struct mine *m)
{
	size_t kept = 0;
	for (size_t i = 0; i < m->nr_rules; i++) {
		if (count_rule(m, &m->rule[i], 0)) {
			m->rule[kept++] = m->rule[i];
			continue;
		}
		count_rule(m, &m->rule[i], -1);
		rule_release(&m->rule[i]);
	}
	m->nr_rules = kept;
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

/* No rule could be tested against these denials. */
static void cmd_policy_mine_print_left_out(struct cmd_ctx *ctx, const struct mine *m)
{
	size_t denials = m->redacted_denials + m->unknown_denials,
	       all = denials + m->redacted + m->unknown;
	if (!all)
		return;
	if (ctx->json) {
		json_t *o = json_object(), *left = json_object();
		json_put_int(left, "redacted_denials", (int64_t)m->redacted_denials);
		json_put_int(left, "unknown_denials", (int64_t)m->unknown_denials);
		json_put_int(left, "redacted_approvals", (int64_t)m->redacted);
		json_put_int(left, "unknown_approvals", (int64_t)m->unknown);
		json_put(o, "left_out", left);
		cmd_json(ctx, o);
		return;
	}
	fprintf(ctx->err,
		"sandglass: left out: %zu denials and %zu approvals of redacted actions, %zu and %zu "
		"of unknown kinds\n",
		m->redacted_denials, m->redacted, m->unknown_denials, m->unknown);
	if (denials)
		fprintf(ctx->err, "  no rule below was tested against these denials\n");
}

static void cmd_policy_mine_print(struct cmd_ctx *ctx, const struct mine *m)
{
	size_t approved = 0, answered = 0, denied = 0;
	for (size_t i = 0; i < m->nr; i++) {
		approved += m->deed[i].approved;
		answered += m->deed[i].answered ? m->deed[i].approved : 0;
		denied += m->deed[i].denied;
	}
	if (!m->nr_rules) {
		if (!approved)
			fprintf(ctx->err,
				"sandglass: policy: no rules found: you approved no action in these sessions\n");
		else
			fprintf(ctx->err,
				"sandglass: policy: no rules found: no pattern covers any of your %zu approvals without one of your %zu denials\n",
				approved, denied);
		return;
	}
	if (!ctx->json)
		fprintf(ctx->out,
			"-- Rules that answer %zu of your %zu approvals; none matches one of your %zu denials.\n"
			"-- Read the rules before you add them to a policy file. Other actions still require approval.\n"
			"local p = require \"sandglass.policy\"\nreturn p.rules {\n",
			answered, approved, denied);
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
		json_decref(m->deed[i].wanted);
		free(m->deed[i].session);
	}
	for (size_t i = 0; i < m->nr_rules; i++)
		rule_release(&m->rule[i]);
	waiver_lookup_free(&m->lookup);
	json_decref(m->known);
	json_decref(m->tried);
	free(m->deed);
	free(m->rule);
}

int cmd_policy_mine(struct cmd_ctx *ctx)
{
	struct mine m = { .known = json_object(),
			  .tried = json_object(),
			  .lookup = waiver_lookup_new(),
			  .catalog = catalog_open(ctx->sessions) };
	struct past past = { 0 };
	struct err err = ERR_INIT;
	struct session_choice choice;
	int rc = session_choice_read(ctx, &choice, &err);
	if (rc == 0)
		rc = past_sessions(ctx, 1, &past, &err);
	if (rc == 0)
		session_choice_past(&choice, m.catalog, &past);
	past.known = cmd_opt(ctx, "filter") ? NULL : cmd_policy_mine_known;
	if (rc == 0)
		rc = past_decided(&past, cmd_opt(ctx, "filter"), cmd_policy_mine_gather, &m, &err);
	choice_catalog_done(ctx, &m.catalog, &past);
	past_release(&past);
	for (size_t i = 0; rc == 0 && i < m.nr; i++)
		if (m.deed[i].approved && !m.deed[i].answered)
			cmd_policy_mine_propose(&m, &m.deed[i]);
	drop_idle(&m);
	if (rc == 0)
		cmd_policy_mine_print_left_out(ctx, &m);
	if (rc == 0)
		cmd_policy_mine_print(ctx, &m);
	size_t nr = m.nr_rules;
	mine_release(&m);
	return rc < 0 ? cmd_fail(ctx, &err) : nr ? EXIT_DONE : EXIT_UNSUCCESSFUL;
}
