/* What decides an action without its user: session approvals, `when`, timeouts, nobody to ask, and
 * budgets. */
#include "tap.h"

#include "action/gate_priv.h"
#include "action/world.h"
#include "base/clock.h"

static void waivers(void)
{
	struct err err = ERR_INIT;
	w_open();
	w_policy(ASK_PUSH);
	w_exec("ls");
	uint64_t id = w_exec("make && git push origin fix/parser");
	w_turns(5);
	json_t *list = gate_waiver_proposals(W.gate, id);
	is_str(json_str(json_array_get(list, 0), "pattern", ""), "git push origin fix/parser",
	       "proposals come from the part that was not allowed");
	is_str(json_str(json_array_get(list, 1), "pattern", ""), "git push origin fix/*", "then wider");
	is_str(json_str(json_array_get(list, 2), "pattern", ""), "git push *", "then wide");
	ok(json_flag(json_array_get(list, 2), "wide", false), "and said so");
	json_decref(list);
	struct decide d = { .action = id, .decision = DECIDE_APPROVE, .waiver = "*" };
	ok(gate_decide(W.gate, &d, &err) < 0, "a pattern for everything is refused");
	d.waiver = "git push origin fix/*";
	is_int(gate_decide(W.gate, &d, &err), 0, "approve for session");
	w_turns(5);
	uint64_t b = w_exec("git push origin fix/lexer");
	w_turns(5);
	is_str(w_state(b), "gone", "a match runs without approval");
	json_t *judged = fake_body(W.record, b, EV_ACTION_JUDGED);
	ok(json_flag(judged, "waived", false) && json_array_size(json_object_get(judged, "rules")), "the verdict names the session approval");
	uint64_t c = w_exec("git push origin main"), o = w_exec_as(W_OTHER, "git push origin fix/lexer", true, &w_effector);
	uint64_t compound = w_exec("git push origin fix/lexer && git push origin main");
	w_turns(5);
	is_str(w_state(c), "held", "no match requires approval");
	is_str(w_state(o), "held", "so does another agent");
	is_str(w_state(compound), "held", "so does a line with a part that does not match");
	size_t done = W.nr_done;
	w_exec("git push origin fix/x --force");
	w_exec("git push origin fix/x -f");
	w_turns(5);
	ok(W.done_end[done] == END_DENIED && W.done_end[done + 1] == END_DENIED, "waiver never lifts deny");
	json_t *count = gate_waiver_try(W.gate, c, "git push *", &err);
	is_int(json_int(count, "matched", 0), 7, "what a pattern would have matched, lines whose other parts are allowed too");
	is_int(json_int(count, "denied", 0), 2, "and how many of them were denied");
	json_decref(count);
	w_close();
}

#define WHEN "{\"file\":\"w.lua\",\"rules\":[{\"name\":\"big\",\"verdict\":\"%s\",\"line\":7,\"kind\":\"exec\",\"when\":3}," \
	     "{\"name\":\"never\",\"verdict\":\"deny\",\"line\":9,\"cmd\":\"dd *\"}]}"

static void whens(void)
{
	char json[400];
	w_open();
	snprintf(json, sizeof(json), WHEN, "deny");
	w_policy(json);
	uint64_t a = w_exec("rm a b c");
	w_turns(2);
	is_str(w_state(a), "judging", "a when is asked");
	is_str(W.when_text, "w.lua:7 big", "by file, line and name");
	gate_judged(W.gate, W.ticket[0], true, "removes 3 paths", NULL);
	w_turns(3);
	is_int(W.done_end[0], END_DENIED, "its yes counts with the rule's verdict");
	is_str(json_str(json_array_get(json_object_get(fake_body(W.record, a, EV_ACTION_JUDGED), "rules"), 0), "note", ""),
	       "removes 3 paths", "and its note is recorded");
	uint64_t b = w_exec("rm a");
	w_turns(2);
	gate_judged(W.gate, W.ticket[1], false, NULL, NULL);
	w_turns(3);
	is_str(w_state(b), "gone", "its no does not count");
	is_int(W.started, 1, "so it ran");

	size_t asked = W.nr_tickets;
	w_exec("dd if=/dev/zero of=x");
	w_turns(3);
	is_int(W.nr_tickets, (int64_t)asked, "a plain deny never asks a when");
	is_int(W.done_end[2], END_DENIED, "and stands");

	uint64_t c = w_exec("rm z");
	while (!strcmp(w_state(c), "judging"))
		loop_turn(W.loop, 100);
	is_str(w_state(c), "held", "a when that hangs: ask");
	gate_judged(W.gate, W.ticket[W.nr_tickets - 1], false, NULL, NULL);
	w_turns(2);
	is_str(w_state(c), "held", "an answer that comes too late changes nothing");
	W.judge_dead = true;
	uint64_t d = w_exec("rm y");
	w_turns(3);
	is_str(w_state(d), "held", "a when that dies: ask");
	ok(strstr(json_str(json_array_get(json_object_get(fake_body(W.record, d, EV_ACTION_JUDGED), "rules"), 0), "note", ""),
		  "died") != NULL,
	   "the reason is recorded");
	w_close();

	w_open();
	snprintf(json, sizeof(json), WHEN, "allow");
	w_policy(json);
	W.judge_dead = true;
	d = w_exec("rm y");
	w_turns(3);
	is_str(w_state(d), "held", "an allow whose when dies asks too");
	w_close();
}

