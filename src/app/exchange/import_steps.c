/* Trajectories that are one JSON document: ATIF, Inspect's eval log, SWE-agent's .traj. All are turns of messages with calls
 * and results. */
#include <stdlib.h>
#include <string.h>

#include "app/exchange/import_inspect.h"
#include "base/mem.h"

static json_t *call_of(const char *id, const char *name, const json_t *args)
{
	json_t *call = json_object();
	json_put(call, "id", json_string(id));
	json_put(call, "name", json_string(name));
	json_put(call, "args", json_is_object(args) ? json_deep_copy(args) : json_object());
	return call;
}

static void give_calls(struct import *im, const json_t *calls)
{
	size_t i;
	json_t *call;
	json_array_foreach(calls, i, call)
		import_call(im, json_str(call, "id", ""), json_str(call, "name", "?"), json_object_get(call, "args"));
}

static int64_t uusd(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);
	double usd = json_is_number(v) ? json_number_value(v) : -1;
	return usd >= 0 && usd < 1e9 ? (int64_t)(usd * 1e6 + 0.5) : -1;
}

/* --- ATIF --- */

static void atif_step(struct import *im, const json_t *step)
{
	const char *source = json_str(step, "source", "agent");
	const json_t *m = json_object_get(step, "metrics");
	CLEANUP(free_ptr) char *text = import_text(json_object_get(step, "message"));
	size_t i;
	json_t *one;
	import_time(im, json_str(step, "timestamp", NULL));
	if (strcmp(source, "agent") != 0) {
		import_say(im, source, text, !strcmp(source, "user"));
		return;
	}
	json_t *calls = json_array();
	json_array_foreach(json_object_get(step, "tool_calls"), i, one)
		json_array_append_new(calls, call_of(json_str(one, "tool_call_id", ""), json_str(one, "function_name", "?"),
						     json_object_get(one, "arguments")));
	struct usage u = { .in = import_tokens(m, "prompt_tokens"), .out = import_tokens(m, "completion_tokens"),
			   .cached = import_tokens(m, "cached_tokens"), .cost_uusd = uusd(m, "cost_usd") };
	if (json_int(step, "llm_call_count", 1) != 0)
		import_reply(im, json_str(step, "model_name", NULL), text, calls, &u, json_array_size(calls) ? "calls" : "end");
	give_calls(im, calls);
	json_array_foreach(json_object_get(json_object_get(step, "observation"), "results"), i, one) {
		CLEANUP(free_ptr) char *out = import_text(json_object_get(one, "content"));
		const json_t *extra = json_object_get(one, "extra");
		const char *id = json_str(one, "source_call_id", NULL), *end = json_str(extra, "end", "ok");
		if (id)
			import_result(im, id, out, strlen(out), strcmp(end, "ok") != 0, (int)json_int(extra, "exit_code", -1));
		else
			import_say(im, "user", out, false);
	}
	json_decref(calls);
}

static void atif_trajectory(struct import *im, const json_t *t, int depth)
{
	const json_t *agent = json_object_get(t, "agent");
	const char *id = json_str(t, "trajectory_id", ""), *who = json_str(agent, "name", "agent");
	CLEANUP(free_ptr) char *name = depth ? xasprintf("%s %s", who, id) : xstrdup(who);
	size_t i;
	json_t *one;
	import_agent(im, name, json_str(agent, "model_name", NULL));
	json_array_foreach(json_object_get(t, "steps"), i, one) {
		import_agent(im, name, NULL);
		if (json_is_object(one))
			atif_step(im, one);
		else
			import_gap(im, i + 1, 0, "a step that is no object");
	}
	if (depth < 16)
		json_array_foreach(json_object_get(t, "subagent_trajectories"), i, one)
			atif_trajectory(im, one, depth + 1);
}

int sniff_atif(const char *head, size_t len)
{
	(void)len;
	return strstr(head, "\"ATIF-v1") ? 95 : 0;
}

int import_atif(struct import *im, FILE *in, struct err *err)
{
	json_t *doc = import_document(in, err);
	if (!doc)
		return -1;
	int rc = 0;
	if (strncmp(json_str(doc, "schema_version", ""), "ATIF-v1.", 8) != 0)
		rc = err_set(err, ERR_PARSE, "no ATIF 1 document: schema_version is '%.40s'", json_str(doc, "schema_version", ""));
	else
		atif_trajectory(im, doc, 0);
	json_decref(doc);
	return rc;
}

/* --- Inspect --- */

static const char *attached(const json_t *sample, const char *text)
{
	static const char mark[] = "attachment://";
	if (strncmp(text, mark, sizeof(mark) - 1) != 0)
		return text;
	return json_str(json_object_get(sample, "attachments"), text + sizeof(mark) - 1, text);
}

