/* JSON of a policy file -> struct policy. Everything in it is checked here, so that judging cannot
 * fail. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "action/glob.h"
#include "action/policy.h"
#include "base/mem.h"
#include "query/filter.h"

struct parser {
	struct policy *p;
	struct err *err;
	int line; /* of the rule at hand; 0 = the file itself */
	bool failed;
};

PRINTF(2, 3) static void policy_parse_fail(struct parser *x, const char *fmt, ...)
{
	char text[400];
	va_list ap;
	if (x->failed)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	x->failed = true;
	if (x->line)
		err_set(x->err, ERR_SCRIPT, "%s:%d: %s", x->p->file, x->line, text);
	else
		err_set(x->err, ERR_SCRIPT, "%s: %s", x->p->file, text);
}

static void check_keys(struct parser *x, const json_t *o, const char *const *keys, const char *what)
{
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)(uintptr_t)o, key, value)
	{
		const char *const *k = keys;
		while (*k && strcmp(*k, key) != 0)
			k++;
		if (*k)
			continue;
		const char *near = nearest_name(key, keys);
		if (near)
			policy_parse_fail(x, "%s has no \"%s\"; did you mean \"%s\"?", what, key,
					  near);
		else
			policy_parse_fail(x, "%s has no \"%s\"", what, key);
	}
}

static const char *policy_parse_text_of(struct parser *x, const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);
	if (!v || json_is_null(v))
		return NULL;
	if (!json_is_string(v)) {
		policy_parse_fail(x, "\"%s\" must be a text", key);
		return NULL;
	}
	return arena_strdup(x->p->arena, json_string_value(v));
}

static int64_t policy_parse_number_of(struct parser *x, const json_t *o, const char *key,
				      int64_t least)
{
	const json_t *v = json_object_get(o, key);
	if (!v || json_is_null(v))
		return 0;
	if (!json_is_integer(v) || json_integer_value(v) < least)
		policy_parse_fail(x, "\"%s\": expected an integer of at least %lld", key,
				  (long long)least);
	return json_is_integer(v) ? json_integer_value(v) : 0;
}

/* One of @names (NULL-terminated): its index, or @def when the key is absent. */
static unsigned policy_parse_choice_of(struct parser *x, const json_t *o, const char *key,
				       const char *const *names, unsigned def)
{
	const char *text = policy_parse_text_of(x, o, key);
	if (!text)
		return def;
	for (unsigned i = 0; names[i]; i++)
		if (!strcmp(names[i], text))
			return i;
	const char *near = nearest_name(text, names);
	if (near)
		policy_parse_fail(x, "\"%s\": unknown value \"%s\"; did you mean \"%s\"?", key,
				  text, near);
	else
		policy_parse_fail(x, "\"%s\": unknown value \"%s\"", key, text);
	return def;
}

static void push_item(struct parser *x, const char *key, const json_t *v, struct strv *out)
{
	if (!json_is_string(v) || !json_string_length(v)) {
		policy_parse_fail(x, "\"%s\" must be a text or a list of texts", key);
		return;
	}
	const char *s = json_string_value(v);
	if (strlen(s) != json_string_length(v) || strlen(s) > GLOB_MAX - 2)
		policy_parse_fail(x, "\"%s\": a pattern may have %d bytes, none of them NUL", key,
				  GLOB_MAX - 2);
	else if (!strcmp(s, "!"))
		policy_parse_fail(x, "\"%s\": \"!\" needs a pattern behind it", key);
	else
		strv_push(out, s);
}

static void policy_parse_list_of(struct parser *x, const json_t *o, const char *key,
				 struct strv *out)
{
	const json_t *v = json_object_get(o, key);
	if (!v || json_is_null(v))
		return;
	if (!json_is_array(v)) {
		push_item(x, key, v, out);
		return;
	}
	if (!json_array_size(v))
		policy_parse_fail(x, "\"%s\" is an empty list: it would match nothing", key);
	for (size_t i = 0; i < json_array_size(v); i++)
		push_item(x, key, json_array_get(v, i), out);
}

