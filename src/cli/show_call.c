/* A command or tool call for reading: its arguments, what the agent said, its result. */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "cli/lib/cmd_priv.h"
#include "cli/show.h"
#include "sessions/sessions.h"

enum { CALL_LINES = 20, CALL_BYTES = 256 << 10 };

static void show_call_lines(struct cmd_ctx *ctx, const char *text, size_t len)
{
	while (len) {
		const char *end = memchr(text, '\n', len);
		size_t n = end ? (size_t)(end - text) : len;
		fputs("  ", ctx->out);
		cmd_print_safe(ctx->out, text, n, false);
		fputc('\n', ctx->out);
		n += end != NULL;
		text += n;
		len -= n;
	}
}

static void show_call_value(struct cmd_ctx *ctx, const char *key, const json_t *v)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	if (!json_get_bytes(v, &text))
		json_dump_buf(v, &text);
	bool lines = memchr(text.data ? text.data : "", '\n', text.len) != NULL;
	fprintf(ctx->out, "%-9s ", key);
	if (lines) {
		fputc('\n', ctx->out);
		show_call_lines(ctx, text.data, text.len);
		return;
	}
	cmd_print_safe(ctx->out, buf_cstr(&text), text.len, false);
	fputc('\n', ctx->out);
}

bool show_call(struct cmd_ctx *ctx, const json_t *body)
{
	static const char *const own[] = { "box", "timeout_us", "env" }; /* shown elsewhere */
	const json_t *args = json_object_get(body, "args"), *said = json_object_get(body, "said");
	const char *key;
	json_t *v;
	const json_t *cmd = json_object_get(body, "cmd");
	if (!strcmp(json_str(body, "kind", ""), "model") ||
	    (!json_is_object(args) && !cmd && !json_object_get(body, "argv")))
		return false;
	const char *tool = json_object_get(body, "tool") ? "tool" : "name"; /* "name": tool.call */
	if (json_str(body, tool, NULL))
		show_call_value(ctx, "tool", json_object_get(body, tool));
	if (!json_is_object(args) && cmd)
		show_call_value(ctx, "cmd", cmd);
	else if (!json_is_object(args))
		show_call_value(ctx, "argv", json_object_get(body, "argv"));
	json_object_foreach((json_t *)(uintptr_t)args, key, v)
	{
		bool shown = true;
		for (size_t i = 0; i < ARRAY_LEN(own); i++)
			shown &= strcmp(key, own[i]) != 0;
		if (shown)
			show_call_value(ctx, key, v);
	}
	if (json_is_string(said))
		show_call_value(ctx, "said", said);
	return true;
}

/* Where the line after the first @lines ends. */
static size_t show_call_head(const char *text, size_t len, int lines)
{
	size_t at = 0;
	for (; lines > 0 && at < len; lines--) {
		const char *end = memchr(text + at, '\n', len - at);
		at = end ? (size_t)(end - text) + 1 : len;
	}
	return at;
}

static size_t show_call_tail(const char *text, size_t len, int lines)
{
	size_t at = len;
	for (; lines > 0 && at > 0; lines--)
		for (at--; at > 0 && text[at - 1] != '\n';)
			at--;
	return at;
}

void show_call_output(struct cmd_ctx *ctx, struct session *s, uint64_t action)
{
	static const char *const name[] = { NULL, "stdout", "stderr", "terminal" };
	for (int stream = 1; stream <= 3; stream++) {
		CLEANUP(buf_release) struct buf text = BUF_INIT;
		struct err none = ERR_INIT;
		uint64_t size = session_output_size(s, action, stream);
		if (!size || size > CALL_BYTES ||
		    session_output(s, action, stream, 0, (size_t)size, &text, &none) < 0)
			continue;
		size_t head = show_call_head(text.data, text.len, CALL_LINES),
		       tail = show_call_tail(text.data, text.len, CALL_LINES), left = 0;
		fprintf(ctx->out, "%s\n", name[stream]);
		show_call_lines(ctx, text.data, tail > head ? head : text.len);
		for (size_t i = head; i < tail; i++)
			left += text.data[i] == '\n';
		if (tail <= head)
			continue;
		fprintf(ctx->out, "  .. %zu more lines ..\n", left);
		show_call_lines(ctx, text.data + tail, text.len - tail);
	}
}

void show_call_result(struct cmd_ctx *ctx, struct session *s, uint64_t call)
{
	struct feed *feed;
	struct arena arena = ARENA_INIT;
	struct event ev;
	struct err none = ERR_INIT;
	bool found = false;
	if (feed_new(&feed, s, FEED_ALL, 0, &none) < 0)
		return;
	feed_seek(feed, call);
	while (!found && feed_next(feed, &ev, &arena, 0, &none) > 0) {
		found = ev.kind == EV_TOOL_END && ev.cause == call;
		CLEANUP(json_release)
		json_t *end = found && ev.body ? json_parse(ev.body, ev.len, "event", &none) : NULL;
		const json_t *text = json_object_get(end, "text");
		const char *label = json_flag(end, "ok", false) ? "result" : "error";
		if (end && text && !json_is_null(text))
			show_call_value(ctx, label, text);
		else if (end)
			fprintf(ctx->out, "%-9s no text\n", label);
		else if (found)
			fprintf(ctx->out, "%-9s <%s>\n", "result",
				ev.body ? "unreadable" : "redacted");
		arena_reset(&arena);
	}
	arena_release(&arena);
	feed_free(&feed);
}
