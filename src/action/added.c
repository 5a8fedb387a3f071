#include "action/added.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "action/gate_priv.h"
#include "action/policy_priv.h"

/* --- which rule ------------------------------------------------------------------------------- */

/* The asks of this action that a rule can answer. */
static json_t *lifts_of(const struct judgement *j)
{
	json_t *names = json_array();
	for (size_t i = 0; i < j->nr_matches; i++) {
		const struct match *m = &j->match[i];
		enum verdict one;
		bool known = false;
		if (m->rule->verdict != VERDICT_ASK || m->policy->firm || !match_counts(m, &one) ||
		    !(m->parts & j->not_allowed))
			continue;
		for (size_t k = 0; k < json_array_size(names); k++)
			known |=
				!strcmp(json_string_value(json_array_get(names, k)), m->rule->name);
		if (!known)
			json_array_append_new(names, json_string(m->rule->name));
	}
	return names;
}

/* The verdict about @a with @rule in the policy. */
static int added_then(struct action *a, const json_t *rule, json_t *out, struct err *err)
{
	struct gate *g = a->gate;
	struct policy *p;
	struct policy_subject subject;
	struct judgement j;
	CLEANUP(json_release) json_t *doc = json_object();
	json_t *named = json_copy((json_t *)(uintptr_t)rule), *rules = json_array();
	json_put_str(named, "name", "the new rule");
	json_put_int(named, "line", 1);
	json_array_append_new(rules, named);
	json_put_str(doc, "file", ADDED_FILE);
	json_put_flag(doc, "added", true);
	json_put(doc, "rules", rules);
	if (policy_from_json(&p, doc, err) < 0)
		return -1;
	struct policy **all = mem_calloc(g->nr_policies + 1, sizeof(struct policy *));
	if (g->nr_policies)
		memcpy(all, g->policy, g->nr_policies * sizeof(struct policy *));
	all[g->nr_policies] = p;
	action_subject(a, &subject);
	policy_judge(all, g->nr_policies + 1, NULL, 0, a->spec.agent, &subject, &j);
	const struct match *m = judgement_winner(&j);
	json_put_str(out, "then", verdict_name(j.verdict));
	json_put_str(out, "by", m ? m->rule->name : j.opaque ? j.opaque_why : "the default");
	enum verdict wanted = p->rule[0].verdict;
	json_put(out, "others",
		 others_json(g, a, wanted, all, g->nr_policies + 1, g->waiver, g->nr_waivers));
	judgement_release(&j);
	policy_free(&p);
	free(all);
	return 0;
}

json_t *gate_rule(struct gate *g, uint64_t id, enum verdict verdict, const char *pattern,
		  struct err *err)
{
	json_t *out = gate_waiver_try(g, id, pattern, err);
	if (!out)
		return NULL;
	struct action *a = gate_action(g, id);
	json_t *rule = json_object();
	json_put_str(rule, "verdict", verdict_name(verdict));
	json_put_str(rule, "kind", action_kind_name(a->spec.kind));
	json_put_str(rule, waiver_key(a->spec.kind), pattern);
	if (verdict == VERDICT_ALLOW) {
		json_t *lifts = lifts_of(&a->judgement);
		if (json_array_size(lifts))
			json_object_set(rule, "lifts", lifts);
		json_decref(lifts);
	}
	json_put(out, "rule", rule);
	if (added_then(a, rule, out, err) == 0)
		return out;
	json_decref(out);
	return NULL;
}

/* --- its text --------------------------------------------------------------------------------- */

static void added_put_string(struct buf *out, const char *s)
{
	buf_putc(out, '"');
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;
		if (c == '"' || c == '\\')
			buf_printf(out, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			buf_printf(out, "\\%03u", c);
		else
			buf_putc(out, (char)c);
	}
	buf_putc(out, '"');
}

static const char *const added_keys[] = { "cmd", "path", "host", "tool" };

static const char *pattern_of(const json_t *rule)
{
	for (size_t i = 0; i < ARRAY_LEN(added_keys); i++)
		if (json_str(rule, added_keys[i], NULL))
			return json_str(rule, added_keys[i], NULL);
	return "";
}

