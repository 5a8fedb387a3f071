#include "cli/result_text.h"

#include <inttypes.h>
#include <string.h>

#include "cli/lib/cmd_priv.h"
#include "sessions/merge_several.h"
#include "sessions/merge_text.h"
#include "base/clock.h"
#include "base/mem.h"

static int64_t result_text_number(const json_t *o, const char *key)
{
	return json_int(o, key, 0);
}

static void result_text_count(struct buf *out, int64_t nr, const char *what)
{
	buf_printf(out, "%" PRId64 " %s%s", nr, what, nr == 1 ? "" : "s");
}

/* Of "138", "#138" and "s-7k2m9q#138": 138. */
static const char *result_text_digits(struct cmd_ctx *ctx)
{
	const char *word = cmd_word(ctx, 0), *hash = word ? strrchr(word, '#') : NULL;
	return hash ? hash + 1 : word ? word : "?";
}

static void result_text_paths(const json_t *list, const char *before, struct buf *out)
{
	size_t i;
	json_t *v;
	json_array_foreach(list, i, v)
	{
		CLEANUP(buf_release) struct buf path = BUF_INIT;
		json_get_bytes(v, &path);
		buf_puts(out, i ? ", " : before);
		buf_append(out, buf_cstr(&path), path.len);
	}
}

static void result_text_several(const json_t *result, struct buf *out)
{
	const json_t *row;
	size_t i;
	json_array_foreach(json_object_get(result, "actions"), i, row)
		buf_printf(out, "%s%s#%lld", i ? ", " : json_str(result, "decision", ""),
			   i ? "" : " ", (long long)json_integer_value(row));
	json_array_foreach(json_object_get(result, "failed"), i, row)
		buf_printf(out, "%s#%lld: %s", out->len ? "\n" : "",
			   (long long)json_int(row, "action", 0), json_str(row, "why", ""));
}

static void result_text_decision(struct cmd_ctx *ctx, const json_t *result, struct buf *out)
{
	const char *how = json_str(result, "decision", "");
	size_t i;
	json_t *other;
	const json_t *several = json_object_get(result, "actions");
	if (several) {
		result_text_several(result, out);
		return;
	}
	if (!strcmp(how, "later"))
		buf_printf(out, "#%s is left for later", result_text_digits(ctx));
	else if (!strcmp(how, "edited"))
		buf_printf(out, "approved #%s as edited", result_text_digits(ctx));
	else
		buf_printf(out, "%s #%s", how, result_text_digits(ctx));
	if (!strcmp(how, "promoted")) {
		buf_puts(out, ": ");
		result_text_count(out, result_text_number(result, "changes"), "change");
		buf_printf(out, " of dry run #%" PRId64, result_text_number(result, "preview"));
	}
	json_array_foreach(json_object_get(result, "others"), i, other) buf_printf(
		out, "%s#%lld", i ? ", " : ", with it ", (long long)json_integer_value(other));
	if (*json_str(result, "text", ""))
		buf_printf(out, "; %s", json_str(result, "text", ""));
}

static void result_text_interrupted(const json_t *result, struct buf *out)
{
	if (json_object_get(result, "interrupted"))
		buf_putc(out, '\n');
	merge_interrupted_text(result, NULL, out);
}

static void result_text_merged(struct cmd_ctx *ctx, const json_t *result, struct buf *out)
{
	bool dry = cmd_has(ctx, "dry-run");
	if (json_object_get(result, "boxes")) {
		merge_several_text(result, dry, out);
		result_text_interrupted(result, out);
		return;
	}
	merge_text(result, json_str(result, "name", NULL), dry, out);
	if (dry && json_int(json_object_get(result, "counts"), "conflict", 0)) {
		buf_puts(out, "\n  conflict:");
		merge_conflicts(result, out);
	}
	buf_printf(out, " (#%" PRId64 ")", result_text_number(result, "event"));
	result_text_interrupted(result, out);
}

static void result_text_unmerged(const json_t *result, struct buf *out)
{
	size_t i;
	json_t *t;
	json_array_foreach(json_object_get(result, "merges"), i, t)
	{
		buf_puts(out, i ? "\n" : "");
		result_text_unmerged(t, out);
	}
	if (i)
		return;
	merge_undone_text(result, out);
}

