/* Effects between the policy check and the driver: the runs, their events, and their ends. The test answers for the
 * driver. */
#include <sys/socket.h>
#include <unistd.h>

#include "tap.h"

#include "action/fake_record.c"
#include "action/gate.h"
#include "base/clock.h"
#include "sandbox/effect.h"
#include "fake_driver.h"

static struct loop *L;
static struct record *R;
static struct gate *G;
static struct boxes *B;
static uint64_t box;
enum { AHEAD = 1 << 20 }; /* more than a socket and what waits for it take */

static struct {
	size_t opened, gone, done;
	char why[200], gone_why[200], done_why[200];
	enum action_end end;
	int64_t code, signal, out_bytes, left;
	struct buf out;
} seen;

static void on_opened(void *self, uint64_t id, json_t *result, const struct err *err)
{
	(void)self;
	(void)id;
	(void)result;
	seen.opened++;
	snprintf(seen.why, sizeof(seen.why), "%s", err ? err->text : "");
}

static void on_gone(void *self, uint64_t id, const struct err *err)
{
	(void)self;
	(void)id;
	seen.gone++;
	snprintf(seen.gone_why, sizeof(seen.gone_why), "%s", err ? err->text : "");
}

static void on_done(void *self, const struct action_result *res)
{
	(void)self;
	seen.done++;
	seen.end = res->end;
	seen.code = json_int(res->body, "code", -1);
	seen.signal = json_int(res->body, "signal", -1);
	seen.out_bytes = json_int(res->body, "out_bytes", -1);
	seen.left = json_int(res->body, "left", 0);
	snprintf(seen.done_why, sizeof(seen.done_why), "%s", res->why ? res->why : "");
}

static void on_output(void *self, enum record_stream s, const void *bytes, size_t len)
{
	(void)self;
	buf_printf(&seen.out, "%d", (int)s);
	buf_append(&seen.out, bytes, len);
}

static void turns(int n)
{
	while (n-- > 0)
		loop_turn(L, 0);
}

static bool wait_signals(const struct run *r, size_t nr)
{
	for (int64_t end = clock_mono_us() + 20000000; r->nr_signals < nr && clock_mono_us() < end;)
		loop_turn(L, 50);
	return r->nr_signals == nr;
}

static void begin(void)
{
	static const struct boxes_ops ops = { .opened = on_opened, .gone = on_gone };
	struct err err = ERR_INIT;
	buf_release(&seen.out);
	memset(&seen, 0, sizeof(seen));
	memset(&fake, 0, sizeof(fake));
	fake.box.driver = &fake_driver;
	if (loop_new(&L, &err) < 0)
		abort();
	R = fake_record(L);
	record_append_json(R, EV_POLICY_LOADED, 0, 0, 0, 0, json_object());
	G = gate_new(L, R, NULL);
	B = boxes_new(L, R, G, &ops);
	struct box_opts o = { .name = "b", .state_dir = "/nowhere" };
	box = boxes_open(B, &fake_driver, &o, 1, 0);
}

/* A box that is open. */
static void begin_open(void)
{
	begin();
	turns(2);
	fake_answer(&fake.open, json_pack("{s:s}", "profile", "enforced"), NULL);
	gate_box(G, box, WALL_BOXED, "enforced", "b");
}

static void end(void)
{
	turns(3);
	is_int(fake.live, 0, "  no run is left");
	is_int(boxes_count(B), 0, "  no box is left");
	boxes_free(&B);
	gate_free(&G);
	turns(3);
	loop_free(L);
	fake_free(R);
	buf_release(&fake.log);
}

/* Closes what is open and ends. */
static void close_end(void)
{
	boxes_close(B, box);
	fake_answer(&fake.close, json_object(), NULL);
	end();
}

static uint64_t submit(struct action_spec *s)
{
	static const struct action_client client = { .done = on_done, .output = on_output };
	s->cause = 1;
	s->box = box;
	uint64_t id = gate_submit(G, s, boxes_effector(B, box), &client);
	strv_release(&s->argv);
	return id;
}

