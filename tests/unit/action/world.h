/* Shared by the tests of the policy check: a loop, the fake recorder, and an effector that logs
 * its calls. */
#ifndef TEST_WORLD_H
#define TEST_WORLD_H

#include "action/fake_record.c"
#include "action/gate.h"

struct world {
	struct loop *loop;
	struct record *record;
	struct gate *gate;
	/* effects: actions that run, in the order in which they began */
	struct action *running[64];
	size_t nr_running, started, prepared, cancelled;
	bool hold_effects; /* leave them running; else they end at once */
	struct hash tree;
	/* answers */
	uint64_t done_id[64];
	enum action_end done_end[64];
	char done_why[64][120], done_rule[64][40];
	bool done_edited[64];
	char done_ran[64][120];
	size_t nr_done;
	/* the judge */
	uint64_t ticket[16];
	size_t nr_tickets;
	char when_text[200];
	bool judge_dead;
	/* ops */
	size_t snapshots, held_now, budget_calls, kills;
	bool take_snapshots, rejected;
	uint64_t last_snapshot;
};

static struct world W;

static void w_end(struct action *a, enum action_end end)
{
	json_t *body = json_object();
	json_put_int(body, "code", 0);
	for (size_t i = 0; i < W.nr_running; i++)
		if (W.running[i] == a)
			memmove(&W.running[i], &W.running[i + 1], (--W.nr_running - i) * sizeof(a));
	action_ended(a, end, body);
}

static void w_start(void *self, struct action *a)
{
	(void)self;
	/* the law: everything up to here is committed */
	assert(W.record->committed >= W.record->nr || W.record->committed > 0);
	W.started++;
	W.running[W.nr_running++] = a;
	action_output(a, STREAM_OUT, "x", 1);
	if (!W.hold_effects)
		w_end(a, END_OK);
}

static void w_prepare(void *self, struct action *a)
{
	(void)self;
	(void)a;
	W.prepared++;
}

static void w_cancel(void *self, struct action *a, const char *how)
{
	(void)self;
	W.cancelled++;
	w_end(a, strcmp(how, "kill") ? END_CANCELLED : END_KILLED);
}

static void w_tree(void *self, struct action *a, struct hash *out)
{
	(void)self;
	(void)a;
	*out = W.tree;
}

static const struct effector w_effector = {
	.name = "test", .start = w_start, .cancel = w_cancel, .tree = w_tree
};
static const struct effector w_preparing = {
	.name = "test", .start = w_start, .cancel = w_cancel, .prepare = w_prepare
};

static void w_done(void *self, const struct action_result *res)
{
	(void)self;
	size_t i = W.nr_done++;
	assert(i < ARRAY_LEN(W.done_id));
	W.done_id[i] = res->id;
	W.done_end[i] = res->end;
	W.done_edited[i] = res->edited;
	snprintf(W.done_why[i], sizeof(W.done_why[i]), "%s", res->why ? res->why : "");
	snprintf(W.done_rule[i], sizeof(W.done_rule[i]), "%s", res->rule ? res->rule : "");
	snprintf(W.done_ran[i], sizeof(W.done_ran[i]), "%s",
		 json_str(json_object_get(res->body, "ran"), "cmd", ""));
}

static const struct action_client w_client = { .done = w_done };

static void w_when(void *self, uint64_t ticket, const char *file, int line, json_t *act)
{
	(void)self;
	snprintf(W.when_text, sizeof(W.when_text), "%s:%d %s", file, line,
		 json_str(json_object_get(act, "rule"), "name", "?"));
	if (W.judge_dead) {
		struct err err = ERR_INIT;
		err_set(&err, ERR_CLOSED, "the host has died");
		gate_judged(W.gate, ticket, false, NULL, &err);
		return;
	}
	W.ticket[W.nr_tickets++] = ticket;
}

static void w_snapshot(void *self, uint64_t action, uint64_t box)
{
	(void)self;
	(void)box;
	W.snapshots++;
	W.last_snapshot = action;
	if (!W.take_snapshots)
		gate_settled(W.gate, action);
}

