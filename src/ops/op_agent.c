/* Agents, their turns, tools and budgets. */
#include <stdlib.h>
#include <inttypes.h>
#include <string.h>

#include "ops/dispatch.h"
#include "supervisor/core/call.h"
#include "ops/op.h"
#include "luahost/answer_cache.h"
#include "secrets/secret_source.h"
#include "secrets/vault.h"
#include "base/clock.h"
#include "record/record_event.h"

static struct budget_limits op_agent_limits_of(const json_t *o)
{
	return (struct budget_limits){
		.uusd = json_int(o, "uusd", 0),
		.tokens = json_int(o, "tokens", 0),
		.time_us = json_int(o, "time_us", 0),
		.steps = json_int(o, "steps", 0),
		.actions = json_int(o, "actions", 0),
	};
}

static bool limits_any(const struct budget_limits *l)
{
	return l->uusd || l->tokens || l->time_us || l->steps || l->actions;
}

static uint64_t op_agent_record_start(struct call *c, const char *name)
{
	json_t *body = json_object();
	json_put_str(body, "name", name);
	json_put_str(body, "task", json_str(c->args, "task", ""));
	json_put_str(body, "model", json_str(c->args, "model", ""));
	json_put_int(body, "parent", (int64_t)c->agent);
	if (json_flag(c->args, "interactive", false))
		json_put_flag(body, "interactive", true);
	json_put(body, "limits", json_incref(json_object_get(c->args, "limits")));
	json_put(body, "tools", json_incref(json_object_get(c->args, "tools")));
	if (json_is_integer(json_object_get(c->args, "box")))
		json_put_int(body, "box", json_int(c->args, "box", 0));
	call_mark(c, body);
	return record_append_json(c->super->record, EV_AGENT_START,
				  c->agent ? c->agent : c->super->start_seq, 0, 0, 0, body);
}

void op_agent_start(struct call *c)
{
	struct super *s = c->super;
	uint64_t id;
	const char *name = json_str(c->args, "name", "agent");
	bool before = call_done_before(c, EV_AGENT_START, &id) != NULL;
	if (!before)
		id = op_agent_record_start(c, name);
	const struct agent *above = super_agent(s, c->agent);
	bool tainted = above && above->tainted;
	struct agent *a = before ? super_agent(s, id) : super_agent_add(s, id, name);
	if (a && !before) {
		a->parent = c->agent;
		a->tainted = tainted; /* its task comes from there */
	}
	struct budget_limits lim = op_agent_limits_of(json_object_get(c->args, "limits"));
	uint64_t parent = (uint64_t)json_int(c->args, "budget", (json_int_t)s->session_budget);
	if (a && !a->budget && (limits_any(&lim) || parent))
		a->budget = gate_budget(s->gate, parent, id, &lim);
	json_t *v = json_object();
	json_put_int(v, "agent", (int64_t)id);
	call_answer(c, v);
}

static void turn_now(struct call *c)
{
	struct super *s = c->super;
	uint64_t id = (uint64_t)json_int(c->args, "agent", (json_int_t)c->agent);
	struct agent *a = super_agent(s, id);
	uint64_t before;
	if (call_done_before(c, EV_AGENT_TURN, &before)) {
		call_answer(c, NULL);
		return;
	}
	record_ev_agent_turn(s->record, &(struct event){ .cause = id, .agent = id },
			     &(struct ev_agent_turn){ EV_SET(n, json_int(c->args, "n", 0)),
						      .call = call_number(c) });
	if (a && a->budget)
		gate_budget_spend(s->gate, a->budget, &(struct budget_limits){ .steps = 1 });
	call_answer(c, NULL);
}

static void cancel_turn(struct call *c)
{
	call_fail(c, "cancelled", NULL, NULL, 0, "cancelled");
}

/* A paused agent stops here, before its next model call. */
void op_agent_turn(struct call *c)
{
	if (gate_paused(c->super->gate,
			(uint64_t)json_int(c->args, "agent", (json_int_t)c->agent))) {
		c->cancel = cancel_turn;
		return;
	}
	turn_now(c);
}

void op_agents_continue(struct super *s)
{
	for (struct call *c = s->calls, *next; c; c = next) {
		next = c->next;
		if (!strcmp(c->op, "agent.turn") && !c->action &&
		    !gate_paused(s->gate,
				 (uint64_t)json_int(c->args, "agent", (json_int_t)c->agent)))
			turn_now(c);
	}
}

/* A step lets one action through. A model call is an action, so its turn continues. */
void op_agents_step(struct super *s, uint64_t agent)
{
	for (struct call *c = s->calls, *next; c; c = next) {
		next = c->next;
		uint64_t id = (uint64_t)json_int(c->args, "agent", (json_int_t)c->agent);
		if (!strcmp(c->op, "agent.turn") && !c->action && (!agent || agent == id))
			turn_now(c);
	}
}

void op_agent_end(struct call *c)
{
	uint64_t id = (uint64_t)json_int(c->args, "agent", (json_int_t)c->agent);
	struct agent *a = super_agent(c->super, id);
	uint64_t before;
	if (call_done_before(c, EV_AGENT_END, &before)) {
		call_answer(c, NULL);
		return;
	}
	CLEANUP(arena_release) struct arena mem = ARENA_INIT;
	record_ev_agent_end(c->super->record, &(struct event){ .cause = id, .agent = id },
			    &(struct ev_agent_end){
				    .call = call_number(c),
				    .stop = ev_text_of(json_str(c->args, "stop", "end")),
				    .text = ev_text_from(&mem, json_object_get(c->args, "text")),
				    EV_SET(ok, json_flag(c->args, "ok", false)),
				    EV_SET(steps, json_int(c->args, "steps", 0)) });
	if (a) {
		a->ended = true;
		struct agent *above = super_agent(c->super, a->parent);
		if (above && a->tainted)
			above->tainted = true; /* its answer goes there */
	}
	call_answer(c, NULL);
}

