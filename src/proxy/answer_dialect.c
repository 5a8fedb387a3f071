/* One event of an answer, or a whole one, in the dialect of each provider. Part of answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "proxy/answer_priv.h"

static void answer_set(char **to, const char *value)
{
	if (!value || !*value)
		return;
	free(*to);
	*to = mem_strdup(value);
}

static void answer_say(struct answer *a, const json_t *text)
{
	if (json_is_string(text))
		buf_append(&a->said, json_string_value(text), json_string_length(text));
}

static struct answer_call *call_new(struct answer *a, int64_t index, const char *id,
				    const char *name)
{
	static struct answer_call none;
	if (a->nr_calls == ANSWER_CALLS_MAX) {
		a->over = true;
		buf_reset(&none.args);
		return &none;
	}
	GROW(a->call, a->nr_calls, a->cap_calls);
	struct answer_call *c = &a->call[a->nr_calls++];
	*c = (struct answer_call){ .id = mem_strdup(id ? id : ""),
				   .name = mem_strdup(name ? name : "?"),
				   .index = index };
	return c;
}

static struct answer_call *call_at(struct answer *a, int64_t index)
{
	for (size_t i = a->nr_calls; i-- > 0;)
		if (a->call[i].index == index)
			return &a->call[i];
	return NULL;
}

static void answer_add_text(struct buf *b, const json_t *v)
{
	if (json_is_string(v))
		buf_append(b, json_string_value(v), json_string_length(v));
}

static void add_json(struct buf *b, const json_t *v)
{
	if (json_is_string(v))
		answer_add_text(b, v);
	else if (v)
		json_dump_buf(v, b);
}

static void add_args(struct answer *a, struct answer_call *c, const json_t *v)
{
	/* else the string may be another one, or its value is written differently in the
	 * event */
	bool plain = !a->over && json_is_string(v);
	a->grown = plain ? (size_t)(c - a->call) : NO_CALL;
	a->from = c->args.len;
	a->nr_grown++;
	add_json(&c->args, v);
}

/* A tier or place that has another price; "" for the usual one. */
static void take_tier(char *out, size_t size, const char *tier)
{
	static const char *const usual[] = { "default", "auto", "standard", "global",
					     "not_available" };
	for (size_t i = 0; i < ARRAY_LEN(usual); i++)
		if (!strcmp(tier, usual[i]))
			tier = "";
	snprintf(out, size, "%s", tier);
}

/* --- Anthropic -------------------------------------------------------------------------------- */

static void anthropic_usage(struct answer *a, const json_t *u)
{
	if (!json_is_object(u))
		return;
	a->usage.known = true;
	a->usage.cached = json_int(u, "cache_read_input_tokens", a->usage.cached);
	a->usage.written = json_int(u, "cache_creation_input_tokens", a->usage.written);
	if (json_object_get(u, "input_tokens"))
		a->usage.in = json_int(u, "input_tokens", 0) + a->usage.cached + a->usage.written;
	a->usage.out = json_int(u, "output_tokens", a->usage.out);
	a->usage.written_1h = json_int(json_object_get(u, "cache_creation"),
				       "ephemeral_1h_input_tokens", a->usage.written_1h);
	if (json_str(u, "service_tier", NULL))
		take_tier(a->usage.tier, sizeof(a->usage.tier), json_str(u, "service_tier", ""));
	if (json_str(u, "inference_geo", NULL))
		take_tier(a->usage.geo, sizeof(a->usage.geo), json_str(u, "inference_geo", ""));
}

static void anthropic_block_end(struct answer *a)
{
	json_t *b = json_array_get(a->blocks, json_array_size(a->blocks) - 1);
	const char *type = json_str(b, "type", "");
	struct err none = ERR_INIT;
	if (a->open < 0 || !b)
		return;
	if (!strcmp(type, "text"))
		json_object_set_new(b, "text", json_stringn(buf_cstr(&a->part), a->part.len));
	else if (!strcmp(type, "thinking"))
		json_object_set_new(b, "thinking", json_stringn(buf_cstr(&a->part), a->part.len));
	else if (a->part.len)
		json_object_set_new(b, "input",
				    json_parse(a->part.data, a->part.len, "input", &none));
	if (a->sign.len)
		json_object_set_new(b, "signature", json_stringn(a->sign.data, a->sign.len));
	if (!json_object_get(b, "input") && !strcmp(type, "tool_use"))
		json_object_set_new(b, "input", json_object());
	a->open = -1;
}