/* The `when` of a rule about a merge of several sandboxes, and how the merge stands after its answers. */
static void several_whens(void)
{
	static const struct {
		const char *verdict;
		bool first, second;
		size_t answers;
		const char *state;
	} c[] = {
		{ "allow", true, true, 2, "gone" },  { "allow", true, false, 2, "held" }, { "allow", false, true, 1, "held" },
		{ "deny", false, false, 2, "held" }, { "deny", false, true, 2, "gone" },  { "deny", true, false, 1, "gone" },
	};
	CLEANUP(json_release) json_t *boxes = json_pack("[{siss}{siss}]", "box", 2, "name", "a", "box", 3, "name", "b");
	for (size_t i = 0; i < ARRAY_LEN(c); i++) {
		char json[400];
		w_open();
		snprintf(json, sizeof(json),
			 "{\"file\":\"w.lua\",\"rules\":[{\"name\":\"m\",\"verdict\":\"%s\",\"line\":7,\"kind\":\"merge\",\"when\":3}]}",
			 c[i].verdict);
		w_policy(json);
		const struct action_spec s = { .kind = ACT_MERGE, .tool = "merge", .leaves_box = true, .boxes = boxes };
		uint64_t a = gate_submit(W.gate, &s, &w_effector, &w_client);
		w_turns(2);
		is_int(W.nr_tickets, 2, "the when is asked for each sandbox");
		gate_judged(W.gate, W.ticket[0], c[i].first, NULL, NULL);
		w_turns(3);
		is_str(w_state(a), c[i].answers == 1 ? c[i].state : "judging", "after the first answer");
		gate_judged(W.gate, W.ticket[1], c[i].second, NULL, NULL);
		w_turns(3);
		is_str(w_state(a), c[i].state, "after both answers");
		is_int(W.started, !strcmp(c[i].verdict, "allow") && c[i].first && c[i].second, "it runs if all are allowed");
		w_close();
	}
	struct err failed = ERR_INIT;
	err_set(&failed, ERR_INVALID, "attempt to index nil");
	w_open();
	w_policy("{\"file\":\"w.lua\",\"rules\":[{\"name\":\"m\",\"verdict\":\"deny\",\"line\":7,\"kind\":\"merge\",\"when\":3}]}");
	const struct action_spec s = { .kind = ACT_MERGE, .tool = "merge", .leaves_box = true, .boxes = boxes };
	uint64_t a = gate_submit(W.gate, &s, &w_effector, &w_client);
	w_turns(2);
	gate_judged(W.gate, W.ticket[0], false, NULL, &failed);
	gate_judged(W.gate, W.ticket[1], false, NULL, NULL);
	w_turns(3);
	is_str(json_str(json_array_get(json_object_get(fake_body(W.record, a, EV_ACTION_JUDGED), "rules"), 0), "note", ""),
	       "attempt to index nil", "an error that comes first is recorded, although the other answer is no");
	w_close();
}

static void unattended(void)
{
	w_open();
	w_policy(ASK_PUSH);
	gate_unattended(W.gate, true);
	uint64_t id = w_exec("git push origin main");
	w_turns(5);
	is_int(W.done_end[0], END_DENIED, "unattended ask = deny");
	is_str(W.done_why[0], "no user to ask", "and says why");
	is_str(json_str(fake_body(W.record, id, EV_ACTION_JUDGED), "why", ""), "no user", "in the record as well");
	is_int(W.started, 0, "it never started");
	w_close();
}

static void timeouts(void)
{
	static const char *const on[] = { "deny", "allow", "hold", "allow" };
	for (int i = 0; i < 4; i++) {
		char json[300];
		w_open();
		W.rejected = i == 3;
		snprintf(json, sizeof(json),
			 "{\"file\":\"t\",\"rules\":[{\"name\":\"t\",\"verdict\":\"ask\",\"line\":1,\"kind\":\"exec\",\"timeout_us\":1000,"
			 "\"on_timeout\":\"%s\"}]}",
			 on[i]);
		w_policy(json);
		uint64_t id = w_exec("ls");
		ok(json_int(fake_body(W.record, id, EV_ACTION_HELD), "until_us", 0) > 0, "%s: the deadline is recorded", on[i]);
		for (int64_t end = clock_mono_us() + (i >= 2 ? 20000 : 5000000); clock_mono_us() < end && !W.nr_done;)
			loop_turn(W.loop, 5);
		if (i == 0)
			ok(W.nr_done == 1 && W.done_end[0] == END_DENIED, "nobody answers: denied");
		else if (i == 1)
			ok(W.nr_done == 1 && W.done_end[0] == END_OK, "unless the rule says allow");
		else
			is_str(w_state(id), "held", i == 2 ? "or hold" : "or parts of it were rejected in a review");
		if (i < 2)
			is_str(json_str(fake_body(W.record, id, EV_ACTION_DECIDED), "by", ""), "timeout", "and it is known by whom");
		w_close();
	}
}