/* "$1.50, 20m, 38 actions". */
static void budget_left(const json_t *left, struct buf *out)
{
	static const char *const counted[][2] = { { "tokens", "token" },
						  { "steps", "step" },
						  { "actions", "action" } };
	const char *between = "";
	if (json_object_get(left, "uusd")) {
		buf_printf(out, "$%.2f", (double)result_text_number(left, "uusd") / 1e6);
		between = ", ";
	}
	if (json_object_get(left, "time_us")) {
		buf_puts(out, between);
		clock_span(result_text_number(left, "time_us"), out);
		between = ", ";
	}
	for (size_t i = 0; i < ARRAY_LEN(counted); i++)
		if (json_object_get(left, counted[i][0])) {
			buf_puts(out, between);
			result_text_count(out, result_text_number(left, counted[i][0]),
					  counted[i][1]);
			between = ", ";
		}
}

static void result_text_budget(const json_t *result, struct buf *out)
{
	buf_printf(out, "left of budget #%" PRId64 ": ", result_text_number(result, "budget"));
	budget_left(json_object_get(result, "left"), out);
}

static void result_text_hold(const json_t *result, struct buf *out)
{
	CLEANUP(buf_release) struct buf filter = BUF_INIT;
	json_get_bytes(json_object_get(result, "hold"), &filter);
	if (filter.len)
		buf_printf(out, "breakpoint: %s", buf_cstr(&filter));
	else
		buf_puts(out, "no breakpoint");
}

/* Files as they were. */
static void result_text_back(const json_t *result, struct buf *out)
{
	if (json_object_get(result, "to"))
		buf_printf(out, "files are as they were at #%" PRId64 ": ",
			   result_text_number(result, "to"));
	else
		buf_printf(out, "undid #%" PRId64 ": ", result_text_number(result, "of"));
	result_text_count(out, result_text_number(result, "changes"), "change");
	result_text_paths(json_object_get(result, "paths"), ": ", out);
	result_text_paths(json_object_get(result, "missing"),
			  "; not in the recording, so not restored: ", out);
	buf_printf(out, " (#%" PRId64 ")", result_text_number(result, "event"));
}

/* A second run's changes. */
static void result_text_promoted(const json_t *result, struct buf *out)
{
	const char *box = json_str(result, "box", "");
	buf_printf(out, "changes of #%" PRId64, result_text_number(result, "again"));
	if (!result_text_number(result, "changes")) {
		buf_printf(out, ": already in sandbox %s", box);
		return;
	}
	buf_printf(out, " applied to sandbox %s: ", box);
	result_text_count(out, result_text_number(result, "changes"), "change");
	result_text_paths(json_object_get(result, "paths"), ": ", out);
	result_text_paths(json_object_get(result, "missing"),
			  "; not in the recording, so not applied: ", out);
	buf_printf(out, " (#%" PRId64 ")", result_text_number(result, "event"));
}

bool result_text_of(struct cmd_ctx *ctx, const json_t *result, struct buf *out)
{
	const char *name = ctx->command->name;
	if (json_object_get(result, "decision"))
		result_text_decision(ctx, result, out);
	else if (!strcmp(name, "mark") && result_text_number(result, "event"))
		buf_printf(out, "bookmark set at #%s (#%" PRId64 ")", result_text_digits(ctx),
			   result_text_number(result, "event"));
	else if (!strcmp(name, "review") && result_text_number(result, "event"))
		buf_printf(out, "recorded as #%" PRId64 "%s", result_text_number(result, "event"),
			   json_flag(result, "told", false) ? "; its agent is notified" : "");
	else if (!strcmp(name, "merge") && (json_array_size(json_object_get(result, "targets")) ||
					    json_object_get(result, "boxes")))
		result_text_merged(ctx, result, out);
	else if ((!strcmp(name, "rollback") || !strcmp(name, "undo")) &&
		 json_object_get(result, "changes"))
		result_text_back(result, out);
	else if (!strcmp(name, "apply") && json_object_get(result, "again"))
		result_text_promoted(result, out);
	else if (!strcmp(name, "undo") && json_object_get(result, "text"))
		buf_puts(out, json_str(result, "text", ""));
	else if (!strcmp(name, "undo") && json_object_get(result, "merge"))
		result_text_unmerged(result, out);
	else if (!strcmp(name, "budget") && json_object_get(result, "left"))
		result_text_budget(result, out);
	else if (!strcmp(name, "hold"))
		result_text_hold(result, out);
	else
		return false;
	return true;
}
