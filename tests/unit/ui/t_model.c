/* The fold of events: states of agents and actions, what waits, sums; and that it takes anything without harm. */
#include "fake_session.h"
#include "tap.h"
#include "ui/model/source.h"

static struct model m;
static uint64_t seq;

static uint64_t put(uint16_t kind, uint64_t agent, uint64_t action, const char *body)
{
	seq++;
	struct event ev = { .seq = seq,
			    .agent = agent,
			    .action = action,
			    .kind = kind,
			    .ts_us = (int64_t)seq * 1000000,
			    .body = body,
			    .len = strlen(body) };
	if (kind == EV_ACTION_REQUESTED)
		ev.action = ev.seq;
	model_apply(&m, &ev);
	return ev.seq;
}

static enum agent_state state(uint64_t agent)
{
	return model_agent_state(&m, model_agent(&m, agent));
}

static void life_of_an_action(void)
{
	uint64_t a = put(EV_AGENT_START, 0, 0, "{\"name\":\"fix\",\"limits\":{\"uusd\":1000000}}");
	is_int(state(a), AGENT_IDLE, "an agent that does nothing waits");
	uint64_t x = put(EV_ACTION_REQUESTED, a, 0, "{\"kind\":\"exec\"}");
	put(EV_ACTION_JUDGED, a, x, "{\"verdict\":\"ask\"}");
	put(EV_ACTION_HELD, a, x, "{\"risk\":\"high\",\"until_us\":5}");
	is_int(state(a), AGENT_HELD, "held");
	ok(m.nr_held == 1 && m.held[0] == x, "it is in the queue");
	ok(model_action(&m, x)->high_risk, "with its risk");
	put(EV_ACTION_HELD, a, x, "{}");
	is_int((int)m.nr_held, 1, "held again (shown again) is held once");
	put(EV_ACTION_DECIDED, a, x, "{\"decision\":\"approve\",\"by\":\"human\"}");
	is_int((int)m.nr_held, 0, "decided: out of the queue");
	put(EV_ACTION_STARTED, a, x, "{}");
	is_int(state(a), AGENT_RUN, "runs");
	put(EV_OUTPUT, a, x, "{\"stream\":1,\"len\":100}");
	put(EV_OUTPUT, a, x, "{\"stream\":2,\"len\":7}");
	put(EV_ACTION_ENDED, a, x, "{\"end\":\"ok\",\"code\":2,\"cost_uusd\":500}");
	const struct model_action *act = model_action(&m, x);
	ok(act->state == ACT_OVER && !act->ok && act->code == 2,
	   "an end with status 2 is an error");
	ok(act->out_bytes == 100 && act->err_bytes == 7, "bytes by stream");
	is_int(model_agent(&m, a)->uusd, 500, "the agent's cost");
	is_int(model_agent(&m, a)->errors, 1, "one error");
}

/* Several actions of one agent at once: later ones do not hide a pending one. */
/* The action is over, and is not counted as an error: query/action_end.h. */
static void redacted_end(void)
{
	uint64_t a = put(EV_AGENT_START, 0, 0, "{}"),
		 x = put(EV_ACTION_REQUESTED, a, 0, "{\"kind\":\"exec\"}");
	put(EV_ACTION_STARTED, a, x, "{}");
	struct event ev = { .seq = ++seq,
			    .agent = a,
			    .action = x,
			    .kind = EV_ACTION_ENDED,
			    .ts_us = (int64_t)seq * 1000000 };
	model_apply(&m, &ev);
	const struct model_action *act = model_action(&m, x);
	ok(act->state == ACT_OVER && act->ended == ev.seq,
	   "an action whose end is redacted is over");
	is_int(model_agent(&m, a)->errors, 0, "and no error");
	is_int(state(a), AGENT_IDLE, "its agent runs nothing");
}

