/* ATIF 1.7, the Agent Trajectory Interchange Format: one document. Agents are embedded
 * trajectories if there are several or the script acted itself. Rules: step ids count from 1;
 * only agent steps have model, calls, and metrics; every source_call_id names a call of the same
 * step; llm_call_count 0 = no model was called, and then there are no metrics. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "exchange/export.h"
#include "exchange/steps.h"
#include "base/mem.h"

enum { CONTENT_MAX = 64 << 10 };

struct atif {
	struct export *x;
	int64_t prompt, completion, cached, cost_uusd;
	bool cost_unknown;
	int64_t steps;
};

static json_t *export_atif_usd(int64_t uusd)
{
	return json_real((double)uusd / 1000000.0);
}

static json_t *call_extra(const struct act *a)
{
	json_t *o = json_object();
	CLEANUP(buf_release) struct buf rules = BUF_INIT;
	act_rules(a, &rules);
	json_put_int(o, "action", (int64_t)a->seq);
	json_put_str(o, "verdict", act_text(a, a->judged.verdict, "unknown"));
	if (rules.len)
		json_put(o, "policy_rule", json_text(buf_cstr(&rules), rules.len));
	if (a->has_decided) {
		struct err none = ERR_INIT;
		const struct ev_action_decided *d = &a->decided;
		json_put_str(o, "decision", act_text(a, d->decision, "unknown"));
		json_put_str(o, "decided_by", act_decider(a, "unknown"));
		if (*act_text(a, d->message, ""))
			json_put_str(o, "message", act_text(a, d->message, ""));
		if (d->edit.s)
			json_put(o, "executed", json_parse(d->edit.s, d->edit.n, "edit", &none));
	}
	return o;
}

static json_t *result_extra(const struct act *a, uint64_t bytes)
{
	json_t *o = json_object();
	json_put_str(o, "end", act_end(a));
	if (a->ended.has_code)
		json_put_int(o, "exit_code", a->ended.code);
	if (a->ended.has_signal)
		json_put_int(o, "signal", a->ended.signal);
	json_put_int(o, "duration_ms", a->ended.dur_us / 1000);
	json_put_int(o, "output_bytes", (int64_t)bytes);
	json_put_flag(o, "truncated", bytes > CONTENT_MAX);
	if (a->has_snapshot) {
		json_put_str(o, "tree_after", act_text(a, a->snapshot.tree, ""));
		json_put_int(o, "files_changed", a->snapshot.changed);
	}
	return o;
}

static void export_atif_put_content(json_t *result, const struct step_call *c, const struct act *a,
				    struct session *s, uint64_t *bytes)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	*bytes = a->seq ? act_output(a, s, CONTENT_MAX, &text) : 0;
	if (c->told) /* what the model was shown, which may be less than there was */
		json_put(result, "content", json_text(c->told, c->told_len));
	else if (c->result)
		json_put(result, "content", json_text(c->result, c->result_len));
	else if (a->seq && !strcmp(act_end(a), "denied"))
		json_put(result, "content",
			 json_sprintf("rejected: %s", act_text(a, a->ended.why, "denied")));
	else
		json_put(result, "content", json_text(buf_cstr(&text), text.len));
}

static void put_call(struct atif *t, const struct step_call *c, json_t *calls, json_t *results)
{
	struct act a = { 0 };
	struct err none = ERR_INIT;
	json_t *call = json_object(), *result = json_object();
	uint64_t bytes;
	if (c->action && act_load(&a, t->x->s, c->action, &none) < 0)
		export_lacks(t->x, "action #%" PRIu64 ": %s", c->action, none.text);
	json_put(call, "tool_call_id", json_text(c->id, strlen(c->id)));
	json_put(call, "function_name", json_text(c->name, strlen(c->name)));
	json_put(call, "arguments", json_incref(c->args));
	json_put(result, "source_call_id", json_text(c->id, strlen(c->id)));
	export_atif_put_content(result, c, &a, t->x->s, &bytes);
	if (a.seq) {
		CLEANUP(buf_release) struct buf what = BUF_INIT;
		act_what(&a, &what);
		if (!json_object_size(c->args)) {
			json_t *args = json_object();
			json_put(args, "what", json_text(buf_cstr(&what), what.len));
			json_put(call, "arguments", args);
		}
		json_put(call, "extra", call_extra(&a));
		json_put(result, "extra", result_extra(&a, bytes));
	} else if (c->ended) { /* a script's own tool */
		json_t *o = json_object();
		json_put_str(o, "end", c->ok ? "ok" : "failed");
		json_put_int(o, "output_bytes", (int64_t)c->result_bytes);
		json_put_flag(o, "truncated", c->result_bytes > c->result_len);
		json_put(result, "extra", o);
	}
	json_array_append_new(calls, call);
	json_array_append_new(results, result);
	act_release(&a);
}

