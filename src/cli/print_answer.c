/* Printing a supervisor's answer, as text or JSON. */
#include <string.h>

#include "base/mem.h"
#include "cli/lib/cmd_priv.h"
#include "cli/result_text.h"
#include "phrase/describe.h"

static void print_value(struct cmd_ctx *ctx, const char *key, const json_t *v)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT, text = BUF_INIT;
	if (json_is_null(v) || json_is_false(v))
		return;
	if (!json_get_bytes(v, &text) && !json_is_true(v))
		json_dump_buf(v, &text);
	if (!text.len && !json_is_true(v))
		buf_puts(&text, "none");
	cmd_safe(&b, buf_cstr(&text), text.len, false);
	if (!strcmp(key, "hold"))
		key = "breakpoint"; /* the field keeps its name */
	fprintf(ctx->out, json_is_true(v) ? "%s%s\n" : "%s: %s\n", key, buf_cstr(&b));
}

static void print_held(struct cmd_ctx *ctx, const json_t *row)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT, safe = BUF_INIT;
	buf_printf(&b, "HELD #%lld %s %s: ", (long long)json_int(row, "action", 0),
		   json_str(row, "agent_name", ""), json_str(row, "kind", ""));
	describe_action(row, &b);
	if (*json_str(row, "rule", ""))
		buf_printf(&b, " (by %s)", json_str(row, "rule", ""));
	if (*json_str(row, "risk", ""))
		buf_printf(&b, ", risk %s", json_str(row, "risk", ""));
	cmd_safe(&safe, buf_cstr(&b), b.len, true);
	/* further lines of a command are indented: none of them starts like a row */
	for (const char *s = buf_cstr(&safe); *s; s += *s == '\n') {
		size_t n = strcspn(s, "\n");
		fprintf(ctx->out, "%s%.*s\n", s == buf_cstr(&safe) ? "" : "    ", (int)n, s);
		s += n;
	}
}

/* A question of a script, whatever bytes it is made of. */
static void print_question(struct cmd_ctx *ctx, const json_t *row)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT, one = BUF_INIT, safe = BUF_INIT;
	const json_t *choices = json_object_get(row, "choices"),
		     *text = json_object_get(row, "text");
	buf_printf(&b, "question #%lld: ", (long long)json_int(row, "ask", 0));
	if (json_get_bytes(text, &one))
		buf_append(&b, one.data, one.len);
	for (size_t i = 0; i < json_array_size(choices); i++) {
		const json_t *c = json_array_get(choices, i);
		buf_reset(&one);
		if (json_get_bytes(json_is_object(c) && json_object_get(c, "text")
					   ? json_object_get(c, "text")
					   : c,
				   &one)) {
			buf_printf(&b, "%s%zu ", i ? ", " : "  (", i + 1);
			buf_append(&b, one.data, one.len);
		}
	}
	buf_puts(&b, json_array_size(choices) ? ")" : "");
	cmd_safe(&safe, buf_cstr(&b), b.len, false);
	fprintf(ctx->out, "%s\n", buf_cstr(&safe));
}

static void print_answer_row(struct cmd_ctx *ctx, const json_t *result, const char *key,
			     const json_t *row)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT, safe = BUF_INIT;
	bool state = !strcmp(ctx->command->name, "state") && describe_state(result, key, row, &b);
	if (state && b.len) {
		cmd_safe(&safe, b.data, b.len, false);
		fprintf(ctx->out, "%s\n", buf_cstr(&safe));
	}
	if (state)
		return;
	if (!strcmp(key, "held"))
		print_held(ctx, row);
	else if (!strcmp(key, "asks"))
		print_question(ctx, row);
	else
		print_value(ctx, key, row);
}

static void print_result(struct cmd_ctx *ctx, const json_t *result)
{
	const char *key;
	json_t *v;
	size_t i;
	if (!strcmp(ctx->command->name, "dry-run")) {
		CLEANUP(buf_release) struct buf text = BUF_INIT;
		describe_preview_long(result, &text);
		cmd_print_safe(ctx->out, buf_cstr(&text), text.len, true);
		return;
	}
	CLEANUP(buf_release) struct buf words = BUF_INIT;
	if (result_text_of(ctx, result, &words)) {
		buf_putc(&words, '\n');
		cmd_print_safe(ctx->out, buf_cstr(&words), words.len, true);
		return;
	}
	if (!json_is_object(result)) {
		if (!json_is_null(result))
			print_value(ctx, ctx->command->name, result);
		return;
	}
	json_object_foreach((json_t *)(uintptr_t)result, key, v)
	{
		if (!json_is_array(v)) {
			print_value(ctx, key, v);
			continue;
		}
		json_t *row;
		json_array_foreach(v, i, row) print_answer_row(ctx, result, key, row);
	}
}

void cmd_print_answer(struct cmd_ctx *ctx, const char *session, const json_t *result)
{
	if (ctx->json) {
		json_t *o = json_object();
		json_put_str(o, "session", session);
		json_put(o, "result", json_incref((json_t *)(uintptr_t)result));
		cmd_json(ctx, o);
	} else if (!ctx->quiet) {
		print_result(ctx, result);
	}
}
