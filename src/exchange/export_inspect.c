/* Inspect's eval log, version 2, as .json: each agent of the session is one sample (epoch 1) of a
 * task called like the session. Messages as Inspect has them; events: model (without the growing
 * input, which the messages hold), tool, approval. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "exchange/export.h"
#include "exchange/steps.h"
#include "base/mem.h"

enum { CONTENT_MAX = 64 << 10 };

struct usage {
	int64_t in, out, cached;
};

struct sample {
	struct export *x;
	bool messages; /* the first pass writes messages, the second one events: neither is held */
	struct usage usage;
	size_t written;
	int64_t begin_us, end_us;
	char *model, *last;
};

static void add_usage(struct usage *to, const struct usage *u)
{
	to->in += u->in;
	to->out += u->out;
	to->cached += u->cached;
}

static json_t *export_inspect_usage_json(const struct usage *u)
{
	json_t *o = json_object();
	json_put_int(o, "input_tokens", u->in - u->cached > 0 ? u->in - u->cached : 0);
	json_put_int(o, "output_tokens", u->out);
	json_put_int(o, "total_tokens", u->in + u->out);
	json_put_int(o, "input_tokens_cache_read", u->cached);
	return o;
}

static void export_inspect_put_event(struct sample *p, json_t *ev, const char *name, int64_t ts_us)
{
	json_put_str(ev, "event", name);
	json_put(ev, "timestamp", json_time(ts_us));
	json_put(ev, "working_start", json_real((double)(ts_us - p->begin_us) / 1e6));
	if (p->messages) {
		json_decref(ev);
		return;
	}
	fputs(p->written++ ? ",\n" : "\n", p->x->out);
	export_json(p->x->out, ev);
}

static void export_inspect_put_message(struct sample *p, json_t *m)
{
	if (!p->messages) {
		json_decref(m);
		return;
	}
	fputs(p->written++ ? ",\n" : "\n", p->x->out);
	export_json(p->x->out, m);
}

static json_t *export_inspect_message(const char *role, const char *text, size_t len)
{
	json_t *m = json_object();
	json_put_str(m, "role", role);
	json_put(m, "content", json_text(text, len));
	return m;
}

static json_t *call_json(const struct step_call *c)
{
	json_t *o = json_object();
	json_put(o, "id", json_text(c->id, strlen(c->id)));
	json_put(o, "function", json_text(c->name, strlen(c->name)));
	json_put(o, "arguments", json_incref(c->args));
	json_put_str(o, "type", "function");
	return o;
}

static const char *stop_of(const json_t *reply, bool calls)
{
	const char *stop = json_str(reply, "stop", "");
	if (!strcmp(stop, "length") || !strcmp(stop, "max_tokens"))
		return "max_tokens";
	return calls ? "tool_calls" : "stop";
}

static void put_model_event(struct sample *p, const struct step *st, json_t *answer)
{
	json_t *ev = json_object(), *output = json_object(), *choice = json_object(),
	       *choices = json_array();
	const json_t *u = json_object_get(st->reply, "usage");
	struct usage one = { json_int(u, "in", 0), json_int(u, "out", 0),
			     json_int(u, "cached", 0) };
	if (p->messages)
		add_usage(&p->usage, &one);
	json_put(choice, "message", json_incref(answer));
	json_put_str(choice, "stop_reason", stop_of(st->reply, st->nr > 0));
	json_array_append_new(choices, choice);
	json_put_str(output, "model", json_str(st->reply, "model", "unknown"));
	json_put(output, "choices", choices);
	json_put(output, "usage", export_inspect_usage_json(&one));
	json_put(output, "time", json_real((double)st->took_us / 1e6));
	json_put_str(ev, "model", json_str(st->reply, "model", "unknown"));
	json_put(ev, "input", json_array());
	json_put(ev, "tools", json_array());
	json_put_str(ev, "tool_choice", "auto");
	json_put(ev, "config", json_object());
	json_put(ev, "output", output);
	export_inspect_put_event(p, ev, "model", st->ts_us);
}

