/* Operations on processes of a sandbox, from the call of a script to its answer: the test answers for the driver and
 * takes the place of the Lua host (luahost_answer is wrapped by the linker). */
#include "tap.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "ops/op.h"
#include "record/read/session.h"
#include "record/record.h"
#include "sandbox/fake_driver.h"

static struct loop *L;
static struct super S;
static uint64_t box, calls;
static json_t *value, *failure; /* of the newest answer */
static uint64_t answered;	/* its call */

void __wrap_luahost_answer(struct host *h, uint64_t call, json_t *v, json_t *e);
void __wrap_luahost_answer(struct host *h, uint64_t call, json_t *v, json_t *e)
{
	(void)h;
	json_decref(value);
	json_decref(failure);
	value = v;
	failure = e;
	answered = call;
}

static void on_opened(void *self, uint64_t id, json_t *result, const struct err *err)
{
	(void)self;
	(void)id;
	(void)result;
	(void)err;
}

static void on_gone(void *self, uint64_t id, const struct err *err)
{
	(void)self;
	(void)id;
	(void)err;
}

static void turns(int n)
{
	while (n-- > 0)
		loop_turn(L, 0);
}

static size_t runs; /* spawned */
static bool has_gone(void)
{
	return fake.nr_runs == runs && fake.run[runs - 1].gone;
}

static uint64_t wanted; /* call */
static bool is_answered(void)
{
	return answered == wanted;
}

static bool has_input(void)
{
	return fake.run[fake.nr_runs - 1].eof;
}

static bool is_opening(void)
{
	return fake.open.done != NULL;
}

static bool is_closing(void)
{
	return fake.close.done != NULL;
}

/* Turns the loop, on which the recorder's barriers run, until @is; false: 20 s were not enough. */
static bool turn_until(bool (*is)(void))
{
	for (int64_t end = clock_mono_us() + 20000000; !is() && clock_mono_us() < end;)
		loop_turn(L, 20);
	return is();
}

/* As the dispatcher does, without its look for secrets. Returns the number of the call; args is taken. */
static uint64_t script_calls(const char *op, json_t *args)
{
	struct call *c = NEW(struct call);
	c->super = &S;
	c->id = ++calls;
	c->op = mem_strdup(op);
	c->body = json_object();
	json_put(c->body, "args", args);
	c->args = json_object_get(c->body, "args");
	c->began_us = clock_mono_us();
	c->next = S.calls;
	S.calls = c;
	uint64_t id = c->id;
	op_find(op)->start(c);
	return wanted = id;
}

static const char *code(void)
{
	return json_str(failure, "code", "none");
}

static void begin(const char *dir)
{
	static const struct boxes_ops ops = { .opened = on_opened, .gone = on_gone };
	struct err err = ERR_INIT;
	fake.box.driver = &fake_driver;
	if (loop_new(&L, &err) < 0)
		abort();
	S.loop = L;
	const struct record_ops none = { 0 };
	if (record_create(&S.record, L, dir, "ops", NULL, &none, NULL, &err) < 0)
		abort();
	S.start_seq = record_append_json(S.record, EV_POLICY_LOADED, 0, 0, 0, 0, json_object());
	S.gate = gate_new(L, S.record, NULL);
	S.boxes = boxes_new(L, S.record, S.gate, &ops);
	struct box_opts o = { .name = "b", .state_dir = "/nowhere" };
	box = boxes_open(S.boxes, &fake_driver, &o, 1, 0);
	turn_until(is_opening);
	fake_answer(&fake.open, json_pack("{s:s}", "profile", "enforced"), NULL);
	gate_box(S.gate, box, WALL_BOXED, "enforced", "b");
}

static int64_t spawned(void)
{
	uint64_t id = script_calls("box.spawn", json_pack("{sIs[ss]}", "box", (json_int_t)box, "argv", "cat", "-u"));
	is_int((int64_t)answered, (int64_t)id, "spawn is answered at once");
	runs++;
	ok(turn_until(has_gone), "and its process is let go behind a barrier");
	return json_int(value, "proc", 0);
}

static json_t *of_proc(int64_t proc)
{
	return json_pack("{sI}", "proc", (json_int_t)proc);
}