static void anthropic_block(struct answer *a, int64_t index, const json_t *block)
{
	anthropic_block_end(a);
	buf_reset(&a->part);
	buf_reset(&a->sign);
	a->open = index;
	json_array_append_new(a->blocks, json_deep_copy(block));
	if (!strcmp(json_str(block, "type", ""), "tool_use")) {
		struct answer_call *c =
			call_new(a, index, json_str(block, "id", ""), json_str(block, "name", "?"));
		if (json_object_size(json_object_get(block, "input")))
			json_dump_buf(json_object_get(block, "input"), &c->args);
	} else if (!strcmp(json_str(block, "type", ""), "text")) {
		answer_add_text(&a->part, json_object_get(block, "text"));
		answer_say(a, json_object_get(block, "text"));
	} else if (json_object_get(block, "thinking")) {
		answer_add_text(&a->part, json_object_get(block, "thinking"));
	}
}

static void anthropic_delta(struct answer *a, const json_t *e)
{
	const json_t *d = json_object_get(e, "delta");
	const char *type = json_str(d, "type", "");
	if (!strcmp(type, "text_delta")) {
		answer_add_text(&a->part, json_object_get(d, "text"));
		answer_say(a, json_object_get(d, "text"));
	} else if (!strcmp(type, "thinking_delta")) {
		answer_add_text(&a->part, json_object_get(d, "thinking"));
	} else if (!strcmp(type, "signature_delta")) {
		answer_add_text(&a->sign, json_object_get(d, "signature"));
	} else if (!strcmp(type, "input_json_delta")) {
		struct answer_call *c = call_at(a, json_int(e, "index", -1));
		answer_add_text(&a->part, json_object_get(d, "partial_json"));
		if (c && json_is_string(json_object_get(d, "partial_json")))
			add_args(a, c, json_object_get(d, "partial_json"));
	}
}

static void anthropic_head(struct answer *a, const json_t *m)
{
	answer_set(&a->id, json_str(m, "id", NULL));
	answer_set(&a->model, json_str(m, "model", NULL));
	answer_set(&a->stop, json_str(m, "stop_reason", NULL));
	anthropic_usage(a, json_object_get(m, "usage"));
}

static void anthropic_event(struct answer *a, const json_t *e)
{
	const char *type = json_str(e, "type", "");
	if (!strcmp(type, "message_start")) {
		anthropic_head(a, json_object_get(e, "message"));
	} else if (!strcmp(type, "content_block_start")) {
		anthropic_block(a, json_int(e, "index", 0), json_object_get(e, "content_block"));
	} else if (!strcmp(type, "content_block_delta")) {
		anthropic_delta(a, e);
	} else if (!strcmp(type, "content_block_stop")) {
		anthropic_block_end(a);
	} else if (!strcmp(type, "message_delta")) {
		answer_set(&a->stop, json_str(json_object_get(e, "delta"), "stop_reason", NULL));
		anthropic_usage(a, json_object_get(e, "usage"));
	} else if (!strcmp(type, "message_stop")) {
		a->complete = true;
	} else if (!strcmp(type, "error")) {
		a->failed = true;
	} else if (!strcmp(type, "message")) { /* a whole answer */
		size_t i;
		json_t *b;
		anthropic_head(a, e);
		json_array_foreach(json_object_get(e, "content"), i, b)
			anthropic_block(a, (int64_t)i, b);
		anthropic_block_end(a);
		a->complete = true;
	}
}

/* --- Chat Completions ------------------------------------------------------------------------- */

static void chat_call(struct answer *a, const json_t *f, size_t position)
{
	const json_t *fn = json_object_get(f, "function");
	const char *id = json_str(f, "id", NULL), *name = json_str(fn, "name", NULL);
	int64_t index = json_int(f, "index", (int64_t)position);
	struct answer_call *c = call_at(a, index);
	if (!c || (id && *id && *c->id && strcmp(id, c->id) != 0))
		c = call_new(a, index, id, name);
	else if (id && *id && !*c->id)
		answer_set(&c->id, id);
	add_args(a, c, json_object_get(fn, "arguments"));
}

