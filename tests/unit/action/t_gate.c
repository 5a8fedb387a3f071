/* The life of an action in the gate: recorded before it runs, approved, edited, ordered in its
 * sandbox, paused, and cancelled. */
#include "tap.h"

#include "action/gate_priv.h"
#include "action/world.h"
#include "base/clock.h"

static void record_before_act(void)
{
	w_open();
	W.record->held = true;
	uint64_t id = w_exec_as(W_AGENT, "make test", true, &w_preparing);
	w_turns(5);
	is_int(W.started, 0, "nothing starts before its barrier");
	is_int(W.prepared, 1, "but it is prepared meanwhile");
	is_str(w_state(id), "barrier", "it waits at the barrier");
	is_str(fake_life(W.record, id), "requested judged started", "requested, judged, started in one go");
	is_int(W.record->barriers_asked, 1, "one barrier for an action that nobody holds");
	W.record->state = RECORD_STALLED;
	w_turns(3);
	is_int(W.started, 0, "a stalled recorder: agents wait");
	W.record->state = RECORD_OK;
	fake_run(W.record);
	is_int(W.started, 1, "record before act: it starts when the commit is there");
	w_turns(3);
	is_str(fake_life(W.record, id), "requested judged started ended", "and its end is recorded");
	is_int(W.nr_done, 1, "the client has heard once");
	is_int(W.record->output_bytes, 1, "output went to the recorder");
	w_close();
}

static void dead_recorder(void)
{
	w_open();
	W.record->state = RECORD_DEAD;
	for (int i = 0; i < 5; i++)
		w_exec("ls");
	w_turns(10);
	fake_run(W.record); /* even if a barrier of a dead recorder ran */
	is_int(W.started, 0, "a dead recorder: nothing starts");
	is_int(W.nr_done, 0, "and no start is reported");
	w_close();
}

static void denied(void)
{
	w_open();
	w_policy(ASK_PUSH);
	uint64_t id = w_exec("cd sub && git push --force origin main");
	is_int(W.nr_done, 0, "submit never calls back from inside");
	w_turns(5);
	is_int(W.started, 0, "denied never starts");
	is_str(fake_life(W.record, id), "requested judged ended", "its life has no start");
	is_int(W.done_end[0], END_DENIED, "the client hears denied");
	is_str(W.done_why[0], "never by force", "with the rule's text");
	is_str(W.done_rule[0], "force", "and its name");
	json_t *rules = json_object_get(fake_body(W.record, id, EV_ACTION_JUDGED), "rules");
	is_int(json_array_size(rules), 2, "every verdict names all rules with lines");
	is_int(json_int(json_array_get(rules, 0), "line", 0), 30, "the strictest first");
	is_str(json_str(json_array_get(rules, 1), "file", ""), "p.lua", "the overruled one as well");
	is_int(W.record->barriers_asked, 0, "and no barrier was needed");
	struct action_spec back;
	struct err err = ERR_INIT;
	json_t *asked = fake_body(W.record, id, EV_ACTION_REQUESTED);
	ok(action_spec_from_json(&back, asked, &err) == 0, "the request can be read back");
	is_str(back.argv.item[2], "cd sub && git push --force origin main", "with its arguments");
	const struct policy_subject subject = { .spec = &back, .wall = WALL_BOXED };
	struct judgement j;
	policy_judge(W.gate->policy, W.gate->nr_policies, NULL, 0, 0, &subject, &j);
	is_str(verdict_name(j.verdict), "deny", "and judged offline alike");
	judgement_release(&j);
	action_spec_release(&back);
	w_close();
}

