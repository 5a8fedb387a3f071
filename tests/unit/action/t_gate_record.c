/* The gate on a real recorder and a real session file: order on the disk, a death in the middle, and coming back. */
#include "tap.h"

#include <stdlib.h>
#include <unistd.h>

#include "action/gate.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "record/read/session.h"

static struct loop *L;
static struct record *R;
static struct gate *G;
static struct action *running[8];
static size_t nr_running, nr_done;
static enum action_end last_end;
static bool committed_first = true;
static char path[400];

static void start(void *self, struct action *a)
{
	(void)self;
	/* what another process would find in the file at this moment */
	struct err err = ERR_INIT;
	struct session *s = NULL;
	struct feed *f = NULL;
	struct arena arena = ARENA_INIT;
	struct event ev;
	bool found = false;
	if (session_open(&s, path, &err) == 0 && feed_new(&f, s, FEED_ACTION, action_id(a), &err) == 0)
		while (feed_next(f, &ev, &arena, 0, &err) == 1)
			found |= ev.kind == EV_ACTION_STARTED;
	committed_first &= found;
	arena_release(&arena);
	feed_free(&f);
	session_close(&s);
	running[nr_running++] = a;
}

static void cancel(void *self, struct action *a, const char *how)
{
	(void)self;
	(void)how;
	action_ended(a, END_CANCELLED, NULL);
}

static const struct effector effector = { .name = "test", .start = start, .cancel = cancel };

static void done(void *self, const struct action_result *res)
{
	(void)self;
	nr_done++;
	last_end = res->end;
}

static struct buf heard;

static void output(void *self, enum record_stream s, const void *bytes, size_t len)
{
	(void)self;
	buf_printf(&heard, "%d:%.*s|", (int)s, (int)len, (const char *)bytes);
}

static uint64_t submit(const char *cmd)
{
	const struct action_client client = { .done = done, .output = output };
	struct action_spec s = { .kind = ACT_EXEC, .cause = 1, .agent = 1, .box = 1, .tool = "shell", .cmdline = cmd };
	strv_push(&s.argv, "sh");
	strv_push(&s.argv, "-c");
	strv_push(&s.argv, cmd);
	uint64_t id = gate_submit(G, &s, &effector, &client);
	strv_release(&s.argv);
	return id;
}

static void wait_running(size_t nr)
{
	for (int64_t end = clock_mono_us() + 10000000; nr_running < nr && clock_mono_us() < end;)
		loop_turn(L, 10);
}

static void policy(void)
{
	static const char json[] =
		"{\"file\":\"p\",\"rules\":[{\"name\":\"push\",\"verdict\":\"ask\",\"line\":1,\"cmd\":\"git push *\"}]}";
	struct err err = ERR_INIT;
	struct policy *p = NULL;
	if (policy_parse(&p, json, strlen(json), &err) == 0)
		gate_add_policy(G, p);
}

static void open_gate(void)
{
	G = gate_new(L, R, NULL);
	gate_box(G, 1, WALL_BOXED, "enforced", "b1");
	gate_agent(G, 1, "fix");
	policy();
	nr_running = 0;
}

/* Kinds of the action's events, from the file. */
static const char *life(uint64_t id)
{
	static char text[400];
	struct err err = ERR_INIT;
	struct session *s = NULL;
	struct feed *f = NULL;
	struct arena arena = ARENA_INIT;
	struct event ev;
	text[0] = 0;
	if (session_open(&s, path, &err) == 0 && feed_new(&f, s, FEED_ACTION, id, &err) == 0)
		while (feed_next(f, &ev, &arena, 0, &err) == 1) {
			const char *name = event_kind_name(ev.kind);
			if (strncmp(name, "action.", 7) != 0)
				continue;
			size_t len = strlen(text);
			snprintf(text + len, sizeof(text) - len, "%s%s", len ? " " : "", name + 7);
		}
	arena_release(&arena);
	feed_free(&f);
	session_close(&s);
	return text;
}

static uint64_t flush(void)
{
	uint64_t head = record_head(R);
	for (int64_t end = clock_mono_us() + 10000000; record_committed(R) < head && clock_mono_us() < end;)
		loop_turn(L, 10);
	return head;
}

static void die_and_return(void)
{
	struct err err = ERR_INIT;
	const struct record_ops none = { 0 };
	flush();
	gate_free(&G);
	record_abandon(&R);
	loop_turn(L, 0);
	int rc = record_resume(&R, L, path, &none, NULL, &err);
	ok(rc == 0, "the session resumes %s", err.text);
	if (rc < 0)
		exit(1);
	open_gate();
	ok(gate_recover(G, path, &err) == 0, "recovered %s", err.text);
	flush();
}

