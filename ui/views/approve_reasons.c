/* Part of approve.c: why an action requires approval. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ui/views/approve_priv.h"
#include "ui/views/approve.h"

/* --- why -------------------------------------------------------------------------------------- */

static const char *approve_place(const json_t *rule, struct arena *a)
{
	const char *file = json_str(rule, "file", "");
	return *file ? arena_printf(a, "%s:%" PRId64, file, json_int(rule, "line", 0)) : "";
}

static enum role verdict_role(const char *v)
{
	return strcmp(v, "deny") == 0 ? ROLE_ERROR : strcmp(v, "ask") == 0 ? ROLE_HELD : ROLE_OK;
}

static void one_rule(struct text *t, const json_t *rule, bool stricter_won)
{
	const char *verdict = json_str(rule, "verdict", "?"), *name = json_str(rule, "name", "");
	const char *why = json_str(rule, "why", ""), *text = json_str(rule, "text", ""),
		   *note = json_str(rule, "note", "");
	const char *said = *why ? why : text, *matched = *why ? text : "";
	text_putf(t, verdict_role(verdict), "%-5s %-14s %s  %s%s%s%s%s %s%s", verdict, name,
		  approve_place(rule, t->arena), *said ? "\"" : "", said, *said ? "\"" : "",
		  *matched ? "  matched " : "", matched, note,
		  json_flag(rule, "lifted", false) ? " (answered by an added rule)"
		  : stricter_won		   ? " (overruled)"
						   : "");
}

/* No rule matched: the default of the sandbox, with the file that sets it. */
static void default_reason(struct text *t, const json_t *judged, const char *verdict, bool leaves)
{
	const char *file = json_str(judged, "default_file", "");
	bool boxed = strcmp(json_str(judged, "default", ""), "boxed") == 0;
	if (boxed && !leaves)
		text_putf(t, ROLE_DIM,
			  "allow no rule matched; the action stays in the sandbox    (overruled)");
	else
		text_putf(t, ROLE_HELD, "%-5s no rule matched; %s%s%s", verdict,
			  boxed ? "leaving the sandbox requires approval"
				: "the default requires approval",
			  *file ? ", " : "", file);
}

void approve_reasons(struct text *t, const json_t *held, const json_t *judged,
		     const struct approval_info *info)
{
	const json_t *rules = json_object_get(judged, "rules"),
		     *why = json_object_get(held, "reasons");
	const char *verdict = json_str(judged, "verdict", "ask"),
		   *filter = json_str(held, "filter", "");
	if (info->edited)
		text_puts(
			t, ROLE_HELD,
			"edited  y approves these bytes; policy checks them again first, and a denial holds");
	for (size_t i = 0; i < json_array_size(why); i++) {
		const char *w = json_string_value(json_array_get(why, i));
		if (w && strcmp(w, "ask") != 0)
			text_putf(
				t, ROLE_HELD, "%-5s %s%s%s", w,
				strcmp(w, "hold") == 0 ? "it matches the breakpoint"
				: strcmp(w, "budget") == 0
					? "a budget is used up: $ extends it, y approves this action only"
				: strcmp(w, "price") == 0
					? "no price is known for this model: a budget in dollars can't limit it"
					: "paused by a user",
				strcmp(w, "hold") == 0 && *filter ? ": " : "",
				strcmp(w, "hold") == 0 ? filter : "");
	}
	for (size_t i = 0; i < json_array_size(rules); i++) {
		const json_t *rule = json_array_get(rules, i);
		one_rule(t, rule, strcmp(json_str(rule, "verdict", ""), verdict) != 0);
	}
	if (json_flag(judged, "by_default", false) || json_array_size(rules) == 0)
		default_reason(t, judged, verdict, *info->risk_why != 0);
	if (json_str(held, "type", NULL))
		text_putf(t, ROLE_HELD, "%-5s an approval needs the name typed: %s", "type",
			  json_str(held, "type", ""));
	if (json_flag(judged, "opaque", false))
		text_putf(t, ROLE_WARN, "the command can't be parsed: %s",
			  json_str(judged, "opaque_why", ""));
	if (info->note)
		text_putf(t, ROLE_NAME, "note  %s: %s", info->note_by, info->note);
}