static void chat_usage(struct answer *a, const json_t *u)
{
	if (!json_is_object(u))
		return;
	a->usage = (struct answer_usage){
		.known = true,
		.in = json_int(u, "prompt_tokens", 0),
		.out = json_int(u, "completion_tokens", 0),
		.cached = json_int(json_object_get(u, "prompt_tokens_details"), "cached_tokens", 0),
		.written = json_int(json_object_get(u, "prompt_tokens_details"),
				    "cache_write_tokens", 0)
	};
}

static void chat_event(struct answer *a, const json_t *e)
{
	const json_t *c = json_array_get(json_object_get(e, "choices"), 0);
	const json_t *whole = json_object_get(c, "message"),
		     *d = whole ? whole : json_object_get(c, "delta");
	size_t i;
	json_t *f;
	answer_set(&a->id, json_str(e, "id", NULL));
	answer_set(&a->model, json_str(e, "model", NULL));
	chat_usage(a, json_object_get(e, "usage"));
	if (json_str(e, "service_tier", NULL))
		take_tier(a->tier, sizeof(a->tier), json_str(e, "service_tier", ""));
	memcpy(a->usage.tier, a->tier, sizeof(a->tier));
	a->failed |= json_object_get(e, "error") != NULL;
	answer_say(a, json_object_get(d, "content"));
	json_array_foreach(json_object_get(d, "tool_calls"), i, f) chat_call(a, f, i);
	answer_set(&a->stop, json_str(c, "finish_reason", NULL));
	a->complete |= a->stop != NULL;
}

/* --- Responses -------------------------------------------------------------------------------- */

bool agents_call(const json_t *item)
{
	static const char *const type[] = { "function_call", "custom_tool_call", "local_shell_call",
					    "shell_call",    "apply_patch_call", "computer_call" };
	for (size_t i = 0; i < ARRAY_LEN(type); i++)
		if (!strcmp(json_str(item, "type", ""), type[i]))
			return true;
	return false;
}

static void responses_item(struct answer *a, int64_t index, const json_t *item)
{
	json_array_append_new(a->blocks, json_deep_copy(item));
	if (!agents_call(item))
		return;
	const char *type = json_str(item, "type", "");
	struct answer_call *c =
		call_new(a, index, json_str(item, "call_id", json_str(item, "id", "")),
			 json_str(item, "name", type));
	c->custom = !strcmp(type, "custom_tool_call");
	if (json_object_get(item, "arguments"))
		add_json(&c->args, json_object_get(item, "arguments"));
	else if (c->custom)
		answer_add_text(&c->args, json_object_get(item, "input"));
	else
		add_json(&c->args,
			 json_object_get(item, "action") ? json_object_get(item, "action") : item);
}

static void responses_end(struct answer *a, const json_t *r)
{
	const json_t *u = json_object_get(r, "usage");
	answer_set(&a->id, json_str(r, "id", NULL));
	answer_set(&a->model, json_str(r, "model", NULL));
	answer_set(&a->stop, json_str(json_object_get(r, "incomplete_details"), "reason", NULL));
	if (!json_is_object(u))
		return;
	a->usage = (struct answer_usage){
		.known = true,
		.in = json_int(u, "input_tokens", 0),
		.out = json_int(u, "output_tokens", 0),
		.cached = json_int(json_object_get(u, "input_tokens_details"), "cached_tokens", 0),
		.written = json_int(json_object_get(u, "input_tokens_details"),
				    "cache_write_tokens", 0)
	};
	take_tier(a->usage.tier, sizeof(a->usage.tier), json_str(r, "service_tier", ""));
}

static void responses_whole(struct answer *a, const json_t *r)
{
	size_t i, k;
	json_t *item, *part;
	responses_end(a, r);
	json_array_foreach(json_object_get(r, "output"), i, item)
	{
		responses_item(a, (int64_t)i, item);
		json_array_foreach(json_object_get(item, "content"), k,
				   part) if (!strcmp(json_str(part, "type", ""), "output_text"))
			answer_say(a, json_object_get(part, "text"));
	}
	a->complete = true;
}

