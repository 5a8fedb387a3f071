/* A judgement as an event's body, and an action as a `when` sees it. */
#include <string.h>

#include "action/policy_priv.h"

static const char *const default_names[] = {
	[DEFAULT_NONE] = "none",       [DEFAULT_ALLOW] = "allow", [DEFAULT_BOXED] = "boxed",
	[DEFAULT_CAREFUL] = "careful", [DEFAULT_ASK] = "ask",	  [DEFAULT_DENY] = "deny"
};
static const char *const judge_json_risk_names[] = {
	[RISK_NONE] = "none", [RISK_LOW] = "low", [RISK_MEDIUM] = "medium", [RISK_HIGH] = "high"
};

static const char *judge_json_state_name(enum match_state s)
{
	switch (s) {
	case MATCH_YES:
		return "yes";
	case MATCH_MAYBE:
		return "maybe";
	case MATCH_WHEN:
		return "when";
	case MATCH_WHEN_YES:
		return "when_yes";
	case MATCH_WHEN_NO:
		return "when_no";
	case MATCH_WHEN_FAILED:
		return "when_failed";
	case MATCH_WHEN_UNASKED:
		return "when_unasked";
	}
	return "";
}

static json_t *judge_json_bits(uint64_t parts)
{
	json_t *a = json_array();
	for (unsigned i = 0; i < 63; i++)
		if (parts >> i & 1)
			json_array_append_new(a, json_integer(i));
	return a;
}

static json_t *match_json(const struct match *m, bool has_parts)
{
	json_t *o = json_object();
	json_put_str(o, "verdict", verdict_name(m->rule->verdict));
	json_put_str(o, "name", m->rule->name);
	json_put_str(o, "file", m->policy->file);
	json_put_int(o, "line", m->rule->line);
	json_put_str(o, "state", judge_json_state_name(m->state));
	json_put_str(o, "why", m->rule->why);
	if (m->rule->risk != RISK_NONE)
		json_put_str(o, "risk", judge_json_risk_names[m->rule->risk]);
	if (m->lifted)
		json_put_flag(o, "lifted", true);
	json_put_str(o, "text", m->text);
	json_put_str(o, "note", m->note);
	if (has_parts)
		json_put(o, "parts", judge_json_bits(m->parts));
	return o;
}

static json_t *words_json(const struct shell_part *p)
{
	json_t *a = json_array();
	for (size_t i = 0; i < p->nr_words; i++)
		json_array_append_new(a, json_bytes(p->word[i].text, p->word[i].len));
	return a;
}

static json_t *parts_json(const struct judgement *j)
{
	json_t *a = json_array();
	for (size_t i = 0; i < j->shell->nr; i++) {
		json_t *o = json_object();
		json_put(o, "words", words_json(&j->shell->part[i]));
		if (j->not_allowed >> i & 1)
			json_put_flag(o, "not_allowed", true);
		json_array_append_new(a, o);
	}
	return a;
}

json_t *judgement_json(const struct judgement *j)
{
	json_t *o = json_object(), *rules = json_array();
	json_put_str(o, "verdict", verdict_name(j->verdict));
	for (size_t i = 0; i < j->nr_matches; i++)
		json_array_append_new(rules, match_json(&j->match[i], j->shell != NULL));
	json_put(o, "rules", rules);
	if (j->by_default) {
		json_put_flag(o, "by_default", true);
		json_put_str(o, "default", default_names[j->def]);
		json_put_str(o, "default_file", j->def_file);
	}
	if (j->opaque) {
		json_put_flag(o, "opaque", true);
		json_put_str(o, "opaque_why", j->opaque_why);
	}
	if (j->waived)
		json_put_flag(o, "waived", true);
	if (j->shell && (j->shell->nr > 1 || j->not_allowed))
		json_put(o, "parts", parts_json(j));
	if (j->risk != RISK_NONE)
		json_put_str(o, "risk", judge_json_risk_names[j->risk]);
	if (j->limit_us)
		json_put_int(o, "limit_us", j->limit_us);
	return o;
}