static void put_approval(struct sample *p, const struct step_call *c, const struct act *a)
{
	static const char *const decisions[][2] = { { "approve", "approve" },
						    { "promote", "approve" },
						    { "release", "approve" },
						    { "edit", "modify" },
						    { "kill", "terminate" } };
	const char *was = act_text(a, a->decided.decision, "deny"), *is = "reject";
	for (size_t i = 0; i < ARRAY_LEN(decisions); i++)
		if (!strcmp(decisions[i][0], was))
			is = decisions[i][1];
	json_t *ev = json_object(), *call = call_json(c);
	json_put_str(ev, "message", json_str(a->wanted, "said", ""));
	json_put(ev, "call", call);
	if (a->edited) {
		CLEANUP(buf_release) struct buf what = BUF_INIT;
		json_t *modified = call_json(c), *args = json_copy(c->args);
		act_what(a, &what);
		json_put(args, json_object_get(args, "command") ? "command" : "cmd",
			 json_text(buf_cstr(&what), what.len));
		json_put(modified, "arguments", args);
		json_put(ev, "modified", modified);
	}
	json_put_str(ev, "approver", act_decider(a, "policy"));
	json_put_str(ev, "decision", is);
	json_put_str(ev, "explanation", act_text(a, a->decided.message, ""));
	export_inspect_put_event(p, ev, "approval", a->ts_us);
}

/* Of a script's own tool, which has no action. */
static json_t *tool_error_of(const struct step_call *c)
{
	if (c->action || !c->ended || c->ok)
		return NULL;
	json_t *o = json_object();
	json_put_str(o, "type", "unknown");
	json_put(o, "message",
		 json_text(c->result ? c->result : "failed",
			   c->result ? c->result_len : strlen("failed")));
	return o;
}

static json_t *error_of(const struct act *a)
{
	const char *end = act_end(a);
	if (!a->seq || !strcmp(end, "ok") || !strcmp(end, "open"))
		return NULL;
	json_t *o = json_object();
	json_put_str(o, "type",
		     !strcmp(end, "denied")	 ? "approval"
		     : !strcmp(end, "timeout")	 ? "timeout"
		     : !strcmp(end, "budget")	 ? "limit"
		     : !strcmp(end, "cancelled") ? "cancelled"
						 : "unknown");
	json_put_str(o, "message", act_text(a, a->ended.why, end));
	return o;
}

static void export_inspect_put_tool(struct sample *p, const struct step_call *c, int64_t ts_us)
{
	struct act a = { 0 };
	struct err none = ERR_INIT;
	CLEANUP(buf_release) struct buf text = BUF_INIT, how = BUF_INIT;
	if (c->action && act_load(&a, p->x->s, c->action, &none) < 0)
		export_lacks(p->x, "action #%" PRIu64 ": %s", c->action, none.text);
	uint64_t bytes = a.seq ? act_output(&a, p->x->s, CONTENT_MAX, &text) : c->result_bytes;
	const char *said = c->told ? c->told : c->result ? c->result : buf_cstr(&text);
	size_t len = c->told ? c->told_len : c->result ? c->result_len : text.len;
	json_t *error = a.seq ? error_of(&a) : tool_error_of(c),
	       *m = export_inspect_message("tool", said, len), *ev = call_json(c);
	json_put(m, "tool_call_id", json_text(c->id, strlen(c->id)));
	json_put(m, "function", json_text(c->name, strlen(c->name)));
	json_put(m, "error", json_incref(error));
	export_inspect_put_message(p, m);
	if (a.has_decided)
		put_approval(p, c, &a);
	json_put(ev, "result", json_text(said, len));
	if (bytes > CONTENT_MAX) {
		json_t *cut = json_array();
		json_array_append_new(cut, json_integer((json_int_t)bytes));
		json_array_append_new(cut, json_integer(CONTENT_MAX));
		json_put(ev, "truncated", cut);
	}
	json_put(ev, "error", error);
	json_put_flag(ev, "failed", error != NULL);
	if (a.end_us) {
		json_put(ev, "completed", json_time(a.end_us));
		json_put(ev, "working_time", json_real((double)a.ended.dur_us / 1e6));
	}
	json_t *meta = json_object();
	json_put_int(meta, "action", (int64_t)a.seq);
	if (a.seq) {
		act_how(&a, &how);
		json_put_str(meta, "end", buf_cstr(&how));
	}
	json_put(ev, "metadata", meta);
	export_inspect_put_event(p, ev, "tool", a.seq ? a.ts_us : ts_us);
	act_release(&a);
}

