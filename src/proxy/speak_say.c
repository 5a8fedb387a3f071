/* The proxy's own messages in a provider's format: the end of a turn that it stopped, and
 * errors. */
#include <string.h>

#include "base/mem.h"
#include "proxy/speak.h"

static void speak_say_event(struct buf *out, json_t *e)
{
	const char *type = json_str(e, "type", NULL);
	if (type)
		buf_printf(out, "event: %s\n", type);
	buf_puts(out, "data: ");
	json_dump_buf(e, out);
	buf_puts(out, "\n\n");
	json_decref(e);
}

static json_t *speak_say_pack(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	json_error_t why;
	json_t *j = json_vpack_ex(&why, 0, fmt, ap);
	va_end(ap);
	assert(j);
	return j;
}

static void speak_say_anthropic(bool stream, bool begun, int items, const char *model,
				const char *text, struct buf *out)
{
	if (!stream) {
		json_t *m = speak_say_pack("{s:s,s:s,s:s,s:s,s:[{s:s,s:s}],s:s,s:n,s:{s:i,s:i}}",
					   "id", "msg_sandglass", "type", "message", "role",
					   "assistant", "model", model, "content", "type", "text",
					   "text", text, "stop_reason", "end_turn", "stop_sequence",
					   "usage", "input_tokens", 0, "output_tokens", 0);
		json_dump_buf(m, out);
		json_decref(m);
		return;
	}
	if (!begun)
		speak_say_event(out,
				speak_say_pack("{s:s,s:{s:s,s:s,s:s,s:s,s:[],s:n,s:n,s:{s:i,s:i}}}",
					       "type", "message_start", "message", "id",
					       "msg_sandglass", "type", "message", "role",
					       "assistant", "model", model, "content",
					       "stop_reason", "stop_sequence", "usage",
					       "input_tokens", 0, "output_tokens", 0));
	speak_say_event(out, speak_say_pack("{s:s,s:i,s:{s:s,s:s}}", "type", "content_block_start",
					    "index", items, "content_block", "type", "text", "text",
					    ""));
	speak_say_event(out, speak_say_pack("{s:s,s:i,s:{s:s,s:s}}", "type", "content_block_delta",
					    "index", items, "delta", "type", "text_delta", "text",
					    text));
	speak_say_event(out,
			speak_say_pack("{s:s,s:i}", "type", "content_block_stop", "index", items));
	speak_say_event(out, speak_say_pack("{s:s,s:{s:s,s:n},s:{s:i}}", "type", "message_delta",
					    "delta", "stop_reason", "end_turn", "stop_sequence",
					    "usage", "output_tokens", 0));
	speak_say_event(out, speak_say_pack("{s:s}", "type", "message_stop"));
}

static void speak_say_chat(bool stream, const char *model, const char *text, struct buf *out)
{
	if (!stream) {
		json_t *m = speak_say_pack(
			"{s:s,s:s,s:i,s:s,s:[{s:i,s:{s:s,s:s},s:s}],s:{s:i,s:i,s:i}}", "id",
			"chatcmpl-sandglass", "object", "chat.completion", "created", 0, "model",
			model, "choices", "index", 0, "message", "role", "assistant", "content",
			text, "finish_reason", "stop", "usage", "prompt_tokens", 0,
			"completion_tokens", 0, "total_tokens", 0);
		json_dump_buf(m, out);
		json_decref(m);
		return;
	}
	speak_say_event(out,
			speak_say_pack("{s:s,s:s,s:i,s:s,s:[{s:i,s:{s:s,s:s},s:n}]}", "id",
				       "chatcmpl-sandglass", "object", "chat.completion.chunk",
				       "created", 0, "model", model, "choices", "index", 0, "delta",
				       "role", "assistant", "content", text, "finish_reason"));
	speak_say_event(out, speak_say_pack("{s:s,s:s,s:i,s:s,s:[{s:i,s:{},s:s}]}", "id",
					    "chatcmpl-sandglass", "object", "chat.completion.chunk",
					    "created", 0, "model", model, "choices", "index", 0,
					    "delta", "finish_reason", "stop"));
	buf_puts(out, "data: [DONE]\n\n");
}