static void approval(void)
{
	struct err err = ERR_INIT;
	w_open();
	w_policy(ASK_PUSH);
	uint64_t id = w_exec("git push origin main");
	w_turns(5);
	is_str(w_state(id), "held", "an ask is pending approval");
	is_int(W.held_now, 1, "and the session is notified");
	is_str(json_str(fake_body(W.record, id, EV_ACTION_HELD), "rule", ""), "no-push", "the rule is named");
	json_t *state = gate_state(W.gate);
	json_t *row = json_array_get(json_object_get(state, "held"), 0);
	is_int(json_int(row, "action", 0), (int64_t)id, "a console that attaches later finds the pending approvals in the state");
	is_str(json_str(row, "cmd", ""), "git push origin main", "with the command");
	json_decref(state);

	struct decide wrong = { .action = id, .decision = DECIDE_APPROVE };
	memset(&wrong.intent, 7, sizeof(wrong.intent));
	ok(gate_decide(W.gate, &wrong, &err) < 0 && err.code == ERR_INVALID, "approve with another intent hash refused");
	w_turns(3);
	is_int(W.started, 0, "and nothing has started");

	struct decide right = { .action = id, .decision = DECIDE_APPROVE, .intent = *action_intent(gate_action(W.gate, id)) };
	is_int(gate_decide(W.gate, &right, &err), 0, "approve with the intent that was shown");
	ok(gate_decide(W.gate, &right, &err) < 0, "approval used once");
	w_turns(5);
	is_int(W.started, 1, "it ran once");
	is_str(fake_life(W.record, id), "requested judged held decided started ended", "its life");
	is_int(W.record->barriers_asked, 1, "the decision has its barrier");
	is_int(W.held_now, 0, "nothing is pending after that");
	uint64_t again = w_exec("git push origin main");
	w_turns(3);
	is_str(w_state(again), "held", "the same command is pending again");
	w_close();
}

static void two_deciders(void)
{
	struct err err = ERR_INIT;
	w_open();
	w_policy(ASK_PUSH);
	uint64_t id = w_exec("git push origin main");
	w_turns(3);
	is_int(w_decide(id, DECIDE_LATER, &err), 0, "later");
	is_str(w_state(id), "held", "leaves it held");
	is_int(w_decide(id, DECIDE_DENY, &err), 0, "the first decision wins");
	ok(w_decide(id, DECIDE_APPROVE, &err) < 0 && err.code == ERR_NOENT, "two deciders: the second is refused");
	ok(strstr(err.text, "denied by ann at ") != NULL, "and learns who and when: %s", err.text);
	w_turns(5);
	is_int(W.started, 0, "nothing ran");
	is_int(W.done_end[0], END_DENIED, "denied it is");
	ok(w_decide(id, DECIDE_APPROVE, &err) < 0 && strstr(err.text, "ann"), "also after it has gone");
	ok(w_decide(9999, DECIDE_APPROVE, &err) < 0 && err.code == ERR_NOENT, "an action that never was");

	uint64_t next = w_exec("git push origin next");
	w_turns(3);
	struct decide d = { .action = next, .decision = DECIDE_DENY_PAUSE, .message = "use the fork" };
	is_int(gate_decide(W.gate, &d, &err), 0, "deny and pause");
	w_turns(3);
	is_str(W.done_why[1], "use the fork", "the message goes to the model");
	ok(gate_paused(W.gate, W_AGENT) && !gate_paused(W.gate, W_OTHER), "and its agent is paused");
	uint64_t third = w_exec("git push origin third");
	w_turns(3);
	d = (struct decide){ .action = third, .decision = DECIDE_KILL };
	is_int(gate_decide(W.gate, &d, &err), 0, "kill the agent");
	w_turns(3);
	is_int(W.kills, 1, "the session is notified");
	is_int(W.done_end[2], END_KILLED, "the action ended killed");
	w_close();
}

static void editing(void)
{
	struct err err = ERR_INIT;
	w_open();
	w_policy(ASK_PUSH);
	uint64_t id = w_exec("git push origin main");
	w_turns(3);
	struct hash before = *action_intent(gate_action(W.gate, id));
	struct decide d = { .action = id, .decision = DECIDE_EDIT };
	d.edit = json_pack("{s:s}", "nonsense", "x");
	ok(gate_decide(W.gate, &d, &err) < 0 && err.code == ERR_INVALID, "an edit of what cannot be edited is refused");
	json_decref(d.edit);
	d.edit = json_pack("{s:s}", "cmd", "git push --force origin main");
	is_int(gate_decide(W.gate, &d, &err), 0, "an edit is taken");
	w_turns(5);
	is_int(W.started, 0, "edited action is judged again: a deny stands");
	is_int(W.done_end[0], END_DENIED, "denied");
	is_str(fake_life(W.record, id), "requested judged held decided judged ended", "both verdicts are recorded");
	json_decref(d.edit);

	id = w_exec("git push origin main");
	w_turns(3);
	d = (struct decide){ .action = id, .decision = DECIDE_EDIT };
	d.edit = json_pack("{s:s}", "cmd", "git push origin fix/parser");
	is_int(gate_decide(W.gate, &d, &err), 0, "an edit that still asks");
	json_decref(d.edit);
	ok(!hash_eq(&before, action_intent(gate_action(W.gate, id))), "has another intent");
	w_turns(5);
	is_int(W.started, 1, "it runs, because the user edited it");
	ok(W.done_edited[1], "the model learns of the edit");
	is_str(W.done_ran[1], "git push origin fix/parser", "and of the command that ran");
	is_str(json_str(fake_body(W.record, id, EV_ACTION_STARTED), "cmd", ""), "git push origin fix/parser", "as does the recording");
	w_close();
}