int main(void)
{
	char dir[] = "/tmp/t_gate_record.XXXXXX";
	struct err err = ERR_INIT;
	const struct record_ops none = { 0 };
	hash_init();
	if (!mkdtemp(dir) || loop_new(&L, &err) < 0)
		return 1;
	json_t *body = json_object();
	if (record_create(&R, L, dir, "gate", body, &none, NULL, &err) < 0) {
		printf("Bail out! %s\n", err.text);
		return 1;
	}
	json_decref(body);
	snprintf(path, sizeof(path), "%s", record_path(R));
	open_gate();

	uint64_t a = submit("make"), b = submit("ls");
	wait_running(2);
	is_int(nr_running, 2, "two actions run");
	ok(committed_first, "and their start was in the file before");
	ok(record_secret(R, "KEY", "Wonderland", 10, &err) == 0, "a secret");
	action_output(running[0], STREAM_OUT, "hello Won", 9);
	action_output(running[0], STREAM_ERR, "other", 5);
	action_output(running[0], STREAM_OUT, "derland and Wonder", 18);
	is_str(buf_cstr(&heard), "1:hello |2:other|1:<secret:KEY> and |",
	       "the caller receives the recorded output, with secrets removed across chunks, each stream on its own");
	action_ended(running[0], END_OK, NULL);
	uint64_t held = submit("git push origin main"), denied = submit("git push origin other");
	struct decide no = { .action = denied, .decision = DECIDE_DENY };
	ok(gate_decide(G, &no, &err) == 0, "one is denied");
	struct decide twice = { .action = submit("git push origin two/a"), .decision = DECIDE_APPROVE, .waiver = "git push origin two/*", .waiver_uses = 2 };
	ok(gate_decide(G, &twice, &err) == 0, "one for two more of its like %s", err.text);
	struct decide brief = { .action = submit("git push origin brief/a"), .decision = DECIDE_APPROVE, .waiver = "git push origin brief/*", .waiver_for_us = 1 };
	ok(gate_decide(G, &brief, &err) == 0, "one for a moment %s", err.text);
	submit("git push origin two/b");
	wait_running(5);
	is_int(nr_running, 5, "the first of the two runs");
	gate_pause(G, 7, NULL);
	gate_freeze(G, NULL);
	ok(gate_hold(G, "kind:connect", NULL, &err) == 0, "a hold is set");
	struct decide wide = { .action = submit("git push origin fix/a"), .decision = DECIDE_APPROVE, .waiver = "git push origin fix/*" };
	ok(gate_decide(G, &wide, &err) == 0, "one is approved for the session %s", err.text);
	wait_running(6);
	die_and_return();

	is_str(life(a), "judged started ended", "an ended action is unchanged");
	is_str(life(b), "judged started ended", "a running action has ended");
	is_str(life(held), "judged held", "a pending action is pending again");
	json_t *state = gate_state(G);
	is_int(json_array_size(json_object_get(state, "held")), 1, "and shown");
	is_str(json_str(json_array_get(json_object_get(state, "held"), 0), "cmd", ""), "git push origin main", "with its command");
	is_str(json_str(state, "hold", ""), "kind:connect", "the hold filter is there");
	json_decref(state);
	ok(gate_paused(G, 7) && gate_paused(G, 8), "the pause is there, and the freeze");
	gate_thaw(G, NULL);
	ok(gate_paused(G, 7) && !gate_paused(G, 8), "a thaw ends the freeze alone");
	struct decide yes = { .action = held, .decision = DECIDE_APPROVE };
	ok(gate_decide(G, &yes, &err) < 0 && err.code == ERR_BUSY, "not to be approved before its script is back");
	uint64_t again = submit("git push origin main");
	is_int((int64_t)again, (int64_t)held, "the same intent has the same id");
	ok(gate_decide(G, &yes, &err) == 0, "then it is approved %s", err.text);
	wait_running(1);
	is_int(nr_running, 1, "and runs");
	action_ended(running[0], END_OK, NULL);
	uint64_t other = submit("git push origin main");
	ok(other != held, "once");
	uint64_t waived = submit("git push origin fix/b");
	wait_running(2);
	is_int((int64_t)action_id(running[1]), (int64_t)waived, "the waiver is there");
	uint64_t second = submit("git push origin two/c"), third = submit("git push origin two/d"), late = submit("git push origin brief/b");
	wait_running(3);
	is_int((int64_t)action_id(running[2]), (int64_t)second, "of two uses one was left");
	flush();
	is_str(life(held), "judged held judged held decided started ended", "its whole life in the file");
	is_str(life(third), "judged held", "and no third");
	is_str(life(late), "judged held", "a timed approval is over after its time");
	die_and_return();
	is_str(life(waived), "judged started ended", "a second death");
	ok(gate_paused(G, 7) && !gate_paused(G, 8), "the thaw survives");
	ok(strstr(buf_cstr(&heard), " and |1:Wonder|") != NULL, "and the output kept back before the end: %s", buf_cstr(&heard));
	CLEANUP(buf_release) struct buf said = BUF_INIT;
	ok(gate_take_back(G, gate_newest_set(G), NULL, &said), "the session approval is revoked");
	is_str(buf_cstr(&said), "no longer approved for the session: git push origin fix/*", "the message names it");
	uint64_t fourth = submit("git push origin fix/c");
	buf_reset(&said);
	ok(gate_take_back(G, gate_newest_set(G), NULL, &said), "and the earlier breakpoint");
	is_str(buf_cstr(&said), "no breakpoint is set, as before", "the message names that, too");
	ok(!gate_newest_set(G) && !gate_take_back(G, 0, NULL, &said), "then nothing is left to revoke");
	flush();
	is_str(life(fourth), "judged held", "the command is pending again");
	die_and_return();
	fourth = submit("git push origin fix/d");
	flush();
	is_str(life(fourth), "judged held", "after a third death, too");
	state = gate_state(G);
	is_str(json_str(state, "hold", "?"), "", "and nothing is held by a filter");
	is_int(json_array_size(json_object_get(state, "waivers")), 0, "nor approved for the session");
	json_decref(state);
	buf_release(&heard);
	gate_free(&G);
	ok(record_close(&R, json_object(), &err) == 0, "closed %s", err.text);
	loop_turn(L, 0);
	loop_free(L);
	if (dir_remove(dir, &err) < 0)
		printf("# %s\n", err.text);
	return done_testing();
}
