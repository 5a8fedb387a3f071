/* Trajectories that are one JSON document of turns with calls and results: ATIF and SWE-agent's
 * .traj. */
#include <stdlib.h>
#include <string.h>

#include "exchange/import.h"
#include "base/mem.h"

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
		json_array_append_new(calls, import_call_of(json_str(one, "tool_call_id", ""),
							    json_str(one, "function_name", "?"),
							    json_object_get(one, "arguments")));
	struct usage u = { .in = import_tokens(m, "prompt_tokens"),
			   .out = import_tokens(m, "completion_tokens"),
			   .cached = import_tokens(m, "cached_tokens"),
			   .cost_uusd = import_uusd(m, "cost_usd") };
	if (json_int(step, "llm_call_count", 1) != 0)
		import_reply(im, json_str(step, "model_name", NULL), text, calls, &u,
			     json_array_size(calls) ? "calls" : "end");
	import_calls(im, calls);
	json_array_foreach(json_object_get(json_object_get(step, "observation"), "results"), i, one)
	{
		CLEANUP(free_ptr) char *out = import_text(json_object_get(one, "content"));
		const json_t *extra = json_object_get(one, "extra");
		const char *id = json_str(one, "source_call_id", NULL),
			   *end = json_str(extra, "end", "ok");
		if (id)
			import_result(im, id, out, strlen(out),
				      strcmp(end, "ok") != 0 || json_int(extra, "signal", 0),
				      (int)json_int(extra, "exit_code", -1));
		else
			import_say(im, "user", out, false);
	}
	json_decref(calls);
}

static void atif_trajectory(struct import *im, const json_t *t, int depth)
{
	const json_t *agent = json_object_get(t, "agent");
	const char *id = json_str(t, "trajectory_id", ""), *who = json_str(agent, "name", "agent");
	CLEANUP(free_ptr) char *name = depth ? mem_printf("%s %s", who, id) : mem_strdup(who);
	size_t i;
	json_t *one;
	import_agent(im, name, json_str(agent, "model_name", NULL));
	json_array_foreach(json_object_get(t, "steps"), i, one)
	{
		import_agent(im, name, NULL);
		if (json_is_object(one))
			atif_step(im, one);
		else
			import_gap(im, i + 1, 0, "a step that is not an object");
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
		rc = err_set(err, ERR_PARSE, "not an ATIF 1 document: schema_version is '%.40s'",
			     json_str(doc, "schema_version", ""));
	else
		atif_trajectory(im, doc, 0);
	json_decref(doc);
	return rc;
}

/* --- SWE-agent --- */

int sniff_swe(const char *head, size_t len)
{
	(void)len;
	return head[0] == '{' && strstr(head, "\"trajectory\"") && strstr(head, "\"observation\"")
		       ? 70
		       : 0;
}

/* The part before the first answer: the instructions and the task. The steps have the rest. */
static void swe_begin(struct import *im, const json_t *doc)
{
	size_t i;
	json_t *m;
	json_array_foreach(json_object_get(doc, "history"), i, m)
	{
		const char *role = json_str(m, "role", "");
		CLEANUP(free_ptr) char *text = import_text(json_object_get(m, "content"));
		if (!strcmp(role, "assistant"))
			break;
		import_say(im, !strcmp(role, "system") ? "system" : "user", text,
			   !strcmp(role, "user") && !json_flag(m, "is_demo", false));
	}
}

/* The settings of the run are an object, or a JSON document in a string. */
static char *swe_model(const json_t *doc)
{
	json_t *given = json_object_get(doc, "replay_config");
	const char *text = json_string_value(given);
	struct err none = ERR_INIT;
	CLEANUP(json_release)
	json_t *config =
		text ? json_parse(text, strlen(text), "replay_config", &none) : json_incref(given);
	const char *name =
		json_str(json_object_get(json_object_get(config, "agent"), "model"), "name", NULL);
	return name ? mem_strdup(name) : NULL;
}

int import_swe(struct import *im, FILE *in, struct err *err)
{
	size_t i;
	json_t *step, *doc = import_document(in, err);
	if (!doc)
		return -1;
	const json_t *info = json_object_get(doc, "info"),
		     *stats = json_object_get(info, "model_stats");
	struct usage none = USAGE_INIT, all = { .in = import_tokens(stats, "tokens_sent"),
						.out = import_tokens(stats, "tokens_received"),
						.cost_uusd = import_uusd(stats, "instance_cost") };
	CLEANUP(free_ptr) char *model = swe_model(doc);
	const char *status = json_str(info, "exit_status", NULL);
	import_agent(im, "swe-agent", model);
	swe_begin(im, doc);
	json_array_foreach(json_object_get(doc, "trajectory"), i, step)
	{
		CLEANUP(free_ptr) char *id = mem_printf("step-%zu", i + 1);
		const char *action = json_str(step, "action", ""),
			   *out = json_str(step, "observation", "");
		json_t *args = json_object(), *calls = json_array();
		json_put(args, "command", json_string(action));
		if (*action) /* an answer that could not be understood asks for nothing */
			json_array_append_new(calls, import_call_of(id, "bash", args));
		import_reply(im, NULL, json_str(step, "response", json_str(step, "thought", "")),
			     calls, &none, *action ? "calls" : "end");
		import_calls(im, calls);
		if (*action)
			import_result(im, id, out, strlen(out), false, -1);
		else if (*out)
			import_say(im, "user", out, false);
		json_decref(args);
		json_decref(calls);
	}
	if (all.in || all.out)
		import_spent(im, &all);
	if (status && strncmp(status, "submitted", 9) != 0)
		import_stop(im,
			    strstr(status, "cost") || strstr(status, "context") ? "budget"
										: "error",
			    status);
	json_decref(doc);
	return 0;
}
