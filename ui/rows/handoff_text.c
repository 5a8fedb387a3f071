#include "phrase/describe.h"
#include "ui/rows/handoff.h"

#include <inttypes.h>
#include <string.h>

#include "base/text/sanitize.h"
#include "ui/term/fmt.h"

static void handoff_text_put_safe(struct buf *out, const char *text)
{
	size_t n = strcspn(text, "\n");
	sanitize_line(text, n, 0, out);
	if (text[n])
		buf_puts(out, " ..");
}

/* A field of bytes may be {"b64":..}. */
static const char *handoff_text_bytes_of(const json_t *o, const char *name)
{
	const json_t *v = json_object_get(o, name);
	return json_is_string(v) ? json_string_value(v) : v ? "(not text)" : "";
}

static void handoff_text_head(struct buf *out, const char *title, size_t nr, const char *none)
{
	buf_printf(out, "\n%s", title);
	if (nr > 0)
		buf_printf(out, " (%zu)\n", nr);
	else
		buf_printf(out, ": %s\n", none);
}

/* "step 3 of 40, $0.41 of $1.00": the next operator sees the rest of the budget. */
static void text_used(const json_t *agent, struct arena *a, struct buf *out)
{
	const json_t *limits = json_object_get(agent, "limits");
	int64_t steps = json_int(limits, "steps", 0), uusd = json_int(limits, "uusd", 0);
	buf_printf(out, "step %" PRId64, json_int(agent, "turn", 0));
	if (steps)
		buf_printf(out, " of %" PRId64, steps);
	buf_printf(
		out, ", %s",
		fmt_cost(a, json_int(agent, "uusd", 0), json_flag(agent, "cost_unknown", false)));
	if (uusd)
		buf_printf(out, " of %s", fmt_money(a, uusd));
}

static void text_agents(const json_t *h, struct arena *a, struct buf *out)
{
	const json_t *list = json_object_get(h, "agents");
	handoff_text_head(out, "GOAL", json_array_size(list), "see the script; it has no agents");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *o = json_array_get(list, i);
		buf_puts(out, "  ");
		handoff_text_put_safe(out, json_str(o, "name", ""));
		buf_printf(out, ", %s, ", json_str(o, "state", ""));
		text_used(o, a, out);
		buf_puts(out, ": ");
		handoff_text_put_safe(out, json_str(o, "task", ""));
		buf_putc(out, '\n');
	}
}

static int64_t now_of(const json_t *h)
{
	return json_int(h, "begun_us", 0) + json_int(h, "dur_us", 0);
}

static void text_waiting(const json_t *o, int64_t now, struct arena *a, struct buf *out)
{
	buf_printf(out, "  #%" PRId64 " ", json_int(o, "event", 0));
	handoff_text_put_safe(out, json_str(o, "agent", ""));
	buf_printf(out, " %s: ", json_str(o, "kind", ""));
	handoff_text_put_safe(out, handoff_text_bytes_of(o, "what"));
	buf_printf(out, "\n      why: ");
	handoff_text_put_safe(out, json_str(o, "why", ""));
	buf_printf(out, ", for %s", fmt_age(a, now - json_int(o, "since_us", now)));
	if (json_int(o, "until_us", 0))
		buf_printf(out, ", denied in %s without an answer",
			   fmt_age(a, json_int(o, "until_us", 0) - now));
	if (*json_str(o, "note", "")) {
		buf_puts(out, "\n      note by ");
		handoff_text_put_safe(out, json_str(o, "note_by", ""));
		buf_puts(out, ": ");
		handoff_text_put_safe(out, json_str(o, "note", ""));
	}
	buf_putc(out, '\n');
}

/* Actions that need a decision, then actions that only a pause delays. */
static void text_waits(const json_t *h, struct arena *a, struct buf *out)
{
	const json_t *list = json_object_get(h, "waits");
	size_t nr = json_array_size(list), paused = 0;
	for (size_t i = 0; i < nr; i++)
		paused += json_flag(json_array_get(list, i), "paused", false);
	handoff_text_head(out, "PENDING APPROVAL", nr - paused, "nothing");
	for (size_t i = 0; i < nr; i++)
		if (!json_flag(json_array_get(list, i), "paused", false))
			text_waiting(json_array_get(list, i), now_of(h), a, out);
	if (paused)
		handoff_text_head(out, "PAUSED ('sandglass continue' continues them)", paused, "");
	for (size_t i = 0; i < nr; i++)
		if (json_flag(json_array_get(list, i), "paused", false))
			text_waiting(json_array_get(list, i), now_of(h), a, out);
}

static void text_decisions(const json_t *h, struct arena *a, struct buf *out)
{
	const json_t *list = json_object_get(h, "decisions");
	handoff_text_head(out, "LAST DECISIONS", json_array_size(list), "none");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *o = json_array_get(list, i);
		buf_printf(out, "  #%" PRId64 " %s by ", json_int(o, "action", 0),
			   describe_decision(json_str(o, "decision", "")));
		handoff_text_put_safe(out, json_str(o, "who", ""));
		if (json_int(o, "ts_us", 0))
			buf_printf(out, " %s ago", fmt_age(a, now_of(h) - json_int(o, "ts_us", 0)));
		buf_puts(out, ": ");
		handoff_text_put_safe(out, handoff_text_bytes_of(o, "what"));
		if (*json_str(o, "note", "")) {
			buf_puts(out, "\n      note: ");
			handoff_text_put_safe(out, json_str(o, "note", ""));
		}
		buf_putc(out, '\n');
	}
}