static void w_held(void *self, uint64_t action, bool held)
{
	(void)self;
	(void)action;
	W.held_now += held ? 1 : (size_t)-1;
}

static void w_budget(void *self, uint64_t agent, const char *what)
{
	(void)self;
	(void)agent;
	(void)what;
	W.budget_calls++;
}

static void w_kill(void *self, uint64_t agent, json_t *who)
{
	(void)self;
	(void)agent;
	(void)who;
	W.kills++;
}

enum { W_BOX = 1, W_AGENT = 2, W_OTHER = 3 };

static bool w_rejected(void *self, uint64_t action)
{
	(void)self;
	(void)action;
	return W.rejected;
}

static void w_open(void)
{
	static const struct gate_ops ops = { .rejected = w_rejected,
					     .snapshot = w_snapshot,
					     .on_held = w_held,
					     .on_budget = w_budget,
					     .on_kill = w_kill };
	static const struct gate_judge judge = { w_when, NULL };
	struct err err = ERR_INIT;
	memset(&W, 0, sizeof(W));
	hash_init();
	if (loop_new(&W.loop, &err) < 0)
		abort();
	W.record = fake_record(W.loop);
	for (int i = 0; i < 5; i++) /* seqs 1.. stand for box.open and agent.start */
		record_append_json(W.record, EV_POLICY_LOADED, 0, 0, 0, 0, json_object());
	W.gate = gate_new(W.loop, W.record, &ops);
	gate_set_judge(W.gate, &judge);
	gate_box(W.gate, W_BOX, WALL_BOXED, "enforced", "b1");
	gate_agent(W.gate, W_AGENT, "fix");
	gate_agent(W.gate, W_OTHER, "doc");
}

static void w_turns(int n)
{
	while (n-- > 0)
		loop_turn(W.loop, 0);
}

static void w_close(void)
{
	gate_free(&W.gate);
	w_turns(3);
	loop_free(W.loop);
	fake_free(W.record);
}

static void w_policy(const char *json)
{
	struct policy *p = NULL;
	struct err err = ERR_INIT;
	if (policy_parse(&p, json, strlen(json), &err) < 0) {
		printf("Bail out! policy: %s\n", err.text);
		abort();
	}
	gate_add_policy(W.gate, p);
}

/* Submits a command line; the spec's strings may die at once. */
static uint64_t w_exec_as(uint64_t agent, const char *cmd, bool may_write,
			  const struct effector *eff)
{
	struct action_spec s = { .kind = ACT_EXEC,
				 .cause = 1,
				 .agent = agent,
				 .box = W_BOX,
				 .tool = "shell",
				 .cmdline = cmd,
				 .may_write = may_write };
	strv_push(&s.argv, "sh");
	strv_push(&s.argv, "-c");
	strv_push(&s.argv, cmd);
	uint64_t id = gate_submit(W.gate, &s, eff, &w_client);
	strv_release(&s.argv);
	return id;
}

static uint64_t w_exec(const char *cmd)
{
	return w_exec_as(W_AGENT, cmd, true, &w_effector);
}

static int w_decide(uint64_t id, enum decision d, struct err *err)
{
	struct decide x = { .action = id, .decision = d };
	x.who = json_pack("{s:i,s:s}", "uid", 1000, "name", "ann");
	int rc = gate_decide(W.gate, &x, err);
	json_decref(x.who);
	return rc;
}

static const char *w_state(uint64_t id)
{
	static const char *const names[] = { "judging", "held",	   "queued",
					     "barrier", "running", "ended" };
	const struct action *a = gate_action(W.gate, id);
	return a ? names[action_state(a)] : "gone";
}

/* a push asks, a forced one is denied */
#define ASK_PUSH                                                                                   \
	"{\"file\":\"p.lua\",\"rules\":["                                                          \
	"{\"name\":\"no-push\",\"verdict\":\"ask\",\"line\":22,\"cmd\":\"git push *\","            \
	"\"why\":\"publishing requires approval\"},"                                               \
	"{\"name\":\"force\",\"verdict\":\"deny\",\"line\":30,"                                    \
	"\"cmd\":[\"git push ... --force*\",\"git push ... -f\"],\"say\":\"never by force\"}]}"

#endif