char *added_name(const json_t *rule, const char *file)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT, quoted = BUF_INIT;
	bool gap = true;
	buf_puts(&b, !strcmp(json_str(rule, "verdict", ""), "deny") ? "added-no" : "added");
	for (const char *p = pattern_of(rule); *p && b.len < 28; p++) {
		bool good = isalnum((unsigned char)*p);
		if (good && gap)
			buf_putc(&b, '-');
		if (good)
			buf_putc(&b, (char)tolower((unsigned char)*p));
		gap = !good;
	}
	size_t len = b.len;
	for (unsigned n = 2;; n++) {
		buf_reset(&quoted);
		added_put_string(&quoted, buf_cstr(&b));
		if (!file || !strstr(file, buf_cstr(&quoted)))
			return mem_strdup(buf_cstr(&b));
		b.len = len;
		buf_printf(&b, "-%u", n);
	}
}

static void put_lifts(struct buf *out, const json_t *lifts)
{
	size_t nr = json_array_size(lifts);
	if (!nr)
		return;
	buf_puts(out, nr > 1 ? ", lifts = { " : ", lifts = ");
	for (size_t i = 0; i < nr; i++) {
		if (i)
			buf_puts(out, ", ");
		added_put_string(out, json_string_value(json_array_get(lifts, i)));
	}
	if (nr > 1)
		buf_puts(out, " }");
}

void added_text(const json_t *rule, const char *name, const char *why, struct buf *out)
{
	buf_printf(out, "p.%s ", json_str(rule, "verdict", "deny"));
	added_put_string(out, name);
	buf_puts(out, " { kind = ");
	added_put_string(out, json_str(rule, "kind", ""));
	for (size_t i = 0; i < ARRAY_LEN(added_keys); i++) {
		if (!json_str(rule, added_keys[i], NULL))
			continue;
		buf_printf(out, ", %s = ", added_keys[i]);
		added_put_string(out, json_str(rule, added_keys[i], ""));
	}
	put_lifts(out, json_object_get(rule, "lifts"));
	if (why && *why) {
		buf_puts(out, ", why = ");
		added_put_string(out, why);
	}
	buf_puts(out, " }");
}

/* --- its place -------------------------------------------------------------------------------- */

static const char added_head[] =
	"-- Rules that people added from held actions. Edit it as you like; then: sandglass trust\n"
	"local p = require \"sandglass.policy\"\n"
	"return p.rules {\n";

/* The last line of @text[0..len) that says something; *from, *to without blanks at its ends. False:
 * there is none. */
static bool added_last_line(const char *text, size_t len, size_t *from, size_t *to)
{
	while (len > 0) {
		size_t start = len;
		while (start > 0 && text[start - 1] != '\n')
			start--;
		size_t a = start, b = len;
		while (a < b && isspace((unsigned char)text[a]))
			a++;
		while (b > a && isspace((unsigned char)text[b - 1]))
			b--;
		if (b > a && !(b - a >= 2 && text[a] == '-' && text[a + 1] == '-')) {
			*from = a;
			*to = b;
			return true;
		}
		len = start > 0 ? start - 1 : 0;
	}
	return false;
}

static void put_comment(struct buf *out, const char *comment)
{
	buf_puts(out, "  -- ");
	for (; *comment; comment++)
		if ((unsigned char)*comment >= 0x20 && *comment != 0x7f)
			buf_putc(out, *comment);
	buf_putc(out, '\n');
}

int added_insert(const char *file, const char *comment, const char *rule, struct buf *out,
		 int *line, struct err *err)
{
	static const char what[] =
		"the end of '" ADDED_FILE "' has changed, so no rule can be added to it";
	size_t from, to, end, before;
	struct buf text = BUF_INIT;
	bool found;
	if (file && *file)
		buf_puts(&text, file);
	else
		buf_printf(&text, "%s}\n", added_head);
	/* the last "}" alone on its line, and before it a line that ends with a comma or opens the
	 * list */
	found = added_last_line(text.data, text.len, &from, &to) && to - from == 1 &&
		text.data[from] == '}';
	end = found ? from : 0;
	while (end > 0 && text.data[end - 1] != '\n')
		end--;
	found = found && added_last_line(text.data, end, &before, &to) &&
		strchr(",;{", text.data[to - 1]);
	if (!found || memmem(text.data, text.len, "--[", 3)) {
		buf_release(&text);
		return err_set(err, ERR_INVALID, "%s; add this rule yourself: %s", what, rule);
	}
	buf_append(out, text.data, end);
	put_comment(out, comment);
	*line = 1;
	for (size_t i = 0; i < out->len; i++)
		*line += out->data[i] == '\n';
	buf_printf(out, "  %s,\n", rule);
	buf_append(out, text.data + end, text.len - end);
	buf_release(&text);
	return 0;
}