static json_t *speak_say_item(const char *status, const char *text)
{
	return speak_say_pack("{s:s,s:s,s:s,s:s,s:[{s:s,s:s,s:[]}]}", "type", "message", "id",
			      "msg_sandglass", "status", status, "role", "assistant", "content",
			      "type", "output_text", "text", text, "annotations");
}

static json_t *speak_say_response(const char *model, const char *status, json_t *output)
{
	return speak_say_pack("{s:s,s:s,s:i,s:s,s:s,s:o,s:{s:i,s:i,s:i}}", "id", "resp_sandglass",
			      "object", "response", "created_at", 0, "status", status, "model",
			      model, "output", output, "usage", "input_tokens", 0, "output_tokens",
			      0, "total_tokens", 0);
}

static void speak_say_responses(bool stream, bool begun, int items, const char *model,
				const char *text, struct buf *out)
{
	json_t *list = json_array();
	json_array_append_new(list, speak_say_item("completed", text));
	json_t *whole = speak_say_response(model, "completed", list);
	if (!stream) {
		json_dump_buf(whole, out);
		json_decref(whole);
		return;
	}
	if (!begun)
		speak_say_event(
			out,
			speak_say_pack("{s:s,s:o}", "type", "response.created", "response",
				       speak_say_response(model, "in_progress", json_array())));
	speak_say_event(out, speak_say_pack("{s:s,s:i,s:o}", "type", "response.output_item.added",
					    "output_index", items, "item",
					    speak_say_item("in_progress", "")));
	speak_say_event(out,
			speak_say_pack("{s:s,s:s,s:i,s:i,s:s}", "type",
				       "response.output_text.delta", "item_id", "msg_sandglass",
				       "output_index", items, "content_index", 0, "delta", text));
	speak_say_event(out, speak_say_pack("{s:s,s:i,s:o}", "type", "response.output_item.done",
					    "output_index", items, "item",
					    speak_say_item("completed", text)));
	speak_say_event(
		out, speak_say_pack("{s:s,s:o}", "type", "response.completed", "response", whole));
}

static void speak_say_gemini(enum speak s, bool stream, const char *text, struct buf *out)
{
	json_t *m =
		speak_say_pack("{s:[{s:{s:s,s:[{s:s}]},s:s,s:i}]}", "candidates", "content", "role",
			       "model", "parts", "text", text, "finishReason", "STOP", "index", 0);
	if (s == SPEAK_CODE_ASSIST)
		m = speak_say_pack("{s:o}", "response", m);
	if (stream) {
		speak_say_event(out, m);
		return;
	}
	json_dump_buf(m, out);
	json_decref(m);
}

void speak_say(enum speak s, bool stream, bool begun, size_t items, const char *model,
	       const char *text, struct buf *out)
{
	switch (s) {
	case SPEAK_ANTHROPIC:
		speak_say_anthropic(stream, begun, (int)items, model, text, out);
		break;
	case SPEAK_CHAT:
		speak_say_chat(stream, model, text, out);
		break;
	case SPEAK_RESPONSES:
		speak_say_responses(stream, begun, (int)items, model, text, out);
		break;
	case SPEAK_GEMINI:
	case SPEAK_CODE_ASSIST:
		speak_say_gemini(s, stream, text, out);
		break;
	case SPEAK_NONE:
		break;
	}
}

void speak_error(const char *type, const char *text, struct buf *out)
{
	json_t *e = speak_say_pack("{s:s,s:{s:s,s:s,s:s,s:i,s:s}}", "type", "error", "error",
				   "type", type, "message", text, "reason", type, "code", 403,
				   "status", "PERMISSION_DENIED");
	json_dump_buf(e, out);
	json_decref(e);
}

void speak_stream_error(enum speak s, const char *text, struct buf *out)
{
	if (s == SPEAK_RESPONSES)
		speak_say_event(out, speak_say_pack("{s:s,s:{s:s,s:s,s:{s:s,s:s}}}", "type",
						    "response.failed", "response", "id",
						    "resp_sandglass", "status", "failed", "error",
						    "code", "permission_error", "message", text));
	else
		speak_say_event(out, speak_say_pack("{s:s,s:{s:s,s:s}}", "type", "error", "error",
						    "type", "permission_error", "message", text));
}