static uint64_t exec(int64_t timeout_us, const char *in)
{
	struct action_spec s = { .kind = ACT_EXEC, .timeout_us = timeout_us, .stdin_bytes = in, .stdin_len = in ? strlen(in) : 0 };
	strv_push(&s.argv, "make");
	strv_push(&s.argv, "test");
	return submit(&s);
}

static uint64_t file(enum action_kind kind, const char *path, const char *data, json_t *args)
{
	struct action_spec s = { .kind = kind, .path = path, .data = data, .data_len = data ? strlen(data) : 0, .args = args };
	uint64_t id = submit(&s);
	json_decref(args);
	turns(3);
	return id;
}

/* --- open and close --- */

static void test_open(void)
{
	begin();
	is_int(fake.opens, 0, "nothing is opened before box.open is durable");
	ok(boxes_get(B, box) == NULL && boxes_find(B, "b") == box, "it has a name, and is not there yet");
	turns(2);
	is_int(fake.opens, 1, "then it is");
	is_str(fake.name, "b", "by its options");
	boxes_close(B, box);
	is_int(fake.closes, 0, "one that is being opened is closed when it is there");
	fake_answer(&fake.open, json_object(), NULL);
	ok(seen.opened == 1 && fake.closes == 1 && !boxes_get(B, box), "not before, and not later");
	fake_answer(&fake.close, json_pack("{s:i}", "killed", 2), NULL);
	ok(seen.gone == 1 && !seen.gone_why[0], "gone without a complaint");
	is_int(json_int(fake_body(R, 0, EV_BOX_CLOSED), "killed", 0), 2, "box.closed says what was killed");
	end();

	begin();
	turns(2);
	fake_answer(&fake.open, NULL, "no space for an overlay");
	ok(seen.opened == 1 && seen.gone == 0, "a failed open is reported once");
	is_str(seen.why, "no space for an overlay", "with its reason");
	is_str(json_str(fake_body(R, 0, EV_BOX_CLOSED), "why", ""), "no space for an overlay", "and the reason is in the recording");
	end();
}

/* --- exec --- */

static void test_exec(void)
{
	begin_open();
	R->held = true;
	uint64_t id = exec(0, "one\n");
	turns(3);
	struct run *r = &fake.run[0];
	ok(fake.nr_runs == 1 && !r->gone, "prepared while the barrier is under way, not let go");
	is_str(r->o.argv[1], "test", "with its words");
	R->held = false;
	fake_run(R);
	ok(r->gone, "let go behind the barrier");
	ok(r->in.len == 4 && r->eof, "its stdin is all there and closed");
	fake_out(r, 1, "he");
	fake_out(r, 2, "bad");
	fake_out(r, 1, "llo");
	is_str(buf_cstr(&seen.out), "1he2bad1llo", "partial writes keep their order and streams");
	fake_exit(r, 3, 0, false, 2);
	ok(r->freed, "freed at its exit");
	turns(3);
	ok(seen.done == 1 && seen.end == END_OK && seen.code == 3, "an exit status of 3 is an end that is ok");
	ok(seen.out_bytes == 5 && json_int(fake_body(R, id, EV_ACTION_ENDED), "err_bytes", 0) == 3, "bytes are counted apart");
	ok(seen.left == 2 && boxes_alive(B, box) == 2, "remaining processes are counted");
	is_str(fake_life(R, id), "requested judged started ended", "four events are recorded");
	exec(0, NULL);
	turns(3);
	fake_exit(&fake.run[1], 0, SIGSEGV, false, 0);
	turns(3);
	ok(seen.end == END_OK && seen.signal == SIGSEGV && seen.code == -1, "a death by signal has no code");
	close_end();
}