/* A thaw undoes a freeze, and no pause of a user. */
static void thaws(void)
{
	size_t before = W.record->nr;
	gate_thaw(W.gate, NULL);
	is_int((int64_t)W.record->nr, (int64_t)before, "a thaw without a freeze does nothing");
	gate_pause(W.gate, W_AGENT, NULL);
	gate_freeze(W.gate, NULL);
	uint64_t one = w_exec("ls"), other = w_exec_as(W_OTHER, "ls", false, &w_effector);
	gate_thaw(W.gate, NULL);
	w_turns(5);
	ok(!strcmp(w_state(one), "held") && gate_paused(W.gate, W_AGENT), "an agent paused by the user stays paused");
	is_str(w_state(other), "gone", "the others continue");
	gate_pause(W.gate, 0, NULL);
	gate_freeze(W.gate, NULL);
	uint64_t more = w_exec_as(W_OTHER, "ls", false, &w_effector);
	gate_thaw(W.gate, NULL);
	w_turns(5);
	ok(!strcmp(w_state(more), "held") && gate_paused(W.gate, W_OTHER), "a pause of everybody by a person stands, too");
	gate_freeze(W.gate, NULL);
	gate_continue(W.gate, 0, NULL);
	w_turns(5);
	ok(!strcmp(w_state(one), "gone") && !strcmp(w_state(more), "gone") && !gate_paused(W.gate, W_OTHER), "continue ends them all");
}

static void latches(void)
{
	struct err err = ERR_INIT;
	w_open();
	gate_pause(W.gate, W_AGENT, NULL);
	uint64_t a = w_exec("ls"), b = w_exec("make"), other = w_exec_as(W_OTHER, "ls", false, &w_effector);
	w_turns(5);
	is_str(w_state(a), "held", "pause: the next action waits");
	is_str(w_state(b), "held", "and the one after");
	is_str(w_state(other), "gone", "other agents continue");
	gate_step(W.gate, W_AGENT, NULL);
	w_turns(5);
	is_str(w_state(a), "gone", "step: one goes through");
	is_str(w_state(b), "held", "only one");
	gate_step(W.gate, W_AGENT, NULL);
	gate_step(W.gate, W_AGENT, NULL);
	w_turns(5);
	uint64_t c = w_exec("ls -l"), d = w_exec("ls -a");
	w_turns(5);
	is_str(w_state(c), "gone", "a step before its action waits for it");
	is_str(w_state(d), "held", "and is used up by it");
	gate_continue(W.gate, W_AGENT, NULL);
	w_turns(5);
	is_str(w_state(d), "gone", "continue lets all through");
	is_int(W.started, 5, "all five have run");

	is_int(gate_hold(W.gate, "kind:exec cmd~\"\\brm\\b\"", NULL, &err), 0, "a breakpoint");
	uint64_t e = w_exec("rm -rf build"), f = w_exec("ls");
	w_turns(5);
	is_str(w_state(e), "held", "a matching action is held");
	is_str(w_state(f), "gone", "any other is not");
	ok(strstr(fake_life(W.record, e), "held") != NULL, "as recorded");
	is_str(json_str(fake_body(W.record, e, EV_ACTION_HELD), "filter", ""), "kind:exec cmd~\"\\brm\\b\"", "with the filter");
	gate_freeze(W.gate, NULL);
	uint64_t paused = w_exec("ls"), both = w_exec("rm -rf other");
	w_turns(5);
	is_str(w_state(paused), "held", "a freeze pauses everybody");
	gate_thaw(W.gate, NULL);
	w_turns(5);
	is_str(w_state(paused), "gone", "a thaw lets what it held through");
	ok(!strcmp(w_state(e), "held") && !strcmp(w_state(both), "held"), "and nothing that a hold filter stopped");
	thaws();
	gate_continue(W.gate, 0, NULL);
	w_turns(5);
	ok(!strcmp(w_state(e), "gone") && !strcmp(w_state(both), "gone"), "and runs what the filter held");
	ok(gate_hold(W.gate, "exit:1", NULL, &err) < 0 && strstr(err.text, "known only after"),
	   "a hold refuses what is not known before: %s", err.text);
	ok(gate_hold(W.gate, "kidn:exec", NULL, &err) < 0 && strstr(err.text, "did you mean \"kind\""), "and a typing error: %s",
	   err.text);
	is_int(gate_hold(W.gate, "", NULL, &err), 0, "empty clears");
	gate_pause(W.gate, 0, NULL);
	uint64_t g = w_exec_as(W_OTHER, "ls", false, &w_effector);
	w_turns(3);
	is_str(w_state(g), "held", "pause for everybody");
	is_int(w_decide(g, DECIDE_APPROVE, &err), 0, "a person may let one through");
	w_turns(3);
	is_str(w_state(g), "gone", "and it runs");
	w_close();
}