/* --- a script's own tools --- */

static void op_agent_permit(void *self, struct action *a)
{
	(void)self;
	/* what is permitted runs in the script; tool.end tells how it went */
	action_ended(a, END_OK, NULL);
}

static void op_agent_no_cancel(void *self, struct action *a, const char *how)
{
	(void)self;
	(void)a;
	(void)how; /* it has ended before anybody could ask */
}

static const struct effector tool_effector = { .name = "tool",
					       .start = op_agent_permit,
					       .cancel = op_agent_no_cancel };

/* The result of a host tool is untrusted content; a user's own message is not. */
static void op_agent_taint(struct call *c)
{
	struct agent *a = super_agent(c->super, c->agent);
	bool host = !strcmp(json_str(c->args, "where", "box"), "host");
	if (a && host && strcmp(json_str(c->args, "name", ""), "ask_user") != 0)
		a->tainted = true;
}

static void op_agent_tool_done(struct call *c, const struct action_result *res)
{
	if (!call_outcome(c, res))
		return;
	op_agent_taint(c);
	json_t *v = json_object();
	json_put_int(v, "event", (int64_t)res->id);
	call_answer(c, v);
}

void op_tool_call(struct call *c)
{
	const char *name = json_str(c->args, "name", "?");
	bool on_host = !strcmp(json_str(c->args, "where", "box"), "host");
	if (!on_host && !json_flag(c->args, "ask", false)) {
		uint64_t seq;
		if (!call_done_before(c, EV_TOOL_CALL, &seq)) {
			CLEANUP(arena_release) struct arena mem = ARENA_INIT;
			int64_t nr = call_number(c);
			seq = record_ev_tool_call(
				c->super->record,
				&(struct event){ .cause = c->agent, .agent = c->agent },
				&(struct ev_tool_call){
					.name = ev_text_of(name),
					.where = ev_text_of("box"),
					.args = ev_json_of(&mem, json_object_get(c->args, "args")),
					.call = ev_text_of(nr ? arena_printf(&mem, "%" PRId64, nr)
							      : NULL) });
		}
		json_t *v = json_object();
		json_put_int(v, "event", (int64_t)seq);
		call_answer(c, v);
		return;
	}
	struct action_spec spec = { .kind = ACT_HOST,
				    .tool = name,
				    .args = json_object_get(c->args, "args"),
				    .leaves_box = on_host,
				    .parallel = true };
	c->tool = name;
	call_action(c, &spec, &tool_effector, op_agent_tool_done);
}

/* --- budgets --- */

void op_budget_new(struct call *c)
{
	struct budget_limits lim = op_agent_limits_of(json_object_get(c->args, "limits"));
	uint64_t parent =
		(uint64_t)json_int(c->args, "parent", (json_int_t)c->super->session_budget);
	json_t *v = json_object();
	json_put_int(v, "budget", (int64_t)gate_budget(c->super->gate, parent, c->agent, &lim));
	call_answer(c, v);
}

void op_budget_left(struct call *c)
{
	call_answer(c, gate_budget_left(c->super->gate, (uint64_t)json_int(c->args, "budget", 0)));
}

/* --- what scripts tell --- */

void call_tell(struct super *s, const json_t *frame)
{
	const char *op = json_str(frame, "op", "");
	json_t *args = json_object_get(frame, "args");
	uint64_t agent = (uint64_t)json_int(frame, "agent", 0);
	uint64_t cause = agent ? agent : s->start_seq;
	if (!strcmp(op, "secret")) {
		const char *name = json_str(args, "name", "");
		if (secret_name_ok(name))
			vault_declare(s->vault, name, agent);
	} else if (!strcmp(op, "note")) {
		json_t *body = json_copy(args);
		json_put_str(body, "at", json_str(frame, "at", NULL));
		if (!agent)
			json_put(body, "task", json_incref(json_object_get(frame, "task")));
		record_append_json(s->record, EV_NOTE, cause, agent, 0, 0, body);
	} else if (!strcmp(op, "agent.state")) {
		agent = (uint64_t)json_int(args, "agent", (json_int_t)agent);
		record_ev_agent_state(s->record, &(struct event){ .cause = agent, .agent = agent },
				      &(struct ev_agent_state){
					      .state = ev_text_of(json_str(args, "state", "")) });
	} else if (!strcmp(op, "agent.told")) {
		record_append_json(s->record, EV_AGENT_TOLD, cause, agent, 0, 0, json_copy(args));
	} else if (!strcmp(op, "tool.end")) {
		CLEANUP(arena_release) struct arena mem = ARENA_INIT;
		uint64_t event = (uint64_t)json_int(args, "event", (json_int_t)cause);
		record_ev_tool_end(
			s->record, &(struct event){ .cause = event, .agent = agent },
			&(struct ev_tool_end){
				EV_SET(ok, json_flag(args, "ok", false)),
				.text = ev_text_from(&mem, json_object_get(args, "text")) });
	}
}