/* Neither a model's arguments nor an effector's reported cost can enlarge a budget. */
static uint64_t tool_call(const char *args)
{
	struct err err = ERR_INIT;
	struct action_spec s = { .kind = ACT_HOST, .cause = 1, .agent = W_AGENT, .tool = "t", .parallel = true,
				 .args = json_parse(args, strlen(args), "args", &err) };
	uint64_t id = gate_submit(W.gate, &s, &w_effector, &w_client);
	json_decref(s.args);
	return id;
}

static void budgets_do_not_grow(void)
{
	w_open();
	W.hold_effects = true;
	w_policy("{\"file\":\"p.lua\",\"default\":\"allow\",\"rules\":[]}");
	uint64_t mine = gate_budget(W.gate, 0, W_AGENT, &(struct budget_limits){ .uusd = 1000, .tokens = 1000 });
	gate_budget_spend(W.gate, mine, &(struct budget_limits){ .uusd = 1000 });
	uint64_t a = tool_call("{\"reserve\":{\"uusd\":-5000}}");
	w_turns(3);
	is_str(w_state(a), "held", "to set aside less than nothing makes no room in a budget that is used up");
	gate_budget_extend(W.gate, mine, &(struct budget_limits){ .uusd = 1000 }, NULL);
	w_turns(3);
	is_str(w_state(a), "running", "extended: it runs");
	uint64_t b = tool_call("{\"reserve\":{\"tokens\":9223372036854775807}}"), c = tool_call("{\"reserve\":{\"tokens\":9223372036854775807}}");
	w_turns(3);
	is_str(w_state(b), "held", "more than there can be is more than is left");
	is_str(w_state(c), "held", "twice, too");
	json_t *body = json_object();
	json_put_int(body, "cost_uusd", -5000);
	json_put_int(body, "tokens", INT64_MIN);
	action_ended(gate_action(W.gate, a), END_OK, body);
	w_turns(3);
	json_t *left = gate_budget_left(W.gate, mine);
	is_int(json_int(left, "uusd", -1), 1000, "what cost less than nothing gives nothing back");
	json_decref(left);
	gate_budget_extend(W.gate, mine, &(struct budget_limits){ .uusd = INT64_MAX }, NULL);
	left = gate_budget_left(W.gate, mine);
	ok(json_int(left, "uusd", -1) > 1000, "more than a number holds is as much as it holds");
	json_decref(left);
	w_close();
}

static void budgets(void)
{
	struct err err = ERR_INIT;
	w_open();
	uint64_t root = gate_budget(W.gate, 0, 0, &(struct budget_limits){ .actions = 5 });
	uint64_t mine = gate_budget(W.gate, root, W_AGENT, &(struct budget_limits){ .actions = 2, .uusd = 1000 });
	w_exec("a");
	w_exec("b");
	w_turns(5);
	is_int(W.nr_done, 2, "two actions are in the budget");
	ok(fake_body(W.record, 0, EV_BUDGET_WARN) != NULL, "80 percent is an event");
	uint64_t c = w_exec("c");
	w_turns(5);
	is_str(w_state(c), "held", "budgets ask, they do not kill");
	is_int(W.budget_calls, 1, "and the session is notified");
	is_str(json_string_value(json_array_get(json_object_get(fake_body(W.record, c, EV_ACTION_HELD), "reasons"), 0)), "budget",
	       "the reason is recorded");
	gate_budget_extend(W.gate, mine, &(struct budget_limits){ .actions = 2 }, NULL);
	w_turns(5);
	is_str(w_state(c), "gone", "extended: it runs");
	json_t *left = gate_budget_left(W.gate, mine);
	is_int(json_int(left, "actions", -1), 1, "the least of what the tree has left");
	is_int(json_int(left, "uusd", -1), 1000, "each limit on its own");
	json_decref(left);
	gate_budget_spend(W.gate, mine, &(struct budget_limits){ .uusd = 1000 });
	uint64_t d = w_exec("d");
	w_turns(3);
	is_str(w_state(d), "held", "spent elsewhere counts");
	is_int(w_decide(d, DECIDE_DENY, &err), 0, "a person may say no");
	w_turns(3);
	is_int(W.done_end[3], END_BUDGET, "which ends it as budget");
	uint64_t e = w_exec("e");
	w_turns(3);
	is_int(w_decide(e, DECIDE_APPROVE, &err), 0, "or yes to this one");
	w_turns(3);
	is_int(W.done_end[4], END_OK, "which runs it");
	is_int(W.budget_calls, 2, "each limit is reported once");
	gate_unattended(W.gate, true);
	w_exec("f");
	w_turns(3);
	is_int(W.done_end[5], END_BUDGET, "with nobody to ask it ends");
	w_close();
}

int main(void)
{
	waivers();
	whens();
	several_whens();
	unattended();
	timeouts();
	budgets_do_not_grow();
	budgets();
	return done_testing();
}