static void test_process(void)
{
	int64_t proc = spawned();
	struct run *r = &fake.run[fake.nr_runs - 1];
	uint64_t waits = script_calls("proc.read", of_proc(proc));
	ok(answered != waits, "a reader waits for output");
	script_calls("proc.read", of_proc(proc));
	is_str(code(), "script", "a second reader is refused");
	fake_out(r, 1, "one");
	is_int((int64_t)answered, (int64_t)waits, "output answers the reader");
	is_str(json_str(value, "data", ""), "one", "with the bytes");
	is_str(json_str(value, "stream", ""), "out", "and their stream");
	json_t *args = of_proc(proc);
	json_put_str(args, "data", "typed");
	json_put_flag(args, "eof", true);
	script_calls("proc.write", args);
	turn_until(has_input);
	ok(r->in.len == 5 && !memcmp(r->in.data, "typed", 5) && r->eof, "input arrives, and its end");
	waits = script_calls("proc.wait", of_proc(proc));
	ok(answered != waits, "a waiter waits for the end");
	fake_out(r, 2, "late");
	fake_exit(r, 3, 0, false, 0);
	wanted = waits;
	ok(turn_until(is_answered), "the end answers the waiter");
	is_int(json_int(value, "code", -1), 3, "with the exit status");
	is_str(json_str(value, "err", ""), "late", "and the output");
	script_calls("proc.read", of_proc(proc));
	is_str(json_str(value, "data", ""), "late", "unread output can still be read");
	script_calls("proc.read", of_proc(proc));
	ok(json_flag(value, "eof", false), "then its end");
}

static void test_refused(void)
{
	script_calls("proc.read", of_proc(987654));
	is_str(code(), "script", "a process that is not known");
	script_calls("box.spawn", json_pack("{sIs[s]}", "box", (json_int_t)(box + 99), "argv", "true"));
	is_str(code(), "backend", "a sandbox that has ended");
	script_calls("box.spawn", json_pack("{sI}", "box", (json_int_t)box));
	is_str(code(), "script", "no command");
	script_calls("box.dial", json_pack("{sIsi}", "box", (json_int_t)box, "port", 70000));
	is_str(code(), "script", "an invalid port");
	is_int((int64_t)fake.nr_runs, 1, "nothing ran for these");
}

static void test_lost(void)
{
	int64_t proc = spawned();
	struct run *r = &fake.run[fake.nr_runs - 1];
	uint64_t waits = script_calls("proc.wait", of_proc(proc));
	fake_exit(r, 0, 0, true, 0);
	wanted = waits;
	ok(turn_until(is_answered), "a process whose sandbox is lost answers its waiter");
	is_str(code(), "interrupted", "with an error");
}

/* The steps that the file has of the two processes. */
static void test_recorded(const char *path)
{
	struct err err = ERR_INIT;
	struct session *s = NULL;
	struct event ev;
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	CLEANUP(buf_release) struct buf kinds = BUF_INIT;
	if (!ok(session_open(&s, path, &err) == 0, "the recording opens %s", err.text))
		return;
	for (uint64_t seq = 1; seq <= session_head(s); seq++)
		if (session_event(s, seq, &ev, &a, &err) == 0 && ev.action &&
		    ev.kind != EV_OUTPUT) /* comes when 20 ms were silent */
			buf_printf(&kinds, "%s ", event_kind_name(ev.kind));
	is_str(buf_cstr(&kinds),
	       "action.judged action.started proc.stdin action.ended action.judged action.started action.ended ",
	       "each step of both processes is recorded, in order");
	session_close(&s);
}

int main(void)
{
	char dir[] = "/tmp/t_op_proc.XXXXXX";
	struct err err = ERR_INIT;
	hash_init();
	if (!mkdtemp(dir))
		return 1;
	begin(dir);
	test_process();
	test_refused();
	test_lost();
	boxes_close(S.boxes, box);
	turn_until(is_closing);
	fake_answer(&fake.close, json_object(), NULL);
	turns(3);
	is_int((int64_t)fake.live, 0, "no run is left");
	ok(!S.calls, "no call is left");
	op_procs_free(&S);
	boxes_free(&S.boxes);
	gate_free(&S.gate);
	CLEANUP(free_ptr) char *path = mem_strdup(record_path(S.record));
	ok(record_close(&S.record, json_object(), &err) == 0, "the recording ends %s", err.text);
	turns(3);
	loop_free(L);
	test_recorded(path);
	json_decref(value);
	json_decref(failure);
	buf_release(&fake.log);
	if (dir_remove(dir, &err) < 0)
		printf("# %s\n", err.text);
	return done_testing();
}