static unsigned kinds_of(struct parser *x, const json_t *o)
{
	const char *names[ACT_KIND_NR + 1] = { 0 };
	unsigned bits = 0, not_bits = 0;
	struct strv list = STRV_INIT;
	for (unsigned k = 0; k < ACT_KIND_NR; k++)
		names[k] = action_kind_name((enum action_kind)k);
	policy_parse_list_of(x, o, "kind", &list);
	for (size_t i = 0; i < list.nr; i++) {
		enum action_kind k;
		bool not = list.item[i][0] == '!';
		if (action_kind_find(list.item[i] + not, &k)) {
			*(not ? &not_bits : &bits) |= 1u << k;
			continue;
		}
		const char *near = nearest_name(list.item[i] + not, names);
		if (near)
			policy_parse_fail(x, "unknown kind \"%s\"; did you mean \"%s\"?",
					  list.item[i] + not, near);
		else
			policy_parse_fail(x, "unknown kind \"%s\"", list.item[i] + not );
	}
	strv_release(&list);
	if (not_bits)
		bits = (bits ? bits : (1u << ACT_KIND_NR) - 1) & ~not_bits;
	if ((not_bits || json_object_get(o, "kind")) && !bits)
		policy_parse_fail(x, "\"kind\" leaves nothing");
	return bits;
}

static int when_of(struct parser *x, const json_t *o, size_t index)
{
	const json_t *v = json_object_get(o, "when");
	if (!v || json_is_null(v) || json_is_false(v))
		return 0;
	if (json_is_true(v))
		return (int)index + 1;
	if (json_is_integer(v) && json_integer_value(v) > 0 && json_integer_value(v) < INT32_MAX)
		return (int)json_integer_value(v);
	policy_parse_fail(x, "\"when\" must be true or a number from 1 on");
	return 0;
}

static struct filter *match_of(struct parser *x, const json_t *o)
{
	struct filter *f = NULL;
	struct err err = ERR_INIT;
	const char *text = policy_parse_text_of(x, o, "match");
	if (!text)
		return NULL;
	if (filter_parse(&f, text, NULL, NULL, &err) < 0 || filter_known_before(f, &err) < 0) {
		policy_parse_fail(x, "match: %s", err.text);
		filter_free(&f);
	}
	return f;
}

static void check_rule(struct parser *x, const struct rule *r)
{
	if (r->verdict != VERDICT_ASK && (r->timeout_us || r->on_timeout != ON_TIMEOUT_DENY))
		policy_parse_fail(x, "only an ask can have a timeout");
	if (r->lifts.nr && (!x->p->added || r->verdict != VERDICT_ALLOW))
		policy_parse_fail(
			x,
			"\"lifts\" is for the allows of .sandglass/added.lua; a stricter rule of another file would not be seen");
	if (r->confirm && strcmp(r->confirm, "type") != 0)
		policy_parse_fail(x, "\"confirm\" can only be \"type\"");
	if (r->confirm && r->verdict != VERDICT_ASK)
		policy_parse_fail(x, "only an ask can be confirmed");
}