static void test_while_it_runs(void)
{
	struct err err = ERR_INIT;
	begin_open();
	uint64_t id = exec(0, NULL);
	ok(boxes_stdin(B, id, "x", 1, false, &err) < 0 && err.code == ERR_NOENT, "no stdin before it runs");
	turns(3);
	ok(boxes_signal(B, id, SIGINT, &err) == 0 && fake.run[0].signals[0] == SIGINT, "a signal reaches it");
	ok(boxes_stdin(B, id, "ab", 2, false, &err) == 0 && boxes_stdin(B, id, "c", 1, true, &err) == 0, "stdin in two parts");
	ok(fake.run[0].in.len == 3 && fake.run[0].eof, "arrives whole");
	ok(boxes_resize(B, id, &(struct winsize){ .ws_col = 100, .ws_row = 40 }, &err) == 0, "resized");
	is_str(buf_cstr(&fake.log), "resize:100x40", "to the requested size");
	R->backlog = RECORD_FLOOD + 1;
	fake_out(&fake.run[0], 1, "flood");
	ok(fake.run[0].paused, "a recorder that is behind stops the producer");
	R->backlog = 0;
	for (int64_t until = clock_mono_us() + 20000000; fake.run[0].paused && clock_mono_us() < until;)
		loop_turn(L, 50);
	ok(!fake.run[0].paused, "and resumes it");
	R->backlog = RECORD_FLOOD + 1;
	fake_out(&fake.run[0], 1, "flood");
	fake_exit(&fake.run[0], 0, 0, false, 0);
	turns(3);
	is_int(seen.done, 1, "it may end while it is stopped");
	ok(boxes_signal(B, id, SIGINT, &err) < 0 && err.code == ERR_NOENT, "after its end nothing reaches it");
	close_end();
}

static void test_cancel(void)
{
	begin_open();
	R->held = true;
	uint64_t id = exec(0, NULL);
	turns(3);
	gate_cancel(G, id, "cancel", "not wanted");
	ok(fake.run[0].freed && !fake.run[0].gone, "prepared and cancelled: thrown away, never let go");
	R->held = false;
	fake_run(R);
	turns(3);
	ok(seen.done == 1 && seen.end == END_CANCELLED, "it ends cancelled");
	is_int(fake.run[0].nr_signals, 0, "without a signal to anybody");

	id = exec(0, NULL);
	turns(3);
	gate_cancel(G, id, "cancel", "enough");
	ok(wait_signals(&fake.run[1], 1) && fake.run[1].signals[0] == SIGTERM, "cancelled while it runs: TERM");
	fake_out(&fake.run[1], 1, "cleaning up\n");
	is_str(buf_cstr(&seen.out), "1cleaning up\n", "output after the signal is kept");
	is_int(seen.done, 1, "it has not ended before it ends");
	gate_cancel(G, id, "kill", "now");
	ok(fake.run[1].nr_signals == 2 && fake.run[1].signals[1] == SIGKILL, "killed: KILL at once");
	fake_exit(&fake.run[1], 0, SIGKILL, false, 0);
	turns(3);
	ok(seen.done == 2 && seen.end == END_KILLED, "and it ends killed");

	id = exec(1000, NULL);
	turns(3);
	ok(wait_signals(&fake.run[2], 1) && fake.run[2].signals[0] == SIGTERM, "a time-out: TERM");
	gate_cancel(G, id, "cancel", "too");
	ok(wait_signals(&fake.run[2], 2) && fake.run[2].signals[1] == SIGKILL, "who does not listen, and is asked again: KILL in time");
	fake_exit(&fake.run[2], 0, SIGKILL, false, 0);
	turns(3);
	ok(seen.end == END_TIMEOUT && seen.signal == SIGKILL, "the first reason counts");
	close_end();
}

/* A sandbox that at first can't count its memory kills, and later can. */
static void test_oom(void)
{
	static const int counts[] = { -1, 2, 2, -1, 3 }, tells[] = { 0, 2, 0, 0, 1 };
	begin_open();
	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		uint64_t id = exec(0, NULL);
		turns(3);
		fake.oom = counts[i];
		fake_exit(&fake.run[i], 1, 0, false, 0);
		turns(3);
		is_int(json_int(fake_body(R, id, EV_ACTION_ENDED), "oom", 0), tells[i], "kills since the last count are reported");
	}
	close_end();
}

