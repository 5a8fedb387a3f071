#include "exchange/otlp.h"

#include <inttypes.h>
#include <string.h>

#include "exchange/export.h"
#include "base/mem.h"

enum { CONTENT_MAX = 16 << 10, KIND_INTERNAL = 1, KIND_CLIENT = 3, STATUS_ERROR = 2 };

static void otlp_span_id(uint64_t seq, char out[17])
{
	snprintf(out, 17, "%016" PRIx64, seq);
}

static void otlp_attribute(json_t *list, const char *key, const char *type, json_t *value)
{
	json_t *kv = json_object(), *v = json_object();
	json_put(v, type, value);
	json_put_str(kv, "key", key);
	json_put(kv, "value", v);
	json_array_append_new(list, kv);
}

static void otlp_text(json_t *list, const char *key, const char *value)
{
	if (value)
		otlp_attribute(list, key, "stringValue", json_text(value, strlen(value)));
}

static void otlp_int(json_t *list, const char *key, int64_t value)
{
	otlp_attribute(list, key, "intValue", json_sprintf("%" PRId64, value));
}

static void otlp_texts(json_t *list, const char *key, const char *value)
{
	json_t *array = json_object(), *values = json_array(), *v = json_object();
	json_put(v, "stringValue", json_text(value, strlen(value)));
	json_array_append_new(values, v);
	json_put(array, "values", values);
	otlp_attribute(list, key, "arrayValue", array);
}

static void put_nano(json_t *span, const char *key, int64_t us)
{
	json_put(span, key, json_sprintf("%" PRId64 "000", us > 0 ? us : 1));
}

static json_t *span_new(const char uuid[33], uint64_t seq, uint64_t parent, const char *name,
			int kind, int64_t begin_us, int64_t end_us, json_t *attributes)
{
	char id[17];
	json_t *span = json_object();
	json_put_str(span, "traceId", uuid);
	otlp_span_id(seq, id);
	json_put_str(span, "spanId", id);
	otlp_span_id(parent, id);
	if (parent)
		json_put_str(span, "parentSpanId", id);
	json_put(span, "name", json_text(name, strlen(name)));
	json_put_int(span, "kind", kind);
	put_nano(span, "startTimeUnixNano", begin_us);
	put_nano(span, "endTimeUnixNano", end_us < begin_us ? begin_us : end_us);
	json_put(span, "attributes", attributes);
	return span;
}

static void set_error(json_t *span, json_t *attributes, const char *type, const char *why)
{
	json_t *status = json_object();
	otlp_text(attributes, "error.type", type);
	json_put_int(status, "code", STATUS_ERROR);
	json_put(status, "message", json_text(why, strlen(why)));
	json_put(span, "status", status);
}

/* --- one action --- */

/* "anthropic:sonnet" -> "anthropic" as the conventions call it */
static void otlp_provider(const char *model, char out[64])
{
	static const char *const known[][2] = { { "openai-chat", "openai" },
						{ "gemini", "gcp.gemini" } };
	snprintf(out, 64, "%.*s", (int)strcspn(model, ":"), model);
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (!strcmp(known[i][0], out))
			snprintf(out, 64, "%s", known[i][1]);
}

static json_t *otlp_part(const char *type)
{
	json_t *p = json_object();
	json_put_str(p, "type", type);
	return p;
}

/* gen_ai.output.messages: a JSON string, [{role, parts}] */
static void put_output_messages(json_t *list, const struct act *a)
{
	json_t *parts = json_array(), *m = json_object(), *all = json_array(),
	       *text = otlp_part("text");
	struct err none = ERR_INIT;
	const char *said = act_text(a, a->reply.text, "");
	json_put(text, "content", json_text(said, strlen(said)));
	json_array_append_new(parts, text);
	for (size_t i = 0; i < a->reply.calls.nr; i++) {
		const struct ev_requested_call *call = &a->reply.calls.item[i];
		json_t *p = otlp_part("tool_call");
		json_put_str(p, "id", act_text(a, call->id, ""));
		json_put_str(p, "name", act_text(a, call->name, ""));
		if (call->args.s)
			json_put(p, "arguments",
				 json_parse(call->args.s, call->args.n, "arguments", &none));
		json_array_append_new(parts, p);
	}
	json_put_str(m, "role", "assistant");
	json_put(m, "parts", parts);
	json_array_append_new(all, m);
	CLEANUP(free_ptr) char *dump = json_dump_str(all);
	otlp_text(list, "gen_ai.output.messages", dump);
	json_decref(all);
}