static void responses_event(struct answer *a, const json_t *e)
{
	const char *type = json_str(e, "type", "");
	if (!strcmp(json_str(e, "object", ""), "response")) {
		responses_whole(a, e);
	} else if (!strcmp(type, "response.output_text.delta")) {
		answer_say(a, json_object_get(e, "delta"));
	} else if (!strcmp(type, "response.output_item.done")) {
		responses_item(a, json_int(e, "output_index", 0), json_object_get(e, "item"));
	} else if (!strcmp(type, "response.completed") || !strcmp(type, "response.incomplete")) {
		responses_end(a, json_object_get(e, "response"));
		a->complete = true;
	} else if (!strcmp(type, "response.failed") || !strcmp(type, "error")) {
		a->failed = true;
	} else if (!strcmp(type, "response.created")) {
		responses_end(a, json_object_get(e, "response"));
	}
}

static int64_t image_tokens(const json_t *details)
{
	int64_t n = 0;
	size_t i;
	json_t *d;
	json_array_foreach((json_t *)(uintptr_t)details, i, d) n +=
		strcmp(json_str(d, "modality", ""), "IMAGE") ? 0 : json_int(d, "tokenCount", 0);
	return n;
}

/* --- Gemini ----------------------------------------------------------------------------------- */

static void gemini_event(struct answer *a, const json_t *e)
{
	const json_t *c = json_array_get(json_object_get(e, "candidates"), 0),
		     *u = json_object_get(e, "usageMetadata");
	size_t i;
	json_t *part;
	if (json_is_array(e)) {
		json_array_foreach(e, i, part) gemini_event(a, part);
		return;
	}
	answer_set(&a->id, json_str(e, "responseId", NULL));
	answer_set(&a->model, json_str(e, "modelVersion", NULL));
	a->failed |= json_object_get(e, "error") != NULL;
	json_array_foreach(json_object_get(json_object_get(c, "content"), "parts"), i, part)
	{
		const json_t *call = json_object_get(part, "functionCall");
		json_array_append(a->blocks, part);
		if (call) {
			const char *name = json_str(call, "name", "?");
			struct answer_call *n =
				call_new(a, (int64_t)a->nr_calls, json_str(call, "id", name), name);
			json_t *args = json_object_get(call, "args");
			if (args)
				json_dump_buf(args, &n->args);
		} else if (!json_flag(part, "thought", false)) {
			answer_say(a, json_object_get(part, "text"));
		}
	}
	if (json_is_object(u))
		a->usage = (struct answer_usage){
			.known = true,
			.in = json_int(u, "promptTokenCount", 0),
			.out = json_int(u, "candidatesTokenCount", 0) +
			       json_int(u, "thoughtsTokenCount", 0),
			.cached = json_int(u, "cachedContentTokenCount", 0),
			.image_in = image_tokens(json_object_get(u, "promptTokensDetails")),
			.image_out = image_tokens(json_object_get(u, "candidatesTokensDetails")),
		};
	answer_set(&a->stop, json_str(c, "finishReason", NULL));
	a->complete |= a->stop != NULL;
}

static void code_assist_event(struct answer *a, const json_t *e)
{
	const json_t *part;
	size_t i;
	if (json_is_array(e)) {
		json_array_foreach(e, i, part) code_assist_event(a, part);
		return;
	}
	a->failed |= json_object_get(e, "error") != NULL;
	gemini_event(a, json_object_get(e, "response"));
}

void answer_understand(struct answer *a, const json_t *e)
{
	switch (a->speak) {
	case SPEAK_ANTHROPIC:
		anthropic_event(a, e);
		break;
	case SPEAK_CHAT:
		chat_event(a, e);
		break;
	case SPEAK_RESPONSES:
		responses_event(a, e);
		break;
	case SPEAK_GEMINI:
		gemini_event(a, e);
		break;
	case SPEAK_CODE_ASSIST:
		code_assist_event(a, e);
		break;
	case SPEAK_NONE:
		break;
	}
}