/* --- a driver that vanishes --- */

static void test_lost(void)
{
	begin_open();
	exec(0, NULL);
	turns(3);
	fake_out(&fake.run[0], 1, "half a li");
	fake_exit(&fake.run[0], 0, 0, true, 0);
	turns(3);
	ok(seen.done == 1 && seen.end == END_INTERRUPTED, "the box dies under it: interrupted, not ok");
	ok(seen.code == -1 && seen.signal == -1 && seen.out_bytes == 9, "no code, no signal; the output is counted");

	R->held = true;
	uint64_t id = exec(0, NULL);
	turns(3);
	fake_exit(&fake.run[1], 0, 0, true, 0);
	turns(3);
	is_int(seen.done, 1, "dies under one that is prepared: nothing has started, nothing has ended");
	R->held = false;
	fake_run(R);
	turns(3);
	ok(seen.done == 2 && seen.end == END_FAILED && !fake.run[1].gone, "behind the barrier it fails, never let go");
	is_str(seen.done_why, "sandbox died: 'b' has ended; nothing was started; open another one", "with its reason");
	is_str(fake_life(R, id), "requested judged started ended", "on record");

	R->held = true;
	exec(0, NULL);
	turns(3);
	fake_exit(&fake.run[2], 0, 0, true, 0);
	boxes_close(B, box);
	turns(3);
	ok(seen.done == 3 && seen.end == END_CANCELLED, "a dead box may be closed with one that waits");
	fake_answer(&fake.close, NULL, "the box has died: out of memory");
	R->held = false;
	turns(3);
	is_str(seen.gone_why, "the box has died: out of memory", "its owner learns why");
	is_str(json_str(fake_body(R, 0, EV_BOX_CLOSED), "why", ""), "the box has died: out of memory", "and the record");
	end();
}

static void test_closed_under_it(void)
{
	begin_open();
	exec(0, NULL);
	turns(3);
	boxes_close(B, box);
	fake_out(&fake.run[0], 1, "last words");
	fake_answer(&fake.close, json_object(), NULL);
	turns(3);
	ok(fake.run[0].freed && seen.done == 1 && seen.end == END_CANCELLED, "closing a sandbox cancels its running commands");
	is_str(buf_cstr(&seen.out), "1last words", "earlier output is kept");
	end();

	begin_open();
	R->held = true;
	exec(0, NULL);
	turns(3);
	boxes_close(B, box);
	turns(3);
	ok(fake.run[0].freed && !fake.run[0].gone && seen.done == 1 && seen.end == END_CANCELLED,
	   "a prepared run is discarded with the sandbox");
	fake_answer(&fake.close, json_object(), NULL);
	R->held = false;
	fake_run(R);
	turns(3);
	is_int(seen.done, 1, "and does not start when the barrier comes");
	end();

	begin_open();
	R->held = true;
	exec(0, NULL);
	boxes_close(B, box);
	turns(3);
	ok(fake.nr_runs == 0 && seen.done == 1 && seen.end == END_INTERRUPTED, "so is a run that was not prepared");
	R->held = false;
	fake_answer(&fake.close, json_object(), NULL);
	end();
}

/* --- files --- */