static void put_chat(json_t *list, const struct act *a, bool content)
{
	const char *model = act_text(a, a->reply.model, act_tool(a)), *name = strchr(model, ':');
	const struct ev_usage *u = &a->reply.usage;
	char who[64];
	otlp_provider(model, who);
	otlp_text(list, "gen_ai.operation.name", "chat");
	otlp_text(list, "gen_ai.provider.name", *who ? who : "unknown");
	otlp_text(list, "gen_ai.request.model", name ? name + 1 : model);
	if (!a->has_reply)
		return;
	otlp_text(list, "gen_ai.response.id", act_text(a, a->reply.id, NULL));
	otlp_text(list, "gen_ai.response.model", name ? name + 1 : model);
	otlp_texts(list, "gen_ai.response.finish_reasons", act_text(a, a->reply.stop, "unknown"));
	otlp_int(list, "gen_ai.usage.input_tokens", u->in);
	otlp_int(list, "gen_ai.usage.output_tokens", u->out);
	otlp_int(list, "gen_ai.usage.cache_read.input_tokens", u->cached);
	otlp_int(list, "gen_ai.usage.cache_write.input_tokens", u->written);
	if (!a->reply.cost_unknown)
		otlp_int(list, "sandglass.cost_uusd", a->reply.cost_uusd);
	if (content)
		put_output_messages(list, a);
}

static void otlp_put_tool(json_t *list, const struct act *a, struct session *s, bool content)
{
	CLEANUP(buf_release)
	struct buf what = BUF_INIT, out = BUF_INIT, id = BUF_INIT, proposed = BUF_INIT;
	otlp_text(list, "gen_ai.operation.name", "execute_tool");
	otlp_text(list, "gen_ai.tool.name", act_tool(a));
	otlp_text(list, "gen_ai.tool.type", "function");
	buf_printf(&id, "a%" PRIu64, a->seq);
	otlp_text(list, "gen_ai.tool.call.id", buf_cstr(&id));
	if (a->ended.has_code)
		otlp_int(list, "process.exit.code", a->ended.code);
	if (!content)
		return;
	act_what(a, &what);
	otlp_text(list, "sandglass.what", buf_cstr(&what));
	if (act_proposed(a, &proposed))
		otlp_text(list, "sandglass.proposed", buf_cstr(&proposed));
	CLEANUP(free_ptr)
	char *args = json_object_get(a->wanted, "args")
			     ? json_dump_str(json_object_get(a->wanted, "args"))
			     : NULL;
	if (args && strlen(args) <= CONTENT_MAX)
		otlp_text(list, "gen_ai.tool.call.arguments", args);
	if (act_output(a, s, CONTENT_MAX, &out)) {
		json_t *text = json_text(buf_cstr(&out), out.len);
		otlp_text(list, "gen_ai.tool.call.result", json_string_value(text));
		json_decref(text);
	}
}