/* The usage of each answer stands in its model event; the n-th answer belongs to the n-th of them. */
static struct usage model_usage(const json_t *events, size_t *at, const char **when)
{
	struct usage u = USAGE_INIT;
	for (; *at < json_array_size(events); (*at)++) {
		const json_t *ev = json_array_get(events, *at), *use = json_object_get(json_object_get(ev, "output"), "usage");
		if (strcmp(json_str(ev, "event", ""), "model") != 0)
			continue;
		int64_t read = import_tokens(use, "input_tokens_cache_read"), made = import_tokens(use, "input_tokens_cache_write");
		u = (struct usage){ .in = import_tokens(use, "input_tokens") + read + made, .out = import_tokens(use, "output_tokens"),
				    .cached = read, .written = made, .cost_uusd = uusd(use, "total_cost") };
		*when = json_str(ev, "timestamp", NULL);
		(*at)++;
		break;
	}
	return u;
}

static void inspect_message(struct import *im, const json_t *sample, const json_t *m, size_t *at)
{
	const char *role = json_str(m, "role", "");
	CLEANUP(free_ptr) char *raw = import_text(json_object_get(m, "content"));
	const char *text = attached(sample, raw), *when = NULL;
	size_t i;
	json_t *one;
	if (!strcmp(role, "tool")) {
		bool failed = json_is_object(json_object_get(m, "error"));
		import_result(im, json_str(m, "tool_call_id", ""), text, strlen(text), failed, -1);
	} else if (!strcmp(role, "assistant")) {
		json_t *calls = json_array();
		json_array_foreach(json_object_get(m, "tool_calls"), i, one)
			json_array_append_new(calls, call_of(json_str(one, "id", ""), json_str(one, "function", "?"),
							     json_object_get(one, "arguments")));
		/* without a model nobody was asked: calls of a script */
		if (json_str(m, "model", NULL)) {
			struct usage u = model_usage(json_object_get(sample, "events"), at, &when);
			import_time(im, when);
			import_reply(im, json_str(m, "model", NULL), text, calls, &u, json_array_size(calls) ? "calls" : "end");
		}
		give_calls(im, calls);
		json_decref(calls);
	} else {
		import_say(im, !strcmp(role, "system") ? "system" : "user", text, !strcmp(role, "user"));
	}
}

int sniff_inspect(const char *head, size_t len)
{
	if (is_eval(head, len))
		return 80;
	return head[0] == '{' && strstr(head, "\"eval\"") && strstr(head, "\"version\"") && strstr(head, "\"status\"") ? 80 : 0;
}

void inspect_sample(struct import *im, const json_t *sample, const char *model)
{
	const json_t *id = json_object_get(sample, "id");
	CLEANUP(free_ptr) char *name = json_is_string(id) ? xstrdup(json_string_value(id)) :
		xasprintf("sample %d", (int)json_integer_value(id));
	CLEANUP(free_ptr) char *who = xasprintf("%s epoch %d", name, (int)json_int(sample, "epoch", 1));
	size_t at = 0, i;
	json_t *m;
	import_agent(im, json_int(sample, "epoch", 1) > 1 ? who : name, model);
	json_array_foreach(json_object_get(sample, "messages"), i, m)
		inspect_message(im, sample, m, &at);
}

int import_inspect(struct import *im, FILE *in, struct err *err)
{
	int first = fgetc(in);
	if (first == 'P')
		return import_eval(im, in, err);
	ungetc(first, in);
	size_t i;
	json_t *sample, *doc = import_document(in, err);
	if (!doc)
		return -1;
	int rc = json_is_array(json_object_get(doc, "samples")) ? 0 :
		err_set(err, ERR_PARSE, "no eval log with samples");
	const json_t *eval = json_object_get(doc, "eval");
	import_time(im, json_str(eval, "created", NULL));
	if (rc == 0)
		json_array_foreach(json_object_get(doc, "samples"), i, sample)
			inspect_sample(im, sample, json_str(eval, "model", NULL));
	json_decref(doc);
	return rc;
}

/* --- SWE-agent --- */

int sniff_swe(const char *head, size_t len)
{
	(void)len;
	return head[0] == '{' && strstr(head, "\"trajectory\"") && strstr(head, "\"observation\"") ? 70 : 0;
}

int import_swe(struct import *im, FILE *in, struct err *err)
{
	size_t i;
	json_t *step, *doc = import_document(in, err);
	if (!doc)
		return -1;
	const json_t *stats = json_object_get(json_object_get(doc, "info"), "model_stats");
	struct usage none = USAGE_INIT, all = { .in = import_tokens(stats, "tokens_sent"), .out = import_tokens(stats, "tokens_received"),
						.cost_uusd = uusd(stats, "instance_cost") };
	import_agent(im, "swe-agent", NULL);
	json_array_foreach(json_object_get(doc, "trajectory"), i, step) {
		CLEANUP(free_ptr) char *id = xasprintf("step-%zu", i + 1);
		const char *action = json_str(step, "action", ""), *out = json_str(step, "observation", "");
		json_t *args = json_object(), *calls = json_array();
		json_put(args, "command", json_string(action));
		json_array_append_new(calls, call_of(id, "bash", args));
		import_reply(im, NULL, json_str(step, "response", json_str(step, "thought", "")), calls, &none, "calls");
		give_calls(im, calls);
		import_result(im, id, out, strlen(out), false, -1);
		json_decref(args);
		json_decref(calls);
	}
	if (all.in || all.out)
		import_spent(im, &all);
	json_decref(doc);
	return 0;
}
