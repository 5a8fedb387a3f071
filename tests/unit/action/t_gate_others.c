/* Other pending actions that a new session approval or rule decides. `continue`, `step`, and a cleared breakpoint
 * never answer a question. */
#include "tap.h"

#include "action/added.h"
#include "action/gate_priv.h"
#include "action/world.h"

#define PUSH "{\"file\":\"p.lua\",\"rules\":[" \
	     "{\"name\":\"no-push\",\"verdict\":\"ask\",\"line\":22,\"cmd\":\"git push *\",\"risk\":\"high\"}," \
	     "{\"name\":\"typed\",\"verdict\":\"ask\",\"line\":24,\"cmd\":\"git push ... typed\",\"confirm\":\"type\"}," \
	     "{\"name\":\"other\",\"verdict\":\"ask\",\"line\":26,\"cmd\":\"make deploy\"}]}"

static json_t *ann(void)
{
	return json_pack("{s:i,s:s}", "uid", 1000, "name", "ann");
}

static const json_t *other(const json_t *o, uint64_t id)
{
	const json_t *list = json_object_get(o, "others");
	for (size_t i = 0; i < json_array_size(list); i++)
		if (json_int(json_array_get(list, i), "action", 0) == (json_int_t)id)
			return json_array_get(list, i);
	return NULL;
}

static void named_then_released(void)
{
	struct err err = ERR_INIT;
	w_open();
	w_policy(PUSH);
	uint64_t a = w_exec("git push origin fix/a"), b = w_exec("make && git push origin fix/b"), c = w_exec("git push origin main"),
		 late = w_exec("git push origin fix/late"), typed = w_exec("git push origin fix/typed typed"),
		 compound = w_exec("git push origin fix/c && make deploy"),
		 foreign = w_exec_as(W_OTHER, "git push origin fix/d", true, &w_effector);
	w_turns(3);
	json_t *tried = gate_waiver_try(W.gate, a, "git push origin fix/* *", &err);
	ok(other(tried, b) && !json_object_get(other(tried, b), "stays"), "another pending action that it approves is named");
	ok(other(tried, foreign) && json_int(other(tried, foreign), "agent", 0) == W_OTHER, "also one of another agent, with its id");
	ok(!other(tried, c) && !other(tried, compound) && !other(tried, a), "an action with an unmatched part is not named, nor the action itself");
	is_str(json_str(other(tried, typed), "stays", ""), "its name must be typed", "an action whose name must be typed stays");
	json_decref(tried);

	CLEANUP(json_release) json_t *named = json_pack("[I,I,I,I,I,I]", (json_int_t)b, (json_int_t)c, (json_int_t)typed,
							(json_int_t)foreign, (json_int_t)compound, (json_int_t)9999),
				     *went = json_array(), *who = ann();
	struct decide d = { .action = a, .decision = DECIDE_APPROVE, .waiver = "git push origin fix/* *", .who = who,
			    .others = named, .others_done = went };
	is_int(gate_decide(W.gate, &d, &err), 0, "approved for the session");
	w_turns(6);
	is_str(w_state(b), "gone", "the other one ran");
	is_int((int)json_array_size(went), 1, "it alone");
	is_str(w_state(late), "held", "a matching action that was not named stays pending");
	is_str(w_state(c), "held", "a named action that does not match stays pending");
	is_str(w_state(compound), "held", "so does a line with another part that requires approval");
	is_str(w_state(typed), "held", "and an action whose name must be typed");
	is_str(w_state(foreign), "held", "and one of another agent: the pattern is for this agent alone");
	is_str(fake_life(W.record, b), "requested judged held decided started ended", "with its own decision in the recording");
	const json_t *body = fake_body(W.record, b, EV_ACTION_DECIDED);
	is_str(json_str(body, "by", ""), "human", "a person's");
	is_str(json_str(json_object_get(body, "who"), "name", ""), "ann", "whose, too");
	is_int(json_int(body, "with", 0), (int)a, "which names the action it went with");
	is_str(json_str(body, "waiver", ""), "git push origin fix/* *", "and the pattern");
	ok(!json_object_get(fake_body(W.record, a, EV_ACTION_DECIDED), "with"), "the first one's names none");
	w_close();
}

static void not_past_a_review(void)
{
	struct err err = ERR_INIT;
	w_open();
	w_policy(PUSH);
	W.rejected = true;
	uint64_t a = w_exec("git push origin fix/a"), b = w_exec("git push origin fix/b");
	w_turns(3);
	CLEANUP(json_release) json_t *named = json_pack("[I]", (json_int_t)b), *went = json_array(), *who = ann();
	struct decide d = { .action = a, .decision = DECIDE_APPROVE, .waiver = "git push origin fix/* *", .who = who,
			    .others = named, .others_done = went };
	is_int(gate_decide(W.gate, &d, &err), 0, "approved for the session");
	w_turns(6);
	is_str(w_state(b), "held", "one of which parts were rejected in a review stays pending");
	w_close();
}