static void waits_beside_others(void)
{
	uint64_t a = put(EV_AGENT_START, 0, 0, "{\"name\":\"two\"}");
	uint64_t first = put(EV_ACTION_REQUESTED, a, 0, "{\"kind\":\"exec\"}");
	put(EV_ACTION_HELD, a, first, "{}");
	uint64_t second = put(EV_ACTION_REQUESTED, a, 0, "{\"kind\":\"exec\"}");
	put(EV_ACTION_STARTED, a, second, "{}");
	put(EV_ACTION_ENDED, a, second, "{\"end\":\"ok\",\"code\":0}");
	is_int(state(a), AGENT_HELD, "one waits, another has come and gone");
	const struct model_action *held = model_held(&m, model_agent(&m, a));
	ok(held && held->id == first, "that one is what it waits for");
	put(EV_ACTION_DECIDED, a, first, "{\"decision\":\"deny\",\"by\":\"human\"}");
	put(EV_ACTION_ENDED, a, first, "{\"end\":\"denied\"}");
	ok(!model_held(&m, model_agent(&m, a)), "decided: for none");
}

/* A user runs a command of the script once more while the script asks something. */
static void asks_beside_a_repeat(void)
{
	uint64_t first = put(EV_ACTION_REQUESTED, 0, 0, "{\"kind\":\"exec\"}");
	uint64_t script = model_action(&m, first)->agent;
	put(EV_ACTION_STARTED, 0, first, "{}");
	put(EV_ACTION_ENDED, 0, first, "{\"end\":\"ok\",\"code\":0}");
	put(EV_ASK, 0, 0, "{\"text\":\"which?\"}");
	struct model_agent was = *model_agent(&m, script);
	seq++;
	struct event repeat = { .seq = seq,
				.kind = EV_REDO_STARTED,
				.ts_us = (int64_t)seq * 1000000,
				.body = "{}",
				.len = 2 };
	model_apply(&m, &repeat);
	seq++;
	struct event again = { .seq = seq,
			       .cause = repeat.seq,
			       .action = seq,
			       .kind = EV_ACTION_REQUESTED,
			       .box = 77,
			       .ts_us = (int64_t)seq * 1000000,
			       .body = "{\"kind\":\"exec\"}",
			       .len = 15 };
	model_apply(&m, &again);
	put(EV_ACTION_STARTED, 0, again.seq, "{}");
	put(EV_ACTION_ENDED, 0, again.seq, "{\"end\":\"ok\",\"code\":1}");
	const struct model_agent *is = model_agent(&m, script);
	ok(is->box == was.box && is->last == was.last && is->actions == was.actions,
	   "a repeated action does not count as the script's");
	is_int(is->errors, was.errors, "nor does its error");
	ok(is->ask && is->since_us == was.since_us, "the time of the open question stays");
}

static void model_calls(void)
{
	uint64_t a = put(EV_AGENT_START, 0, 0, "{\"name\":\"docs\"}");
	uint64_t x = put(EV_ACTION_REQUESTED, a, 0, "{\"kind\":\"model\"}");
	put(EV_ACTION_STARTED, a, x, "{}");
	is_int(state(a), AGENT_THINK, "a model call is thinking");
	put(EV_MODEL_REPLY, a, x,
	    "{\"text\":\"hm\",\"usage\":{\"in\":1000,\"out\":50},\"cost_uusd\":2000}");
	put(EV_ACTION_ENDED, a, x, "{\"end\":\"ok\",\"cost_uusd\":2000,\"tokens\":1050}");
	is_int(model_agent(&m, a)->tokens, 1050, "tokens once");
	is_int(model_agent(&m, a)->uusd, 2000, "cost once");
	put(EV_LATCH_PAUSE, 0, 0, "{\"agent\":0}");
	is_int(state(a), AGENT_PAUSED, "all agents are paused");
	put(EV_LATCH_CONTINUE, 0, 0, "{\"agent\":0}");
	is_int(state(a), AGENT_IDLE, "and then continues");
	put(EV_LATCH_PAUSE, 0, 0, "{\"agent\":0,\"freeze\":true}");
	put(EV_LATCH_PAUSE, a, 0, "{}");
	is_int(m.paused_all, true, "a freeze pauses all agents");
	put(EV_LATCH_CONTINUE, 0, 0, "{\"agent\":0,\"freeze\":true}");
	is_int(m.paused_all, false, "a thaw ends that");
	is_int(state(a), AGENT_PAUSED, "and no pause of a person");
	put(EV_LATCH_CONTINUE, 0, 0, "{\"agent\":0}");
	is_int(state(a), AGENT_IDLE, "continue does");
	uint64_t q = put(EV_ASK, a, 0, "{\"text\":\"which?\"}");
	is_int(state(a), AGENT_ASK, "asks");
	is_int((int64_t)m.ask[0].seq, (int64_t)q, "the question waits");
	put(EV_ASK_ANSWERED, a, 0, "{\"choice\":\"yes\"}");
	is_int((int)m.nr_asks, 0, "answered");
	put(EV_AGENT_END, a, 0, "{\"stop\":\"error\",\"ok\":false,\"text\":\"no\"}");
	is_int(state(a), AGENT_FAILED, "ended badly");
	a = put(EV_AGENT_START, 0, 0, "{\"name\":\"other\"}");
	put(EV_AGENT_END, a, 0,
	    "{\"stop\":\"stopped\",\"ok\":false,\"text\":\"stopped by a user\"}");
	is_int(state(a), AGENT_STOPPED, "an agent ended by the user has not failed");
}