static void test_files(void)
{
	begin_open();
	file(ACT_READ, "a", NULL, NULL);
	fake_answer(&fake.file, json_pack("{s:s,s:i}", "data", "text", "mode", 0644), NULL);
	turns(3);
	ok(seen.end == END_OK && seen.done == 1, "a file is read");
	is_str(buf_cstr(&seen.out), "1text", "its bytes are output");
	file(ACT_READ, "none", NULL, NULL);
	fake_answer(&fake.file, NULL, "'none' is not there");
	turns(3);
	ok(seen.end == END_FAILED, "one that is not there fails");
	is_str(seen.done_why, "'none' is not there", "with the driver's words");
	buf_reset(&fake.log);
	uint64_t id = file(ACT_WRITE, "w", "new", json_pack("{s:i}", "mode", 0755));
	is_str(buf_cstr(&fake.log), "write:w=new/755", "a file is written");
	fake_answer(&fake.file, json_object(), NULL);
	turns(3);
	is_int(json_int(fake_body(R, id, EV_ACTION_ENDED), "bytes", 0), 3, "its size is on record");
	buf_reset(&fake.log);
	file(ACT_EDIT, "e", NULL, json_pack("{s:s,s:s}", "old", "b", "new", "B"));
	fake_answer(&fake.file, json_pack("{s:s,s:i}", "data", "a\nb\nc\n", "mode", 0600), NULL);
	is_str(buf_cstr(&fake.log), "read:e write:e=a\nB\nc\n/600", "an edit reads, then writes, and keeps the mode");
	fake_answer(&fake.file, NULL, "no space left");
	turns(3);
	ok(seen.end == END_FAILED, "a write that fails fails the edit");
	file(ACT_EDIT, "e", NULL, json_pack("{s:s,s:s}", "old", "x", "new", "y"));
	buf_reset(&fake.log);
	fake_answer(&fake.file, json_pack("{s:s}", "data", "x x"), NULL);
	turns(3);
	ok(seen.end == END_FAILED && strstr(seen.done_why, "more than once"), "an edit that fits twice: %s", seen.done_why);
	is_int(fake.log.len, 0, "writes nothing");
	close_end();
}

static void test_files_cancelled(void)
{
	begin_open();
	R->held = true;
	uint64_t id = file(ACT_WRITE, "f", "x", NULL);
	turns(3);
	buf_reset(&fake.log);
	gate_cancel(G, id, "cancel", "no");
	turns(3);
	ok(seen.done == 1 && seen.end == END_CANCELLED, "a write that is cancelled before its start is on the disk ends");
	R->held = false;
	fake_run(R);
	turns(3);
	is_int(fake.log.len, 0, "and writes nothing");
	seen.done = 0;
	id = file(ACT_EDIT, "e", NULL, json_pack("{s:s,s:s}", "old", "b", "new", "B"));
	gate_cancel(G, id, "cancel", "no");
	buf_reset(&fake.log);
	fake_answer(&fake.file, json_pack("{s:s}", "data", "b"), NULL);
	turns(3);
	ok(seen.end == END_CANCELLED && fake.log.len == 0, "an edit that was cancelled between read and write does not write");
	file(ACT_EDIT, "e", NULL, json_pack("{s:s,s:s}", "old", "b", "new", "B"));
	boxes_close(B, box);
	buf_reset(&fake.log);
	fake_answer(&fake.file, json_pack("{s:s}", "data", "b"), NULL);
	turns(3);
	ok(seen.done == 2 && seen.end == END_FAILED && fake.log.len == 0, "nor does one whose box is being closed");
	fake_answer(&fake.close, json_object(), NULL);
	end();
}

static void test_glob(void)
{
	begin_open();
	uint64_t id = file(ACT_READ, NULL, NULL, json_pack("{s:s}", "glob", "**/*.c"));
	fake_answer(&fake.file,
		    json_pack("{s:[{s:s,s:s},{s:s,s:s},{s:s,s:s}]}", "entries", "name", "src", "kind", "dir", "name", "z.c", "kind",
			      "file", "name", ".git", "kind", "dir"),
		    NULL);
	fake_answer(&fake.file, json_pack("{s:[{s:s,s:s},{s:s,s:s}]}", "entries", "name", "a.c", "kind", "file", "name", "a.h", "kind", "file"),
		    NULL);
	turns(3);
	is_str(buf_cstr(&fake.log), "list:. list:src", "folders are looked through, .git is not");
	is_str(buf_cstr(&seen.out), "1src/a.c\nz.c\n", "what fits, sorted");
	is_int(json_int(fake_body(R, id, EV_ACTION_ENDED), "files", 0), 2, "and counted");
	close_end();
}