static json_t *redirects_json(const struct shell_part *p)
{
	static const char *const names[] = {
		[SHELL_IN] = "in", [SHELL_OUT] = "out", [SHELL_HERE] = "here"
	};
	json_t *a = json_array();
	for (size_t i = 0; i < p->nr_redirects; i++) {
		json_t *o = json_object();
		json_put_str(o, "kind", names[p->redirect[i].kind]);
		json_put_bytes(o, "target", p->redirect[i].target.text, p->redirect[i].target.len);
		json_array_append_new(a, o);
	}
	return a;
}

static json_t *commands_json(const struct shell *s)
{
	json_t *a = json_array();
	for (size_t i = 0; i < s->nr; i++) {
		const struct shell_part *p = &s->part[i];
		bool dynamic = false;
		if (p->flags & SHELL_TARGET)
			continue;
		for (size_t k = 0; k < p->nr_words; k++)
			dynamic |= p->word[k].dynamic;
		json_t *o = json_object();
		json_put(o, "words", words_json(p));
		json_put(o, "redirects", redirects_json(p));
		json_put(o, "env", json_argv(p->env.item, p->env.nr));
		json_put_flag(o, "dynamic", dynamic);
		json_array_append_new(a, o);
	}
	return a;
}

/* The command as one line, for filters. */
static void judge_json_put_cmd(json_t *o, const struct action_spec *s)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	bool text = s->argv.nr == 3 && !strcmp(s->argv.item[1], "-c");
	for (size_t i = text ? 2 : 0; i < s->argv.nr; i++) {
		if (b.len)
			buf_putc(&b, ' ');
		buf_append(&b, s->argv.item[i], s->argv.len[i]);
	}
	if (!s->argv.nr && s->cmdline)
		buf_puts(&b, s->cmdline);
	if (b.len)
		json_put_bytes(o, "cmd", b.data, b.len);
}

json_t *judgement_act(const struct judgement *j, const struct policy_subject *subject,
		      const struct match *m)
{
	const struct action_spec *s = subject->spec;
	json_t *o = json_object();
	if (m) {
		json_t *r = json_object();
		json_put_str(r, "file", m->policy->file);
		json_put_int(r, "line", m->rule->line);
		json_put_str(r, "name", m->rule->name);
		json_put_int(r, "n", m->rule->when);
		json_put(o, "rule", r);
	}
	json_put_str(o, "kind", action_kind_name(s->kind));
	json_put_str(o, "tool", s->tool);
	judge_json_put_cmd(o, s);
	if (s->argv.nr)
		json_put(o, "argv", json_argv(s->argv.item, s->argv.nr));
	if (j->shell)
		json_put(o, "commands", commands_json(j->shell));
	json_put_flag(o, "opaque", j->opaque);
	json_put_str(o, "path", s->path);
	json_put_str(o, "host_path", s->host_path);
	json_put_str(o, "host", s->host);
	if (s->port)
		json_put_int(o, "port", s->port);
	json_put_str(o, "url", action_url(s));
	json_put_str(o, "method", action_method(s));
	json_put_str(o, "cwd", s->cwd ? s->cwd : BOX_CWD);
	json_put_str(o, "agent", subject->agent);
	json_put_int(o, "agent_id", (json_int_t)s->agent);
	json_put_str(o, "box", subject->box);
	json_put_int(o, "box_id", (json_int_t)s->box);
	if (s->boxes)
		json_put(o, "boxes", json_incref(s->boxes));
	json_put_str(o, "where", action_on_host(s) ? "host" : "box");
	json_put_flag(o, "tainted", s->tainted);
	if (s->data && s->data_len <= 64 << 10)
		json_put_bytes(o, "data", s->data, s->data_len);
	if (s->args)
		json_put(o, "args", json_incref(s->args));
	return o;
}