static void text_holds(const json_t *h, struct buf *out)
{
	const json_t *list = json_object_get(h, "waivers");
	buf_puts(out, "\nBREAKPOINT: ");
	handoff_text_put_safe(out, *json_str(h, "hold", "") ? json_str(h, "hold", "") : "none");
	buf_putc(out, '\n');
	handoff_text_head(out, "SESSION APPROVALS", json_array_size(list), "none");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *o = json_array_get(list, i);
		buf_printf(out, "  #%" PRId64 " %s ", json_int(o, "event", 0),
			   json_str(o, "kind", ""));
		handoff_text_put_safe(out, json_str(o, "pattern", ""));
		buf_puts(out, ", by ");
		handoff_text_put_safe(out, json_str(o, "who", ""));
		buf_putc(out, '\n');
	}
}

static void text_files(const json_t *box, struct buf *out)
{
	const json_t *files = json_object_get(box, "unmerged");
	int64_t more = json_int(box, "unmerged_files", 0) - (int64_t)json_array_size(files);
	for (size_t i = 0; i < json_array_size(files); i++) {
		const json_t *f = json_array_get(files, i);
		buf_printf(out, "      %s ", json_str(f, "op", ""));
		handoff_text_put_safe(out, handoff_text_bytes_of(f, "path"));
		buf_printf(out, "  %s\n", json_str(f, "lines", ""));
	}
	if (json_int(box, "merged", 0))
		buf_printf(out, "      left out of merge #%" PRId64 "\n",
			   json_int(box, "merged", 0));
	else if (more > 0)
		buf_printf(out, "      and %" PRId64 " more\n", more);
}

static void text_boxes(const json_t *h, struct buf *out)
{
	const json_t *list = json_object_get(h, "boxes");
	size_t changed = 0;
	for (size_t i = 0; i < json_array_size(list); i++)
		changed += json_int(json_array_get(list, i), "changed_files", 0) > 0;
	handoff_text_head(out, "SANDBOXES WITH CHANGES", changed, "none");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *o = json_array_get(list, i);
		int64_t n = json_int(o, "changed_files", 0),
			open = json_int(o, "unmerged_files", 0);
		if (n == 0)
			continue;
		buf_puts(out, "  ");
		handoff_text_put_safe(out, json_str(o, "name", ""));
		buf_printf(out, ", %s: %" PRId64 " %s changed, ", json_str(o, "state", ""), n,
			   n == 1 ? "file" : "files");
		if (open > 0)
			buf_printf(out, "%" PRId64 " not merged\n", open);
		else
			buf_puts(out,
				 json_int(o, "merged", 0) ? "all merged\n" : "nothing to merge\n");
		if (open > 0)
			text_files(o, out);
	}
}

static void text_money(const json_t *h, struct arena *a, struct buf *out)
{
	const json_t *spent = json_object_get(h, "spent"), *limits = json_object_get(h, "limits");
	int64_t uusd = json_int(spent, "uusd", 0), most = json_int(limits, "uusd", 0);
	int64_t tokens = json_int(spent, "tokens", 0), most_tokens = json_int(limits, "tokens", 0);
	int64_t time = json_int(spent, "time_us", 0), most_time = json_int(limits, "time_us", 0);
	buf_printf(out, "\nSPENT: %s", fmt_cost(a, uusd, json_flag(spent, "cost_unknown", false)));
	if (most)
		buf_printf(out, " of %s, %s left", fmt_money(a, most),
			   fmt_money(a, most > uusd ? most - uusd : 0));
	buf_printf(out, "; %s tokens", fmt_count(a, tokens));
	if (most_tokens)
		buf_printf(out, " of %s", fmt_count(a, most_tokens));
	buf_printf(out, "; %s", fmt_age(a, time));
	if (most_time)
		buf_printf(out, " of %s", fmt_age(a, most_time));
	buf_putc(out, '\n');
}

void handoff_text(const json_t *h, struct buf *out)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	buf_printf(out, "HANDOFF of %s ", json_str(h, "session", ""));
	handoff_text_put_safe(out, json_str(h, "name", ""));
	buf_printf(out, ": %s, for %s", json_str(h, "state", ""),
		   fmt_age(&a, json_int(h, "dur_us", 0)));
	if (*json_str(h, "script", "")) {
		buf_puts(out, ", script ");
		handoff_text_put_safe(out, json_str(h, "script", ""));
	}
	buf_putc(out, '\n');
	text_waits(h, &a, out);
	text_agents(h, &a, out);
	text_decisions(h, &a, out);
	text_holds(h, out);
	text_boxes(h, out);
	text_money(h, &a, out);
	if (*json_str(h, "warning", "")) {
		buf_puts(out, "\nWARNING: ");
		handoff_text_put_safe(out, json_str(h, "warning", ""));
		buf_putc(out, '\n');
	}
	if (!json_flag(h, "over", false))
		buf_printf(out, "\nTake over: sandglass attach %s\n", json_str(h, "session", ""));
}