static void not_past_a_stop(void)
{
	struct err err = ERR_INIT;
	w_open();
	w_policy(PUSH);
	uint64_t a = w_exec("git push origin fix/a");
	gate_pause(W.gate, W_AGENT, NULL);
	uint64_t paused = w_exec("git push origin fix/b");
	W.tree = (struct hash){ { 1 } };
	uint64_t changed = w_exec_as(W_OTHER, "git push origin fix/c", true, &w_effector);
	w_turns(3);
	W.tree = (struct hash){ { 2 } };
	CLEANUP(json_release) json_t *named = json_pack("[I,I]", (json_int_t)paused, (json_int_t)changed), *who = ann();
	json_t *tried = gate_waiver_try(W.gate, a, "git push *", &err);
	is_str(json_str(other(tried, paused), "stays", ""), "its agent is paused", "a paused agent's is named as staying");
	is_str(json_str(other(tried, changed), "stays", ""), "the files of its sandbox have changed since it was shown",
	       "so is one of high risk whose files are not those that were shown");
	json_decref(tried);
	struct decide d = { .action = a, .decision = DECIDE_APPROVE, .waiver = "git push *", .waiver_all = true, .who = who, .others = named };
	is_int(gate_decide(W.gate, &d, &err), 0, "approved for all agents");
	w_turns(6);
	is_str(w_state(paused), "held", "the paused one is held");
	is_str(w_state(changed), "held", "and the changed one");
	w_close();
}

static void uses(void)
{
	struct err err = ERR_INIT;
	w_open();
	w_policy(PUSH);
	uint64_t id[4];
	CLEANUP(json_release) json_t *named = json_array(), *who = ann();
	for (size_t i = 0; i < ARRAY_LEN(id); i++) {
		id[i] = w_exec(i ? "git push origin fix/more" : "git push origin fix/first");
		json_array_append_new(named, json_integer((json_int_t)id[i]));
	}
	w_turns(3);
	struct decide d = { .action = id[0], .decision = DECIDE_APPROVE, .waiver = "git push *", .waiver_uses = 2, .who = who, .others = named };
	is_int(gate_decide(W.gate, &d, &err), 0, "for two uses");
	w_turns(8);
	ok(!strcmp(w_state(id[1]), "gone") && !strcmp(w_state(id[2]), "gone"), "two of the others used them");
	is_str(w_state(id[3]), "held", "the third is held");
	uint64_t next = w_exec("git push origin fix/next");
	w_turns(3);
	is_str(w_state(next), "held", "and later ones require approval");
	w_close();
}

static void by_rule(void)
{
	struct err err = ERR_INIT;
	w_open();
	w_policy(PUSH);
	uint64_t a = w_exec("git push origin fix/a"), b = w_exec("git push origin fix/b"), c = w_exec_as(W_OTHER, "git push x", true, &w_effector);
	w_turns(3);
	json_t *rule = gate_rule(W.gate, a, VERDICT_ALLOW, "git push origin *", &err);
	ok(other(rule, b) && !other(rule, c), "a rule names what it answers");
	json_decref(rule);
	rule = gate_rule(W.gate, a, VERDICT_DENY, "git push *", &err);
	ok(other(rule, b) && other(rule, c), "a rule that denies names what it would deny");
	json_decref(rule);
	w_policy("{\"file\":\".sandglass/added.lua\",\"added\":true,\"rules\":[{\"name\":\"added-no\",\"verdict\":\"deny\",\"line\":1,"
		 "\"kind\":\"exec\",\"cmd\":\"git push *\"}]}");
	CLEANUP(json_release) json_t *named = json_pack("[I]", (json_int_t)c), *who = ann();
	struct decide d = { .action = a, .decision = DECIDE_DENY, .rule = "added-no", .message = "not today", .who = who, .others = named };
	is_int(gate_decide(W.gate, &d, &err), 0, "denied with a rule");
	w_turns(6);
	is_str(w_state(c), "gone", "the one that was named is denied, too");
	is_str(w_state(b), "held", "the one that was not is held");
	is_str(json_str(fake_body(W.record, c, EV_ACTION_DECIDED), "decision", ""), "deny", "by a decision of its own");
	is_str(json_str(fake_body(W.record, c, EV_ACTION_DECIDED), "message", ""), "not today", "with the message");
	is_int(W.started, 0, "nothing ran");
	w_close();
}