/* --- freeze --- */

static void test_freeze(void)
{
	begin_open();
	boxes_freeze(B, 0, true, 1);
	boxes_freeze(B, box, true, 1);
	is_str(buf_cstr(&fake.log), "freeze", "frozen once, however often it is asked");
	fake_answer(&fake.frozen, json_object(), NULL);
	ok(json_flag(fake_body(R, 0, EV_BOX_FROZEN), "frozen", false), "on record when it is so");
	boxes_freeze(B, box, false, 1);
	fake_answer(&fake.frozen, NULL, "the cgroup is gone");
	ok(json_flag(fake_body(R, 0, EV_BOX_FROZEN), "frozen", false), "what could not be thawed is still frozen");
	boxes_freeze(B, box, false, 1);
	is_str(buf_cstr(&fake.log), "freeze thaw thaw", "and may be tried again");
	fake_answer(&fake.frozen, json_object(), NULL);
	ok(!json_flag(fake_body(R, 0, EV_BOX_FROZEN), "frozen", true), "until it is");
	close_end();
}

/* A run in a frozen sandbox waits here with its input. It ends with the sandbox, and can be cancelled until it
 * starts. */
static void test_freeze_waits(void)
{
	struct err err = ERR_INIT;
	begin_open();
	boxes_freeze(B, box, true, 1);
	fake_answer(&fake.frozen, json_object(), NULL);
	uint64_t id = exec(0, NULL);
	turns(3);
	ok(action_state(gate_action(G, id)) == ACTION_RUNNING && !fake.run[0].gone, "it is not let go");
	gate_cancel(G, id, "cancel", "enough");
	turns(3);
	ok(seen.done == 1 && seen.end == END_CANCELLED && fake.run[0].freed && !fake.run[0].gone, "cancelled: it ends at once");
	is_int(fake.run[0].nr_signals, 0, "without a signal to anybody");
	is_str(json_str(fake_body(R, id, EV_ACTION_ENDED), "why", ""), "its sandbox was frozen: nothing was started", "and why");
	id = exec(0, NULL);
	turns(3);
	gate_cancel(G, id, "kill", "now");
	turns(3);
	ok(seen.done == 2 && seen.end == END_KILLED, "killed: too");
	exec(1000, NULL);
	for (int64_t until = clock_mono_us() + 20000000; seen.done < 3 && clock_mono_us() < until;)
		loop_turn(L, 50);
	ok(seen.done == 3 && seen.end == END_TIMEOUT && !fake.run[2].gone, "and when its time is over");
	id = exec(0, "one\n");
	turns(3);
	struct run *r = &fake.run[3];
	boxes_freeze(B, box, false, 1);
	ok(!r->gone, "asked to thaw, not thawed yet");
	fake_answer(&fake.frozen, json_object(), NULL);
	ok(r->gone && r->in.len == 4 && r->eof, "thawed: it goes, with its stdin");
	fake_exit(r, 0, 0, false, 0);
	turns(3);
	ok(seen.done == 4 && seen.end == END_OK, "and ends as any other");
	boxes_freeze(B, box, true, 1);
	fake_answer(&fake.frozen, json_object(), NULL);
	struct action_spec s = { .kind = ACT_EXEC, .args = json_pack("{s:b}", "stdin", true) };
	strv_push(&s.argv, "cat");
	id = submit(&s);
	json_decref(s.args);
	turns(3);
	ok(boxes_stdin(B, id, "a", 1, false, &err) == 0 && boxes_stdin(B, id, "b", 1, true, &err) == 0, "it takes more input while it waits");
	is_int(boxes_stdin_queued(B, id), 2, "the input waits with it");
	boxes_freeze(B, box, false, 1);
	fake_answer(&fake.frozen, json_object(), NULL);
	ok(fake.run[4].in.len == 2 && fake.run[4].eof, "and is there when it goes");
	fake_exit(&fake.run[4], 0, 0, false, 0);
	turns(3);
	boxes_freeze(B, box, true, 1);
	fake_answer(&fake.frozen, json_object(), NULL);
	exec(0, NULL);
	turns(3);
	boxes_close(B, box);
	fake_answer(&fake.close, json_object(), NULL);
	turns(3);
	ok(seen.done == 6 && seen.end == END_CANCELLED && fake.run[5].freed, "a frozen box may be closed with one that waits");
	end();
}

