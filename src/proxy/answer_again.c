/* Asks the model again after its calls were refused: the refusals take the place of the calls'
 * results. */
#include <string.h>

#include "base/mem.h"
#include "proxy/answer.h"

static json_t *answer_again_message(const char *role, const char *field, json_t *content)
{
	json_t *m = json_object();
	json_put_str(m, "role", role);
	json_put(m, field, content);
	return m;
}

static void answer_again_anthropic(const struct answer *a, json_t *list, const char *const *why)
{
	json_t *results = json_array();
	for (size_t i = 0; i < a->nr_calls; i++) {
		json_t *r = json_object();
		json_put_str(r, "type", "tool_result");
		json_put_str(r, "tool_use_id", a->call[i].id);
		json_put_str(r, "content", why[i]);
		json_put_flag(r, "is_error", true);
		json_array_append_new(results, r);
	}
	json_array_append_new(list,
			      answer_again_message("assistant", "content", json_incref(a->blocks)));
	json_array_append_new(list, answer_again_message("user", "content", results));
}

static void answer_again_chat(const struct answer *a, json_t *list, const char *const *why)
{
	json_t *calls = json_array();
	json_t *m = answer_again_message("assistant", "content",
					 a->said.len ? json_stringn(a->said.data, a->said.len)
						     : json_null());
	for (size_t i = 0; i < a->nr_calls; i++) {
		json_t *c = json_object(), *fn = json_object();
		json_put_str(fn, "name", a->call[i].name);
		json_put_str(fn, "arguments", buf_cstr(&a->call[i].args));
		json_put_str(c, "id", a->call[i].id);
		json_put_str(c, "type", "function");
		json_put(c, "function", fn);
		json_array_append_new(calls, c);
	}
	json_put(m, "tool_calls", calls);
	json_array_append_new(list, m);
	for (size_t i = 0; i < a->nr_calls; i++) {
		m = answer_again_message("tool", "content", json_string(why[i]));
		json_put_str(m, "tool_call_id", a->call[i].id);
		json_array_append_new(list, m);
	}
}

static void answer_again_responses(const struct answer *a, json_t *list, const char *const *why)
{
	json_array_extend(list, a->blocks);
	for (size_t i = 0; i < a->nr_calls; i++) {
		json_t *r = json_object();
		json_put_str(r, "type",
			     a->call[i].custom ? "custom_tool_call_output"
					       : "function_call_output");
		json_put_str(r, "call_id", a->call[i].id);
		json_put_str(r, "output", why[i]);
		json_array_append_new(list, r);
	}
}

static void answer_again_gemini(const struct answer *a, json_t *list, const char *const *why)
{
	json_t *parts = json_array();
	for (size_t i = 0; i < a->nr_calls; i++) {
		json_t *part = json_object(), *r = json_object(), *response = json_object();
		json_put_str(response, "error", why[i]);
		if (strcmp(a->call[i].id, a->call[i].name) != 0)
			json_put_str(r, "id", a->call[i].id);
		json_put_str(r, "name", a->call[i].name);
		json_put(r, "response", response);
		json_put(part, "functionResponse", r);
		json_array_append_new(parts, part);
	}
	json_array_append_new(list, answer_again_message("model", "parts", json_incref(a->blocks)));
	json_array_append_new(list, answer_again_message("user", "parts", parts));
}

/* Responses take a plain text for a conversation of one message. */
static void list_of_text(json_t *req)
{
	json_t *input = json_object_get(req, "input"), *list = json_array();
	if (!json_is_string(input))
		return;
	json_array_append_new(list, answer_again_message("user", "content", json_incref(input)));
	json_object_set_new(req, "input", list);
}

json_t *answer_ask_again(const struct answer *a, const json_t *req, const char *const *why)
{
	json_t *again = json_copy((json_t *)(uintptr_t)req);
	if (a->speak == SPEAK_RESPONSES)
		list_of_text(again);
	const json_t *was = speak_messages(a->speak, again);
	json_t *list = json_array();
	json_array_extend(list, (json_t *)(uintptr_t)was);
	switch (a->speak) {
	case SPEAK_ANTHROPIC:
		answer_again_anthropic(a, list, why);
		json_object_set_new(again, "messages", list);
		break;
	case SPEAK_CHAT:
		answer_again_chat(a, list, why);
		json_object_set_new(again, "messages", list);
		break;
	case SPEAK_RESPONSES:
		answer_again_responses(a, list, why);
		json_object_set_new(again, "input", list);
		break;
	case SPEAK_GEMINI:
		answer_again_gemini(a, list, why);
		json_object_set_new(again, "contents", list);
		break;
	case SPEAK_CODE_ASSIST: {
		json_t *inner = json_copy(json_object_get(again, "request"));
		answer_again_gemini(a, list, why);
		json_object_set_new(inner, "contents", list);
		json_object_set_new(again, "request", inner);
		break;
	}
	case SPEAK_NONE:
		json_decref(list);
		break;
	}
	return again;
}