static void export_inspect_put_step(struct sample *p, const struct step *st)
{
	static const char *const role[] = { "system", "user", "assistant" };
	json_t *m = export_inspect_message(role[st->who], st->text, strlen(st->text));
	p->end_us = st->ts_us;
	if (st->who == STEP_USER)
		json_put_str(m, "source", !strcmp(st->from, "person") ? "operator" : "input");
	if (st->who == STEP_AGENT) {
		json_t *calls = json_array();
		for (size_t i = 0; i < st->nr; i++)
			json_array_append_new(calls, call_json(&st->call[i]));
		if (st->nr)
			json_put(m, "tool_calls", calls);
		else
			json_decref(calls);
		json_put_str(m, "source", "generate");
		free(p->last);
		p->last = mem_strdup(st->text);
		if (st->reply) {
			json_put_str(m, "model", json_str(st->reply, "model", "unknown"));
			put_model_event(p, st, m);
		}
	}
	export_inspect_put_message(p, m);
	for (size_t i = 0; i < st->nr; i++)
		export_inspect_put_tool(p, &st->call[i], st->ts_us);
}

static void put_output(struct sample *p)
{
	json_t *o = json_object(), *choices = json_array(), *choice = json_object();
	json_put(choice, "message",
		 export_inspect_message("assistant", p->last ? p->last : "",
					p->last ? strlen(p->last) : 0));
	json_put_str(choice, "stop_reason", "stop");
	json_array_append_new(choices, choice);
	json_put_str(o, "model", p->model);
	json_put(o, "choices", choices);
	fputs(",\"output\":", p->x->out);
	export_json(p->x->out, o);
}

static int put_steps(struct sample *p, uint64_t agent, bool messages, struct err *err)
{
	struct steps *steps = NULL;
	struct step st;
	p->messages = messages;
	p->written = 0;
	int rc = steps_new(&steps, p->x->s, agent, err);
	while (rc == 0 && (rc = steps_next(steps, &st, err)) > 0) {
		if (!p->begin_us)
			p->begin_us = st.ts_us;
		export_inspect_put_step(p, &st);
		step_release(&st);
		rc = 0;
	}
	steps_free(&steps);
	return rc;
}

/* {"model": usage}, one entry for each model of the session */
static void add_model(json_t *by_model, const char *model, const struct usage *u)
{
	json_t *had = json_object_get(by_model, model);
	struct usage sum = { json_int(had, "input_tokens", 0) +
				     json_int(had, "input_tokens_cache_read", 0),
			     json_int(had, "output_tokens", 0),
			     json_int(had, "input_tokens_cache_read", 0) };
	add_usage(&sum, u);
	json_put(by_model, model, export_inspect_usage_json(&sum));
}

static int put_sample(struct export *x, uint64_t agent, json_t *all, struct err *err)
{
	struct sample p = { .x = x };
	json_t *start = steps_agent(x->s, agent), *end = steps_agent_end(x->s, agent);
	const char *name = agent ? json_str(start, "name", "agent") : "script",
		   *task = json_str(start, "task", "");
	CLEANUP(free_ptr)
	char *id = agent ? mem_printf("%s-%" PRIu64, name, agent) : mem_strdup(name);
	p.model = mem_strdup(json_str(start, "model", "none"));
	fputs("{\"id\":", x->out);
	export_json_text(x->out, id, strlen(id));
	fputs(",\"epoch\":1,\"input\":", x->out);
	export_json_text(x->out, task, strlen(task));
	fputs(",\"target\":\"\",\"messages\":[", x->out);
	int rc = put_steps(&p, agent, true, err);
	fputs("]", x->out);
	put_output(&p);
	fputs(",\"events\":[", x->out);
	if (rc == 0)
		rc = put_steps(&p, agent, false, err);
	json_t *meta = json_object(), *by_model = json_object();
	json_put_str(meta, "stop", json_str(end, "stop", "open"));
	if (p.usage.in || p.usage.out) {
		add_model(by_model, p.model, &p.usage);
		add_model(all, p.model, &p.usage);
	}
	fputs("],\"model_usage\":", x->out);
	export_json(x->out, by_model);
	fprintf(x->out,
		",\"total_time\":%.6f,\"metadata\":", (double)(p.end_us - p.begin_us) / 1e6);
	export_json(x->out, meta);
	fputs("}", x->out);
	free(p.model);
	free(p.last);
	json_decref(start);
	json_decref(end);
	return rc;
}