static void order_in_box(void)
{
	w_open();
	W.hold_effects = W.take_snapshots = true;
	uint64_t a = w_exec("make a"), b = w_exec("make b"), r = w_exec_as(W_AGENT, "ls", false, &w_effector);
	uint64_t c = w_exec("make c");
	w_turns(5);
	is_str(w_state(a), "running", "the first writes");
	is_str(w_state(b), "queued", "FIFO in a box: the second waits");
	is_str(w_state(r), "running", "parallel reads");
	is_str(fake_life(W.record, b), "requested judged", "what waits is not started");
	w_end(gate_action(W.gate, a), END_OK);
	w_turns(5);
	is_str(w_state(b), "queued", "it waits for the snapshot too");
	is_int(W.snapshots, 1, "which was asked for");
	gate_settled(W.gate, a);
	w_turns(5);
	is_str(w_state(b), "running", "then it runs");
	is_str(w_state(c), "queued", "one at a time");
	gate_cancel(W.gate, c, "cancel", "not needed");
	w_turns(3);
	is_str(w_state(c), "gone", "a pending action can be cancelled");
	is_int(W.done_end[1], END_CANCELLED, "and ends as cancelled");
	struct action_spec s = { .kind = ACT_WRITE, .cause = 1, .agent = W_OTHER, .box = W_BOX, .path = "a", .data = "x",
				 .data_len = 1, .may_write = true, .parallel = true };
	uint64_t p = gate_submit(W.gate, &s, &w_effector, &w_client);
	w_turns(3);
	is_str(w_state(p), "running", "parallel opts out");
	uint64_t d = w_exec("make d");
	gate_cancel(W.gate, b, "kill", NULL);
	w_turns(3);
	is_int(W.cancelled, 1, "a running one is cancelled by its effector");
	gate_box_gone(W.gate, W_BOX);
	w_turns(3);
	is_str(w_state(d), "gone", "a box that is gone ends what waits for it");
	w_close();
}