/* The end of a script holds until its session resumes. */
static void goes_on(void)
{
	put(EV_ACTION_REQUESTED, 0, 0, "{\"kind\":\"exec\"}");
	const struct model_agent *script = model_agent(&m, m.start);
	ok(script && script->script, "the script does something");
	put(EV_SESSION_END, 0, 0, "{\"ok\":false,\"status\":1,\"why\":\"HTTP 401\"}");
	script = model_agent(&m, m.start);
	is_str(script->text, "HTTP 401", "it failed, and why");
	put(EV_SESSION_RESUMED, 0, 0, "{}");
	script = model_agent(&m, m.start);
	ok(!script->ended && !*script->text && !*script->stop,
	   "after a resume the script runs again");
	put(EV_SESSION_END, 0, 0, "{\"ok\":false,\"status\":1,\"why\":\"HTTP 401\"}");
	put(EV_SESSION_END, 0, 0, "{\"ok\":true}");
	script = model_agent(&m, m.start);
	ok(state(m.start) == AGENT_DONE && !*script->text, "a successful end has no cause");
}

static void nonsense(void)
{
	size_t rows = m.rows.nr;
	put(EV_ACTION_ENDED, 99, 12345, "{\"end\":7}");
	put(EV_ACTION_HELD, 0, 0, "[]");
	put(EV_AGENT_END, 12345, 0, "{");
	put(EV_SNAPSHOT_TAKEN, 0, 0, "{\"by\":\"x\"}");
	put(EV_BUDGET_EXTENDED, 1, 0, "{\"limits\":4}");
	put(60000, 0, 0, "{\"x\":1}");
	ok(m.rows.nr >= rows + 2, "kinds that nobody knows are rows");
	struct event redacted = { .seq = ++seq, .kind = EV_NOTE };
	model_apply(&m, &redacted);
	is_int((int64_t)m.head, (int64_t)seq, "a body that was removed");
	struct event old = { .seq = 1, .kind = EV_NOTE };
	uint64_t events = m.events;
	model_apply(&m, &old);
	is_int((int64_t)m.events, (int64_t)events, "an event comes once");
}

/* Every prefix of a real session folded anew gives what the fold that went on has. */
static void seeking(void)
{
	struct err err = ERR_INIT;
	struct source *s = NULL, *t = NULL;
	int bad = 0;
	if (source_open(&s, "tests/screens/fleet.jsonl", &err) < 0 ||
	    source_open(&t, "tests/screens/fleet.jsonl", &err) < 0)
		return;
	for (uint64_t at = 1; at <= session_head(s->session); at += 37) {
		source_sync(s, at, 0);
		source_seek(t, session_head(t->session));
		source_seek(t, at);
		bad += s->model.head != t->model.head || s->model.uusd != t->model.uusd ||
		       s->model.nr_held != t->model.nr_held ||
		       s->model.rows.nr != t->model.rows.nr ||
		       s->model.nr_agents != t->model.nr_agents;
	}
	is_int(bad, 0, "back and forth is the same as straight on");
	source_close(&s);
	source_close(&t);
}

int main(void)
{
	model_init(&m);
	put(EV_SESSION_START, 0, 0, "{\"id\":\"s-1\",\"name\":\"t\"}");
	life_of_an_action();
	redacted_end();
	waits_beside_others();
	model_calls();
	asks_beside_a_repeat();
	goes_on();
	nonsense();
	model_release(&m);
	seeking();
	return done_testing();
}