static void read_rule(struct parser *x, const json_t *o, size_t index, struct rule *r)
{
	static const char *const keys[] = {
		"name",	      "verdict",    "line",  "kind",   "cmd",	 "path",    "host",
		"tool",	      "agent",	    "box",   "url",    "method", "where",   "tainted",
		"match",      "when",	    "why",   "say",    "risk",	 "confirm", "limit",
		"timeout_us", "on_timeout", "lifts", "box_id", NULL
	};
	static const char *const verdicts[] = { "allow", "ask", "deny", NULL };
	static const char *const places[] = { "anywhere", "box", "host", NULL };
	static const char *const risks[] = { "none", "low", "medium", "high", NULL };
	static const char *const timeouts[] = { "deny", "hold", "allow", NULL };
	static const char *const limits[] = { "time_us", NULL };
	x->line = 0;
	if (!json_is_object(o)) {
		policy_parse_fail(x, "rule %zu is not a table", index + 1);
		return;
	}
	x->line = (int)policy_parse_number_of(x, o, "line", 1);
	if (!x->line)
		policy_parse_fail(x, "rule %zu has no line", index + 1);
	check_keys(x, o, keys, "a rule");
	r->line = x->line;
	r->name = policy_parse_text_of(x, o, "name");
	if (!r->name || !r->name[0])
		policy_parse_fail(x, "rule %zu has no name", index + 1);
	if (!json_object_get(o, "verdict"))
		policy_parse_fail(x, "rule %zu has no verdict", index + 1);
	r->verdict = (enum verdict)policy_parse_choice_of(x, o, "verdict", verdicts, VERDICT_ASK);
	r->kinds = kinds_of(x, o);
	policy_parse_list_of(x, o, "cmd", &r->cmd);
	policy_parse_list_of(x, o, "path", &r->path);
	policy_parse_list_of(x, o, "host", &r->host);
	policy_parse_list_of(x, o, "tool", &r->tool);
	policy_parse_list_of(x, o, "agent", &r->agent);
	policy_parse_list_of(x, o, "box", &r->box);
	r->box_id = (uint64_t)policy_parse_number_of(x, o, "box_id", 0);
	policy_parse_list_of(x, o, "url", &r->url);
	policy_parse_list_of(x, o, "method", &r->method);
	policy_parse_list_of(x, o, "lifts", &r->lifts);
	r->where = policy_parse_choice_of(x, o, "where", places, RULE_ANYWHERE);
	r->tainted = json_flag(o, "tainted", false);
	r->match = match_of(x, o);
	r->when = when_of(x, o, index);
	r->why = policy_parse_text_of(x, o, "why");
	r->say = policy_parse_text_of(x, o, "say");
	r->risk = (enum policy_risk)policy_parse_choice_of(x, o, "risk", risks, RISK_NONE);
	r->confirm = policy_parse_text_of(x, o, "confirm");
	const json_t *limit = json_object_get(o, "limit");
	if (limit && !json_is_object(limit))
		policy_parse_fail(x, "\"limit\" must be a table");
	else if (limit)
		check_keys(x, limit, limits, "\"limit\"");
	r->limit_us = json_is_object(limit) ? policy_parse_number_of(x, limit, "time_us", 1) : 0;
	r->timeout_us = policy_parse_number_of(x, o, "timeout_us", 1);
	r->on_timeout = (enum policy_timeout)policy_parse_choice_of(x, o, "on_timeout", timeouts,
								    ON_TIMEOUT_DENY);
	check_rule(x, r);
}

static void read_policy(struct parser *x, const json_t *doc)
{
	static const char *const keys[] = { "file", "default", "rules", "added", "firm", NULL };
	static const char *const defaults[] = {
		"", "allow", "boxed", "careful", "ask", "deny", NULL
	};
	check_keys(x, doc, keys, "a policy");
	x->p->added = json_flag(doc, "added", false);
	x->p->firm = json_flag(doc, "firm", false);
	x->p->def = (enum policy_default)policy_parse_choice_of(x, doc, "default", defaults,
								DEFAULT_NONE);
	const json_t *rules = json_object_get(doc, "rules");
	if (!json_is_array(rules)) {
		policy_parse_fail(x, "\"rules\" must be a list");
		return;
	}
	x->p->nr_rules = json_array_size(rules);
	x->p->rule = mem_calloc(x->p->nr_rules, sizeof(struct rule));
	for (size_t i = 0; i < x->p->nr_rules; i++)
		read_rule(x, json_array_get(rules, i), i, &x->p->rule[i]);
}

int policy_from_json(struct policy **out, const json_t *doc, struct err *err)
{
	const char *file = json_is_object(doc) ? json_str(doc, "file", NULL) : NULL;
	if (!file || !*file)
		return err_set(err, ERR_SCRIPT, "a policy must be a table that names its \"file\"");
	struct policy *p = NEW(struct policy);
	struct parser x = { .p = p, .err = err };
	p->arena = NEW(struct arena);
	p->file = mem_strdup(file);
	read_policy(&x, doc);
	char *text = json_dump_str(doc);
	hash_of(text, strlen(text), &p->hash);
	free(text);
	if (x.failed) {
		policy_free(&p);
		return -1;
	}
	*out = p;
	return 0;
}

int policy_parse(struct policy **out, const char *json, size_t len, struct err *err)
{
	CLEANUP(json_release) json_t *doc = json_parse(json, len, "policy", err);
	return doc ? policy_from_json(out, doc, err) : -1;
}

void policy_free(struct policy **pp)
{
	struct policy *p = *pp;
	if (!p)
		return;
	for (size_t i = 0; i < p->nr_rules; i++) {
		struct rule *r = &p->rule[i];
		strv_release(&r->cmd);
		strv_release(&r->lifts);
		strv_release(&r->url);
		strv_release(&r->method);
		strv_release(&r->path);
		strv_release(&r->host);
		strv_release(&r->tool);
		strv_release(&r->agent);
		strv_release(&r->box);
		filter_free(&r->match);
	}
	free(p->rule);
	free(p->file);
	arena_release(p->arena);
	free(p->arena);
	free(p);
	*pp = NULL;
}