/* --- connections into it --- */

static uint64_t dial(void)
{
	struct action_spec s = { .kind = ACT_CONNECT, .tool = "dial", .port = 80, .timeout_us = 60 * 1000000LL };
	uint64_t id = submit(&s);
	turns(3);
	return id;
}

/* The driver's answer while no server listens yet. */
static void dial_refused(void)
{
	struct fake_call call = fake.dial;
	struct err err = ERR_INIT;
	fake.dial = (struct fake_call){ 0 };
	err_set(&err, ERR_IO, "refused");
	call.done(call.self, NULL, &err);
}

static void test_dial_closed(void)
{
	begin_open();
	dial();
	dial_refused();
	boxes_close(B, box);
	is_int(fake.closes, 1, "a box closes while a connection waits for its next try");
	turns(3);
	ok(seen.done == 1 && seen.end == END_CANCELLED, "which ends with it");
	for (int64_t until = clock_mono_us() + 120000; clock_mono_us() < until;)
		loop_turn(L, 20);
	ok(fake.closes == 1 && !fake.dial.done, "it is not tried again, and the box is closed once");
	fake_answer(&fake.close, json_object(), NULL);
	end();

	begin_open();
	dial();
	boxes_close(B, box);
	turns(3);
	ok(fake.closes == 0 && seen.done == 1 && seen.end == END_CANCELLED, "one that is being tried ends, and the box waits for it");
	dial_refused();
	turns(3);
	is_int(fake.closes, 1, "then it closes, once");
	fake_answer(&fake.close, json_object(), NULL);
	end();
}

/* The server has said its last word and reads on. */
static void test_dial_half(void)
{
	static char text[AHEAD], got[65536];
	int pair[2];
	size_t nr = 0;
	struct err err = ERR_INIT;
	begin_open();
	uint64_t id = dial();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		abort();
	fake_answer(&fake.dial, json_pack("{s:i}", "fd", pair[0]), NULL);
	ok(boxes_stdin_room(B, id, &err) == 0 && boxes_stdin(B, id, text, sizeof text, false, &err) == 0, "it takes much input");
	ok(boxes_stdin_room(B, id, &err) < 0 && err.code == ERR_BUSY, "a full queue refuses more input");
	shutdown(pair[1], SHUT_WR);
	turns(5);
	is_int(seen.done, 0, "after the peer's end the queued input still goes out");
	for (int64_t until = clock_mono_us() + 20000000; !seen.done && clock_mono_us() < until; turns(1))
		for (ssize_t n; (n = recv(pair[1], got, sizeof got, MSG_DONTWAIT)) > 0;)
			nr += (size_t)n;
	for (ssize_t n; (n = recv(pair[1], got, sizeof got, MSG_DONTWAIT)) > 0;)
		nr += (size_t)n;
	ok(nr == sizeof text && seen.end == END_OK, "to the last byte; then it ends");
	close(pair[1]);

	seen.done = 0;
	dial();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		abort();
	fake_answer(&fake.dial, json_pack("{s:i}", "fd", pair[0]), NULL);
	close(pair[1]);
	turns(5);
	ok(seen.done == 1 && seen.end == END_OK, "with nothing to be sent it ends at once");
	close_end();
}

int main(void)
{
	hash_init();
	test_open();
	test_exec();
	test_while_it_runs();
	test_cancel();
	test_oom();
	test_lost();
	test_closed_under_it();
	test_files();
	test_files_cancelled();
	test_glob();
	test_freeze();
	test_freeze_waits();
	test_dial_closed();
	test_dial_half();
	buf_release(&seen.out);
	return done_testing();
}