/* Allowed, but not begun yet: a pause must not be followed by a start. */
static void pause_in_queue(void)
{
	w_open();
	W.hold_effects = true;
	uint64_t a = w_exec("make a"), b = w_exec("make b"), c = w_exec_as(W_OTHER, "make c", true, &w_effector), d = w_exec("make d");
	w_turns(5);
	is_str(w_state(b), "queued", "one runs, the others wait for their turn");
	gate_pause(W.gate, W_AGENT, NULL);
	w_end(gate_action(W.gate, a), END_OK);
	w_turns(5);
	is_str(w_state(b), "held", "paused meanwhile: it does not begin");
	is_str(fake_life(W.record, b), "requested judged held", "and nothing says that it did");
	is_str(w_state(c), "running", "the turn goes to who is not paused");
	is_str(w_state(d), "queued", "behind whom the next one waits");
	gate_step(W.gate, W_AGENT, NULL);
	w_turns(5);
	is_str(w_state(b), "queued", "a step lets it wait for its turn again");
	gate_step(W.gate, W_AGENT, NULL);
	w_end(gate_action(W.gate, c), END_OK);
	w_turns(5);
	is_str(w_state(d), "running", "a step that found nothing held lets the next one begin");
	w_end(gate_action(W.gate, d), END_OK);
	w_turns(5);
	is_str(w_state(b), "running", "and who had his step before is not stopped once more");
	gate_box_lock(W.gate, W_BOX, true);
	uint64_t e = w_exec_as(W_OTHER, "ls", false, &w_effector);
	gate_pause(W.gate, 0, NULL);
	gate_box_lock(W.gate, W_BOX, false);
	w_turns(5);
	is_str(w_state(e), "held", "the same for what a locked box has kept waiting");
	gate_continue(W.gate, 0, NULL);
	w_turns(5);
	is_str(w_state(e), "running", "continue lets it begin");
	w_close();
}

static void cancel_at_barrier(void)
{
	w_open();
	W.record->held = true;
	uint64_t a = w_exec_as(W_AGENT, "make", true, &w_preparing);
	gate_cancel(W.gate, a, "cancel", "changed my mind");
	w_turns(3);
	fake_run(W.record);
	is_int(W.started, 0, "cancelled before its barrier: never starts");
	is_int(W.done_end[0], END_CANCELLED, "cancelled");
	uint64_t b = w_exec_as(W_AGENT, "make", true, &w_preparing);
	w_turns(3);
	is_int(W.prepared, 1, "prepared");
	gate_cancel(W.gate, b, "cancel", NULL);
	w_turns(3);
	fake_run(W.record);
	is_int(W.started, 0, "cancelled when prepared: never starts");
	is_int(W.cancelled, 1, "the preparation was thrown away");
	w_close();
}

static void changed_tree(void)
{
	struct err err = ERR_INIT;
	w_open();
	w_policy("{\"file\":\"p\",\"rules\":[{\"name\":\"hi\",\"verdict\":\"ask\",\"line\":1,\"cmd\":\"make *\",\"risk\":\"high\"},"
		 "{\"name\":\"lo\",\"verdict\":\"ask\",\"line\":2,\"cmd\":\"cat *\"}]}");
	W.tree.b[0] = 1;
	uint64_t hi = w_exec("make test"), lo = w_exec_as(W_AGENT, "cat x", false, &w_effector);
	W.tree.b[0] = 2;
	ok(w_decide(hi, DECIDE_APPROVE, &err) < 0 && strstr(err.text, "changed"), "files changed: high risk is shown again");
	is_str(w_state(hi), "held", "it is still held");
	is_int(w_decide(hi, DECIDE_APPROVE, &err), 0, "now it is approved as it is");
	is_int(w_decide(lo, DECIDE_APPROVE, &err), 0, "low risk is approved at once");
	ok(json_flag(fake_body(W.record, lo, EV_ACTION_DECIDED), "workspace_changed", false), "with a flag for the change");
	w_turns(3);
	is_int(W.started, 2, "both ran");
	w_close();
}

static uint64_t nested;
static void submit_again(void *self, const struct action_result *res)
{
	(void)self;
	(void)res;
	nested = w_exec("ls");
}

static void reentrance(void)
{
	const struct action_client client = { .done = submit_again };
	struct action_spec s = { .kind = ACT_READ, .cause = 1, .agent = W_AGENT, .box = W_BOX, .path = "a" };
	w_open();
	gate_submit(W.gate, &s, &w_effector, &client);
	w_turns(6);
	ok(nested && W.nr_done == 1 && W.done_id[0] == nested, "submitting from a done callback works");
	W.record->held = true;
	for (int i = 0; i < 20; i++)
		w_exec("ls");
	w_turns(1);
	w_close();
	ok(true, "freed with actions at every stage");
}

int main(void)
{
	record_before_act();
	dead_recorder();
	denied();
	approval();
	two_deciders();
	editing();
	latches();
	order_in_box();
	pause_in_queue();
	cancel_at_barrier();
	changed_tree();
	reentrance();
	return done_testing();
}