static void a_question_wants_its_answer(void)
{
	struct err err = ERR_INIT;
	w_open();
	w_policy(PUSH);
	is_int(gate_hold(W.gate, "kind:exec cmd~push", NULL, &err), 0, "a hold filter, over a rule that asks");
	gate_pause(W.gate, W_AGENT, NULL);
	uint64_t id = w_exec("git push origin main");
	w_turns(3);
	is_str(w_state(id), "held", "it is held for three reasons");
	gate_step(W.gate, W_AGENT, NULL);
	w_turns(3);
	is_str(w_state(id), "held", "a step does not let it through");
	gate_continue(W.gate, W_AGENT, NULL);
	w_turns(3);
	is_str(w_state(id), "held", "continue of its agent does not");
	gate_continue(W.gate, 0, NULL);
	gate_continue(W.gate, 0, NULL);
	w_turns(3);
	is_str(w_state(id), "held", "continue of all, twice, does not");
	is_int(gate_hold(W.gate, "", NULL, &err), 0, "the hold is cleared");
	gate_continue(W.gate, 0, NULL);
	gate_step(W.gate, 0, NULL);
	w_turns(3);
	is_str(w_state(id), "held", "nor do they together");
	is_int(W.started, 0, "nothing ran");
	ok(!strstr(fake_life(W.record, id), "decided"), "nobody has decided it");
	CLEANUP(json_release) json_t *state = gate_state(W.gate);
	const json_t *why = json_object_get(json_array_get(json_object_get(state, "held"), 0), "reasons");
	ok(json_array_size(why) == 1 && !strcmp(json_string_value(json_array_get(why, 0)), "ask"), "the question is what is left");
	is_int(w_decide(id, DECIDE_APPROVE, &err), 0, "a person's yes");
	w_turns(5);
	is_str(w_state(id), "gone", "lets it run");
	w_close();
}

static uint64_t connects(const char *host, uint16_t port)
{
	char name[60];
	snprintf(name, sizeof(name), "%s", host);
	const struct action_spec s = { .kind = ACT_CONNECT, .cause = 1, .agent = W_AGENT, .box = W_BOX, .tool = "net", .host = name, .port = port };
	return gate_submit(W.gate, &s, &w_effector, &w_client);
}

/* A command for the session, and with it the host that it talks to. */
static void with_its_host(void)
{
	struct err err = ERR_INIT;
	w_open();
	w_policy("{\"file\":\"p.lua\",\"rules\":["
		 "{\"name\":\"get\",\"verdict\":\"ask\",\"line\":1,\"cmd\":\"curl *\"},"
		 "{\"name\":\"net\",\"verdict\":\"ask\",\"line\":2,\"kind\":\"connect\",\"host\":\"!ok.example\"},"
		 "{\"name\":\"good\",\"verdict\":\"allow\",\"line\":3,\"kind\":\"connect\",\"host\":\"ok.example\"}]}");
	uint64_t before = connects("a.example", 8443);
	w_turns(3);
	is_int(w_decide(before, DECIDE_DENY, &err), 0, "a connection was denied before");
	uint64_t id = w_exec("curl -u x https://me@a.example:8443/x http://ok.example/ https://$HOST.example/ http://b.example?q "
			     "http://d.example:65616/ http://e.example:99999999999999999999/");
	w_turns(3);
	CLEANUP(json_release) json_t *seen = json_pack("[{s:s,s:i},{s:s,s:i}]", "host", "c.example", "port", 22, "host", "f.example", "port", 65558);
	CLEANUP(json_release) json_t *hosts = gate_waiver_hosts(W.gate, id, seen);
	is_int((int64_t)json_array_size(hosts), 3, "hosts of its arguments and of an attempt; no allowed host, unknown host, or missing port");
	is_str(json_str(json_array_get(hosts, 0), "host", ""), "c.example:22", "the host that the attempt asked for");
	is_str(json_str(json_array_get(hosts, 1), "host", ""), "a.example:8443", "a given port");
	is_str(json_str(json_array_get(hosts, 2), "host", ""), "b.example:80", "and a default port");
	is_int(json_int(json_array_get(hosts, 1), "matched", 0), 1, "its matches");
	is_int(json_int(json_array_get(hosts, 1), "denied", 0), 1, "and its denials");
	CLEANUP(json_release) json_t *who = ann();
	struct decide d = { .action = id, .decision = DECIDE_APPROVE, .waiver = "curl *", .waiver_host = "*", .who = who };
	is_int(gate_decide(W.gate, &d, &err), -1, "a wildcard is refused as a host");
	is_str(w_state(id), "held", "the action stays undecided");
	d.waiver_host = "a.example:8443";
	is_int(gate_decide(W.gate, &d, &err), 0, "approved with its host");
	w_turns(6);
	uint64_t again = w_exec("curl https://a.example:8443/y"), there = connects("a.example", 8443), other = connects("a.example", 443);
	w_turns(6);
	is_str(w_state(again), "gone", "the next one runs");
	is_str(w_state(there), "gone", "its connection, too");
	is_str(w_state(other), "held", "another port asks");
	w_close();
}

int main(void)
{
	with_its_host();
	named_then_released();
	not_past_a_review();
	not_past_a_stop();
	uses();
	by_rule();
	a_question_wants_its_answer();
	return done_testing();
}
