/* What the proxy itself says in a provider's words: the end of a turn that it cut off, and errors. */
#include <string.h>

#include "base/mem.h"
#include "proxy/speak.h"

static void event(struct buf *out, json_t *e)
{
	const char *type = json_str(e, "type", NULL);
	if (type)
		buf_printf(out, "event: %s\n", type);
	buf_puts(out, "data: ");
	json_dump_buf(e, out);
	buf_puts(out, "\n\n");
	json_decref(e);
}

static json_t *pack(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	json_error_t why;
	json_t *j = json_vpack_ex(&why, 0, fmt, ap);
	va_end(ap);
	assert(j);
	return j;
}

static void anthropic(bool stream, bool begun, int items, const char *model, const char *text, struct buf *out)
{
	if (!stream) {
		json_t *m = pack("{s:s,s:s,s:s,s:s,s:[{s:s,s:s}],s:s,s:n,s:{s:i,s:i}}", "id", "msg_sandglass", "type", "message", "role",
				 "assistant", "model", model, "content", "type", "text", "text", text, "stop_reason", "end_turn",
				 "stop_sequence", "usage", "input_tokens", 0, "output_tokens", 0);
		json_dump_buf(m, out);
		json_decref(m);
		return;
	}
	if (!begun)
		event(out, pack("{s:s,s:{s:s,s:s,s:s,s:s,s:[],s:n,s:n,s:{s:i,s:i}}}", "type", "message_start", "message", "id",
				"msg_sandglass", "type", "message", "role", "assistant", "model", model, "content", "stop_reason",
				"stop_sequence", "usage", "input_tokens", 0, "output_tokens", 0));
	event(out, pack("{s:s,s:i,s:{s:s,s:s}}", "type", "content_block_start", "index", items, "content_block", "type", "text", "text", ""));
	event(out, pack("{s:s,s:i,s:{s:s,s:s}}", "type", "content_block_delta", "index", items, "delta", "type", "text_delta", "text", text));
	event(out, pack("{s:s,s:i}", "type", "content_block_stop", "index", items));
	event(out, pack("{s:s,s:{s:s,s:n},s:{s:i}}", "type", "message_delta", "delta", "stop_reason", "end_turn", "stop_sequence", "usage",
			"output_tokens", 0));
	event(out, pack("{s:s}", "type", "message_stop"));
}

static void chat(bool stream, const char *model, const char *text, struct buf *out)
{
	if (!stream) {
		json_t *m = pack("{s:s,s:s,s:i,s:s,s:[{s:i,s:{s:s,s:s},s:s}],s:{s:i,s:i,s:i}}", "id", "chatcmpl-sandglass", "object",
				 "chat.completion", "created", 0, "model", model, "choices", "index", 0, "message", "role", "assistant",
				 "content", text, "finish_reason", "stop", "usage", "prompt_tokens", 0, "completion_tokens", 0,
				 "total_tokens", 0);
		json_dump_buf(m, out);
		json_decref(m);
		return;
	}
	event(out, pack("{s:s,s:s,s:i,s:s,s:[{s:i,s:{s:s,s:s},s:n}]}", "id", "chatcmpl-sandglass", "object", "chat.completion.chunk",
			"created", 0, "model", model, "choices", "index", 0, "delta", "role", "assistant", "content", text, "finish_reason"));
	event(out, pack("{s:s,s:s,s:i,s:s,s:[{s:i,s:{},s:s}]}", "id", "chatcmpl-sandglass", "object", "chat.completion.chunk", "created",
			0, "model", model, "choices", "index", 0, "delta", "finish_reason", "stop"));
	buf_puts(out, "data: [DONE]\n\n");
}

static json_t *item(const char *status, const char *text)
{
	return pack("{s:s,s:s,s:s,s:s,s:[{s:s,s:s,s:[]}]}", "type", "message", "id", "msg_sandglass", "status", status, "role", "assistant",
		    "content", "type", "output_text", "text", text, "annotations");
}

static json_t *response(const char *model, const char *status, json_t *output)
{
	return pack("{s:s,s:s,s:i,s:s,s:s,s:o,s:{s:i,s:i,s:i}}", "id", "resp_sandglass", "object", "response", "created_at", 0, "status",
		    status, "model", model, "output", output, "usage", "input_tokens", 0, "output_tokens", 0, "total_tokens", 0);
}

static void responses(bool stream, bool begun, int items, const char *model, const char *text, struct buf *out)
{
	json_t *list = json_array();
	json_array_append_new(list, item("completed", text));
	json_t *whole = response(model, "completed", list);
	if (!stream) {
		json_dump_buf(whole, out);
		json_decref(whole);
		return;
	}
	if (!begun)
		event(out, pack("{s:s,s:o}", "type", "response.created", "response", response(model, "in_progress", json_array())));
	event(out, pack("{s:s,s:i,s:o}", "type", "response.output_item.added", "output_index", items, "item", item("in_progress", "")));
	event(out, pack("{s:s,s:s,s:i,s:i,s:s}", "type", "response.output_text.delta", "item_id", "msg_sandglass", "output_index", items,
			"content_index", 0, "delta", text));
	event(out, pack("{s:s,s:i,s:o}", "type", "response.output_item.done", "output_index", items, "item", item("completed", text)));
	event(out, pack("{s:s,s:o}", "type", "response.completed", "response", whole));
}

static void gemini(bool stream, const char *text, struct buf *out)
{
	json_t *m = pack("{s:[{s:{s:s,s:[{s:s}]},s:s,s:i}]}", "candidates", "content", "role", "model", "parts", "text", text, "finishReason",
			 "STOP", "index", 0);
	if (stream) {
		event(out, m);
		return;
	}
	json_dump_buf(m, out);
	json_decref(m);
}

void speak_say(enum speak s, bool stream, bool begun, size_t items, const char *model, const char *text, struct buf *out)
{
	switch (s) {
	case SPEAK_ANTHROPIC:
		anthropic(stream, begun, (int)items, model, text, out);
		break;
	case SPEAK_CHAT:
		chat(stream, model, text, out);
		break;
	case SPEAK_RESPONSES:
		responses(stream, begun, (int)items, model, text, out);
		break;
	case SPEAK_GEMINI:
		gemini(stream, text, out);
		break;
	case SPEAK_NONE:
		break;
	}
}

void speak_error(const char *type, const char *text, struct buf *out)
{
	json_t *e = pack("{s:s,s:{s:s,s:s,s:s,s:i,s:s}}", "type", "error", "error", "type", type, "message", text, "reason", type, "code", 403,
			 "status", "PERMISSION_DENIED");
	json_dump_buf(e, out);
	json_decref(e);
}

void speak_stream_error(enum speak s, const char *text, struct buf *out)
{
	if (s == SPEAK_RESPONSES)
		event(out, pack("{s:s,s:{s:s,s:s,s:{s:s,s:s}}}", "type", "response.failed", "response", "id", "resp_sandglass", "status",
				"failed", "error", "code", "permission_error", "message", text));
	else
		event(out, pack("{s:s,s:{s:s,s:s}}", "type", "error", "error", "type", "permission_error", "message", text));
}
