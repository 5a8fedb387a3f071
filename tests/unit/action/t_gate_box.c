/* The lock of a sandbox in the policy check: during a dry run or a rollback none of its actions starts. */
#include "tap.h"

#include "action/gate_priv.h"
#include "action/world.h"

static uint64_t file_action(enum action_kind kind)
{
	struct action_spec s = { .kind = kind, .cause = 1, .agent = W_AGENT, .box = W_BOX, .path = "a", .data = "x",
				 .data_len = 1, .parallel = true };
	return gate_submit(W.gate, &s, &w_effector, &w_client);
}

static void nothing_starts(void)
{
	w_open();
	W.hold_effects = true;
	gate_box_lock(W.gate, W_BOX, true);
	uint64_t a = w_exec("make a"), b = w_exec_as(W_OTHER, "ls", false, &w_effector), r = file_action(ACT_READ);
	w_turns(5);
	is_str(w_state(a), "queued", "what writes waits");
	is_str(w_state(b), "queued", "what does not write, too");
	is_str(w_state(r), "queued", "and a read of a file");
	is_int((long)W.started, 0, "no effect has begun");
	is_str(fake_life(W.record, a), "requested judged", "nor is one recorded");
	is_str(json_str(fake_body(W.record, a, EV_ACTION_JUDGED), "verdict", ""), "allow", "though it is allowed");
	ok(gate_box_quiet(W.gate, W_BOX), "the box is quiet");
	gate_box_lock(W.gate, W_BOX, true);
	gate_box_lock(W.gate, W_BOX, false);
	w_turns(5);
	is_int((long)W.started, 0, "locked twice and let go once: still locked");
	gate_box_lock(W.gate, W_BOX, false);
	w_turns(5);
	is_str(w_state(a), "running", "let go: it runs");
	is_str(w_state(b), "running", "and so does the other");
	is_str(w_state(r), "running", "and the read");
	w_close();
}

static void other_boxes(void)
{
	enum { OTHER_BOX = 4 };
	w_open();
	W.hold_effects = true;
	gate_box(W.gate, OTHER_BOX, WALL_BOXED, "enforced", "b2");
	gate_box_lock(W.gate, OTHER_BOX, true);
	uint64_t a = w_exec("make");
	w_turns(5);
	is_str(w_state(a), "running", "another box is not touched by it");
	w_end(gate_action(W.gate, a), END_OK);
	w_turns(3);
	gate_box_lock(W.gate, OTHER_BOX, false);
	w_close();
}

static void quiet(void)
{
	w_open();
	W.hold_effects = true;
	uint64_t a = w_exec("sleep 100");
	w_turns(5);
	ok(gate_box_quiet(W.gate, W_BOX), "a process that runs can be frozen: quiet");
	uint64_t r = file_action(ACT_READ);
	w_turns(5);
	is_str(w_state(r), "running", "a file is being read");
	ok(!gate_box_quiet(W.gate, W_BOX), "that cannot be frozen: not quiet");
	w_end(gate_action(W.gate, r), END_OK);
	w_turns(3);
	ok(gate_box_quiet(W.gate, W_BOX), "afterwards it is");
	W.record->held = true;
	uint64_t b = w_exec_as(W_OTHER, "ls", false, &w_effector);
	w_turns(3);
	is_str(w_state(b), "barrier", "a start is on its way to the disk");
	ok(!gate_box_quiet(W.gate, W_BOX), "not quiet before it has begun");
	gate_box_lock(W.gate, W_BOX, true);
	W.record->held = false;
	fake_run(W.record);
	w_turns(3);
	is_str(w_state(b), "running", "the lock does not call it back");
	w_end(gate_action(W.gate, a), END_OK);
	w_turns(3);
	gate_box_lock(W.gate, W_BOX, false);
	w_close();
}

static void decided_meanwhile(void)
{
	struct err err = ERR_INIT;
	w_open();
	W.hold_effects = true;
	w_policy("{\"file\":\"p.lua\",\"rules\":[{\"name\":\"r\",\"verdict\":\"ask\",\"line\":1,\"cmd\":\"make *\"}]}");
	uint64_t a = w_exec("make x");
	w_turns(3);
	is_str(w_state(a), "held", "an action waits for a person");
	gate_box_lock(W.gate, W_BOX, true);
	is_int(w_decide(a, DECIDE_APPROVE, &err), 0, "it is approved while the box is locked");
	w_turns(5);
	is_str(w_state(a), "queued", "and waits for the box now");
	gate_cancel(W.gate, a, "cancel", "given up");
	w_turns(3);
	is_str(w_state(a), "gone", "it can be cancelled there");
	uint64_t b = w_exec("ls");
	gate_box_gone(W.gate, W_BOX);
	w_turns(3);
	is_str(w_state(b), "gone", "a locked box that goes ends what waits for it");
	gate_box_lock(W.gate, W_BOX, false);
	w_turns(3);
	is_int((long)W.started, 0, "and nothing of it ever began");
	w_close();
}

int main(void)
{
	nothing_starts();
	other_boxes();
	quiet();
	decided_meanwhile();
	return done_testing();
}