json_t *otlp_action(const struct act *a, struct session *s, const char uuid[33], bool content)
{
	CLEANUP(buf_release) struct buf name = BUF_INIT, rules = BUF_INIT;
	json_t *list = json_array();
	bool chat = !strcmp(act_kind(a), "model");
	const char *model = act_text(a, a->reply.model, act_tool(a)), *colon = strchr(model, ':');
	if (chat)
		put_chat(list, a, content);
	else
		otlp_put_tool(list, a, s, content);
	otlp_text(list, "gen_ai.conversation.id", session_id(s));
	otlp_int(list, "sandglass.action.seq", (int64_t)a->seq);
	otlp_text(list, "sandglass.action.kind", act_kind(a));
	otlp_text(list, "sandglass.action.end", act_end(a));
	otlp_text(list, "sandglass.verdict", act_text(a, a->judged.verdict, NULL));
	act_rules(a, &rules);
	if (rules.len)
		otlp_text(list, "sandglass.rules", buf_cstr(&rules));
	if (a->has_decided) {
		otlp_text(list, "sandglass.decision", act_text(a, a->decided.decision, NULL));
		otlp_text(list, "sandglass.decision.by", act_decider(a, NULL));
	}
	otlp_text(list, "sandglass.tree.after", act_text(a, a->snapshot.tree, NULL));
	buf_printf(&name, "%s %s", chat ? "chat" : "execute_tool",
		   chat && colon ? colon + 1 : act_tool(a));
	json_t *span = span_new(uuid, a->seq, a->agent ? a->agent : 1, buf_cstr(&name),
				chat ? KIND_CLIENT : KIND_INTERNAL, a->ts_us,
				a->end_us ? a->end_us : a->ts_us, list);
	if (a->end_us && !act_good(a)) {
		CLEANUP(buf_release) struct buf type = BUF_INIT;
		const char *why = act_text(a, a->ended.why, "");
		act_how(a, &type);
		set_error(span, list, buf_cstr(&type), *why ? why : buf_cstr(&type));
	}
	return span;
}

/* --- what is around them --- */

json_t *otlp_agent(struct session *s, uint64_t agent, int64_t begin_us, int64_t end_us,
		   const json_t *end, const char uuid[33])
{
	struct arena arena = ARENA_INIT;
	struct event ev = { 0 };
	struct err none = ERR_INIT;
	json_t *list = json_array(), *start = NULL;
	if (session_event(s, agent, &ev, &arena, &none) == 0 && ev.body)
		start = json_parse(ev.body, ev.len, "agent.start", &none);
	arena_release(&arena);
	const char *who = json_str(start, "name", "agent");
	CLEANUP(free_ptr) char *name = mem_printf("invoke_agent %s", who);
	uint64_t parent = (uint64_t)json_int(start, "parent", 0);
	otlp_text(list, "gen_ai.operation.name", "invoke_agent");
	otlp_text(list, "gen_ai.agent.name", who);
	otlp_text(list, "gen_ai.conversation.id", session_id(s));
	otlp_text(list, "gen_ai.request.model", json_str(start, "model", NULL));
	otlp_text(list, "sandglass.stop", end ? json_str(end, "stop", "unknown") : "open");
	json_t *span = span_new(uuid, agent, parent ? parent : 1, name, KIND_INTERNAL, begin_us,
				end_us, list);
	if (end && !json_flag(end, "ok", true))
		set_error(span, list, json_str(end, "stop", "error"),
			  json_str(end, "text", "not successful"));
	json_decref(start);
	return span;
}

json_t *otlp_session(struct session *s, int64_t begin_us, int64_t end_us, bool ok,
		     const char uuid[33])
{
	json_t *list = json_array();
	CLEANUP(free_ptr) char *name = mem_printf("invoke_workflow %s", session_name(s));
	otlp_text(list, "gen_ai.operation.name", "invoke_workflow");
	otlp_text(list, "gen_ai.agent.name", session_name(s));
	otlp_text(list, "gen_ai.conversation.id", session_id(s));
	json_t *span = span_new(uuid, 1, 0, name, KIND_INTERNAL, begin_us, end_us, list);
	if (!ok)
		set_error(span, list, "unsuccessful", "the session ended without success");
	return span;
}

json_t *otlp_resource(struct session *s)
{
	json_t *o = json_object(), *list = json_array();
	otlp_text(list, "service.name", "sandglass");
	otlp_text(list, "service.version", SANDGLASS_VERSION);
	otlp_text(list, "service.instance.id", session_id(s));
	json_put(o, "attributes", list);
	return o;
}

json_t *otlp_scope(void)
{
	json_t *o = json_object();
	json_put_str(o, "name", "sandglass");
	json_put_str(o, "version", SANDGLASS_VERSION);
	return o;
}