static json_t *export_atif_metrics(struct atif *t, const json_t *reply)
{
	const json_t *u = json_object_get(reply, "usage");
	json_t *m = json_object();
	json_put_int(m, "prompt_tokens", json_int(u, "in", 0));
	json_put_int(m, "completion_tokens", json_int(u, "out", 0));
	json_put_int(m, "cached_tokens", json_int(u, "cached", 0));
	if (!json_flag(reply, "cost_unknown", false))
		json_put(m, "cost_usd", export_atif_usd(json_int(reply, "cost_uusd", 0)));
	t->prompt += json_int(u, "in", 0);
	t->completion += json_int(u, "out", 0);
	t->cached += json_int(u, "cached", 0);
	t->cost_uusd += json_int(reply, "cost_uusd", 0);
	t->cost_unknown |= json_flag(reply, "cost_unknown", false);
	return m;
}

static json_t *step_json(struct atif *t, const struct step *st)
{
	static const char *const who[] = { "system", "user", "agent" };
	json_t *o = json_object(), *extra = json_object();
	json_put_int(o, "step_id", ++t->steps);
	json_put(o, "timestamp", json_time(st->ts_us));
	json_put_str(o, "source", who[st->who]);
	json_put(o, "message", json_text(st->text, strlen(st->text)));
	json_put_int(extra, "event", (int64_t)st->seq);
	if (st->who == STEP_USER)
		json_put_str(extra, "source", !strcmp(st->from, "person") ? "operator" : st->from);
	if (st->who == STEP_AGENT) {
		json_put_int(o, "llm_call_count", st->reply ? 1 : 0);
		if (st->reply) {
			json_put_str(o, "model_name", json_str(st->reply, "model", "unknown"));
			json_put(o, "metrics", export_atif_metrics(t, st->reply));
		}
	}
	if (st->nr) {
		json_t *calls = json_array(), *results = json_array(), *seen = json_object();
		for (size_t i = 0; i < st->nr; i++)
			put_call(t, &st->call[i], calls, results);
		json_put(o, "tool_calls", calls);
		json_put(seen, "results", results);
		json_put(o, "observation", seen);
	}
	json_put(o, "extra", extra);
	return o;
}

static void export_atif_put_agent(struct atif *t, uint64_t agent)
{
	FILE *out = t->x->out;
	json_t *start = steps_agent(t->x->s, agent), *a = json_object();
	const char *name = agent ? json_str(start, "name", "agent") : "script",
		   *model = json_str(start, "model", NULL);
	json_put_str(a, "name", *name ? name : "agent");
	json_put_str(a, "version", SANDGLASS_VERSION);
	if (model && *model)
		json_put_str(a, "model_name", model);
	fputs("\"agent\":", out);
	export_json(out, a);
	json_decref(start);
}

static void put_totals(struct atif *t)
{
	json_t *m = json_object();
	json_put_int(m, "total_prompt_tokens", t->prompt);
	json_put_int(m, "total_completion_tokens", t->completion);
	json_put_int(m, "total_cached_tokens", t->cached);
	if (!t->cost_unknown) /* a sum without some of it would be read as the whole */
		json_put(m, "total_cost_usd", export_atif_usd(t->cost_uusd));
	json_put_int(m, "total_steps", t->steps);
	fputs(",\"final_metrics\":", t->x->out);
	export_json(t->x->out, m);
}

/* {"schema_version"..., "steps":[...], "final_metrics":...: without the last brace */
static int put_trajectory(struct export *x, uint64_t agent, struct err *err)
{
	struct atif t = { .x = x };
	struct steps *steps = NULL;
	struct step st;
	fprintf(x->out,
		"{\"schema_version\":\"ATIF-v1.7\",\"session_id\":\"%s\",\"trajectory_id\":\"%s",
		session_id(x->s), session_id(x->s));
	if (agent)
		fprintf(x->out, "-%" PRIu64, agent);
	fputs("\",", x->out);
	export_atif_put_agent(&t, agent);
	fputs(",\"steps\":[", x->out);
	int rc = steps_new(&steps, x->s, agent, err);
	while (rc == 0 && (rc = steps_next(steps, &st, err)) > 0) {
		fputs(t.steps ? ",\n" : "\n", x->out);
		export_json(x->out, step_json(&t, &st));
		step_release(&st);
		rc = 0;
	}
	if (rc == 0 && !t.steps) { /* the format wants one */
		struct step none = { .who = STEP_SYSTEM,
				     .from = "",
				     .text = mem_strdup("(no text and no action)") };
		export_json(x->out, step_json(&t, &none));
		step_release(&none);
	}
	fputs("]", x->out);
	put_totals(&t);
	steps_free(&steps);
	return rc;
}

int export_atif(struct export *x, struct err *err)
{
	uint64_t *agent = NULL;
	size_t nr = 0;
	if (steps_agents(x->s, &agent, &nr, err) < 0)
		return -1;
	bool one = nr == 1 && !steps_any(x->s, 0);
	int rc = put_trajectory(x, one ? agent[0] : 0, err);
	for (size_t i = 0; rc == 0 && !one && i < nr; i++) {
		fputs(i ? ",\n" : ",\"subagent_trajectories\":[", x->out);
		rc = put_trajectory(x, agent[i], err);
		fputs("}", x->out);
	}
	fputs(nr && !one ? "]}\n" : "}\n", x->out);
	free(agent);
	return rc;
}