static json_t *export_inspect_spec(struct export *x, size_t samples, const char *model,
				   const char *created)
{
	json_t *o = json_object(), *data = json_object(), *meta = json_object();
	json_put_str(o, "eval_id", session_id(x->s));
	json_put_str(o, "run_id", session_id(x->s));
	json_put_str(o, "created", created);
	json_put_str(o, "task", session_name(x->s));
	json_put_str(o, "task_id", session_id(x->s));
	json_put_int(o, "task_version", 0);
	json_put_str(data, "name", session_name(x->s));
	json_put_int(data, "samples", (int64_t)samples);
	json_put(o, "dataset", data);
	json_put_str(o, "model", model);
	json_put(o, "model_args", json_object());
	json_put(o, "config", json_object());
	json_put_str(meta, "recorder", "sandglass " SANDGLASS_VERSION);
	json_put(o, "metadata", meta);
	return o;
}

static int64_t event_time(struct session *s, uint64_t seq)
{
	struct arena arena = ARENA_INIT;
	struct event ev = { 0 };
	struct err none = ERR_INIT;
	int64_t ts = session_event(s, seq, &ev, &arena, &none) == 0 ? ev.ts_us : 0;
	arena_release(&arena);
	return ts;
}

static void export_inspect_put_head(struct export *x, const uint64_t *agent, size_t nr,
				    size_t samples)
{
	json_t *first = steps_agent(x->s, nr ? agent[0] : 0),
	       *created = json_time(event_time(x->s, 1));
	struct arena arena = ARENA_INIT;
	struct event ev;
	struct err none = ERR_INIT;
	const char *status = "started";
	if (session_event(x->s, session_head(x->s), &ev, &arena, &none) == 0 &&
	    ev.kind == EV_SESSION_END && ev.body) {
		json_t *end = json_parse(ev.body, ev.len, "session.end", &none);
		status = json_flag(end, "ok", true) ? "success" : "error";
		json_decref(end);
	}
	arena_release(&arena);
	fprintf(x->out, "{\"version\":2,\"status\":\"%s\",\"eval\":", status);
	export_json(x->out, export_inspect_spec(x, samples, json_str(first, "model", "none/none"),
						json_string_value(created)));
	fputs(",\"samples\":[\n", x->out);
	json_decref(first);
	json_decref(created);
}

int export_inspect(struct export *x, struct err *err)
{
	uint64_t *agent = NULL;
	size_t nr = 0;
	if (steps_agents(x->s, &agent, &nr, err) < 0)
		return -1;
	bool alone = !nr || steps_any(x->s, 0);
	json_t *by_model = json_object(), *stats = json_object();
	export_inspect_put_head(x, agent, nr, nr + alone);
	int rc = alone ? put_sample(x, 0, by_model, err) : 0;
	for (size_t i = 0; rc == 0 && i < nr; i++) {
		fputs(i || alone ? ",\n" : "", x->out);
		rc = put_sample(x, agent[i], by_model, err);
	}
	json_put(stats, "started_at", json_time(event_time(x->s, 1)));
	json_put(stats, "completed_at", json_time(event_time(x->s, session_head(x->s))));
	json_put(stats, "model_usage", by_model);
	fputs("],\"stats\":", x->out);
	export_json(x->out, stats);
	fputs("}\n", x->out);
	free(agent);
	return rc;
}
