/* The host against a supervisor of our own: the way of a script from start to end, and what users do to it meanwhile.
 */
#include "fake_super.c" /* NOLINT: tests are one file each */
#include "tap.h"

static void run(const char *text, fake_op_fn *op, struct fake_run *r)
{
	fake_run(&(struct fake_opts){ .text = text, .op = op }, r);
}

static const json_t *call_of(const struct fake_run *r, const char *op, size_t nth)
{
	size_t i;
	json_t *c;
	json_array_foreach(r->calls, i, c) if (strcmp(json_str(c, "op", ""), op) == 0 && nth-- == 0) return c;
	return NULL;
}

static void hello(bool process)
{
	struct fake_run r;
	fake_run(&(struct fake_opts){ .text = "local sg = require 'sandglass'\n"
					      "local box <close> = sg.sandbox {}\n"
					      "print(assert(box:run 'echo hello').out)\n"
					      "print(box)\n",
				      .process = process },
		 &r);
	is_str(buf_cstr(&r.printed), "hello\n\nbox box\n", process ? "process: a command ran" : "a command ran");
	ok(r.end && json_flag(r.end, "ok", false), "it ended well (%s)", fake_why(&r));
	is_int(r.status, 0, "exit status");
	const json_t *c = call_of(&r, "box.exec", 0);
	is_str(json_str(c, "at", ""), "test.lua:3", "the call says where it stands");
	is_int(json_int(c, "agent", -1), 0, "and that no agent made it");
	ok(call_of(&r, "box.close", 0) != NULL, "the box was closed at the end of its block");
	fake_release(&r);
}

static void same_bytes(void)
{
	struct fake_run a, b;
	static const char text[] =
		"local sg = require 'sandglass' local out = {}\n"
		"sg.map({ 3, 1, 2 }, function(n) sg.sleep(n) out[#out + 1] = n print(n, math.random(100)) end)\n"
		"for k in pairs { z = 1, a = 2, [3] = 3 } do print(k) end";
	fake_run(&(struct fake_opts){ .text = text, .process = true }, &a);
	fake_run(&(struct fake_opts){ .text = text, .process = true }, &b);
	ok(a.sent.len == b.sent.len && memcmp(a.sent.data, b.sent.data, a.sent.len) == 0,
	   "two processes with other addresses say the same %zu bytes", a.sent.len);
	ok(a.given.len == b.given.len && memcmp(a.given.data, b.given.data, a.given.len) == 0,
	   "and were given the same");
	fake_release(&a);
	fake_release(&b);
}

/* Stops what runs when the second command comes. */
static json_t *stop_all(void *self, const char *op, const json_t *call)
{
	(void)self;
	if (strcmp(op, "box.exec") != 0 || strcmp(json_str(json_object_get(call, "args"), "cmd", ""), "hang") != 0)
		return NULL;
	fake_inject(HOST_STOP, 0, json_pack("{s:s}", "why", "a person said so"));
	return json_pack("{s:b}", "never", 1);
}

static void stop(void)
{
	struct fake_run r;
	run("local sg = require 'sandglass'\n"
	    "local box <close> = sg.sandbox {}\n"
	    "pcall(box.exec, box, 'hang') print 'swallowed' box:exec 'hang' print 'not here'",
	    stop_all, &r);
	is_str(buf_cstr(&r.printed), "swallowed\n", "a stop cannot be swallowed for good");
	is_int(json_int(r.end, "code", 0), 130, "status 130");
	is_str(fake_why(&r), "stopped: a person said so", "and its reason");
	ok(call_of(&r, "box.close", 0) != NULL, "the box is closed all the same");
	is_int(json_array_size(r.calls) > 0, 1, "calls were seen");
	fake_release(&r);
}

/* Stops agents 2 when it makes its command. */
static json_t *stop_agent(void *self, const char *op, const json_t *call)
{
	(void)self;
	if (strcmp(op, "box.exec") != 0)
		return NULL;
	fake_inject(HOST_STOP, 0, json_pack("{s:I,s:s}", "agent", json_int(call, "agent", 0), "why", "enough"));
	return json_pack("{s:b}", "never", 1);
}

static void stop_one_agent(void)
{
	struct fake_run r;
	run("local sg = require 'sandglass'\n"
	    "local box = sg.sandbox {}\n"
	    "local a, err = sg.agent.run { task = 'fix the test', box = box, model = 'scripted:fix' }\n"
	    "print(a, err.code, err.why, err.answer.stop) print(box:read 'x')",
	    stop_agent, &r);
	is_str(buf_cstr(&r.printed), "nil\tcancelled\tenough\tstopped\nnil\tno file x\n",
	       "a stopped agent is an error value; the script continues");
	is_str(json_str(json_object_get(call_of(&r, "agent.end", 0), "args"), "stop", ""), "stopped",
	       "agent.end reports the stop");
	fake_release(&r);
}

static json_t *say_something(void *self, const char *op, const json_t *call)
{
	int *said = self;
	if (strcmp(op, "box.write") == 0 && !(*said)++)
		fake_inject(HOST_MESSAGE, 0,
			    json_pack("{s:I,s:s}", "agent", json_int(call, "agent", 0), "text", "hurry up"));
	return NULL;
}

static void message(void)
{
	struct fake_run r;
	int said = 0;
	fake_run(&(struct fake_opts){ .text = "local sg = require 'sandglass'\n"
					      "sg.agent.run { task = 'say hello', box = sg.sandbox {}, name = 'h' }",
				      .op = say_something,
				      .self = &said },
		 &r);
	const json_t *c = call_of(&r, "model.call", 1), *m = json_object_get(json_object_get(c, "args"), "messages");
	is_str(json_str(json_array_get(m, json_array_size(m) - 1), "text", ""), "(message of the user) hurry up",
	       "a person's message stands before the next model call");
	is_str(json_str(call_of(&r, "box.write", 0), "tool", ""), "write", "a call of a tool names it");
	is_str(json_str(call_of(&r, "box.write", 0), "said", ""), "I will write the file and then look at it.",
	       "and what the model said with it");
	fake_release(&r);
}

static json_t *tell_events(void *self, const char *op, const json_t *call)
{
	(void)self, (void)call;
	if (strcmp(op, "sleep") == 0)
		for (int i = 0; i < 2; i++)
			fake_inject(HOST_EVENT, 0, json_pack("{s:s,s:{s:i}}", "event", "held", "body", "n", i));
	return NULL;
}

static void observers(void)
{
	struct fake_run r;
	run("local sg = require 'sandglass'\n"
	    "sg.on('held', function(e) print('held', e.n) if e.n == 1 then error 'broken' end end)\n"
	    "sg.sleep(1) print 'end'",
	    tell_events, &r);
	is_str(buf_cstr(&r.printed), "held\t0\nheld\t1\nwarn: observer of 'held': test.lua:2: broken\nend\n",
	       "observers see events; one that fails is a warning");
	fake_release(&r);
}

/* The box's process dies under the first command. */
static json_t *interrupt_once(void *self, const char *op, const json_t *call)
{
	int *nr = self;
	(void)call;
	if (strcmp(op, "box.exec") != 0)
		return NULL;
	bool retry = ++*nr != 3;
	return *nr == 2 ? NULL
			: json_pack("{s:{s:s,s:s,s:b,s:i}}", "err", "code", "interrupted", "msg",
				    "the end is not known", "retry", retry, "event", 77);
}

static void interrupted(void)
{
	struct fake_run r;
	int nr = 0;
	fake_run(
		&(struct fake_opts){
			.text = "local sg = require 'sandglass' local box = sg.sandbox {}\n"
				"print(box:exec('echo again').out) local _, err = box:exec 'echo no' print(err.code)",
			.op = interrupt_once,
			.self = &nr },
		&r);
	is_str(buf_cstr(&r.printed), "again\n\ninterrupted\n", "box-only: issued once more; else an error value");
	is_int(json_int(json_object_get(call_of(&r, "box.exec", 1), "args"), "retry_of", 0), 77,
	       "the second names the first");
	fake_release(&r);
}

static void breaches(void)
{
	static const struct {
		const char *name;
		uint16_t type;
		const char *body, *why;
	} rows[] = {
		{ "no start", HOST_ANSWER, "{}", "the first frame must be start" },
		{ "not JSON", HOST_START, "{", "frame to the host is not valid JSON" },
		{ "not an object", HOST_START, "[]", "a frame without an object came" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct host *h = script_host_new(exhausted, NULL);
		struct buf out = BUF_INIT;
		struct err err = ERR_INIT;
		struct frame f = { .type = rows[i].type, .body = rows[i].body, .len = strlen(rows[i].body) }, end;
		size_t used;
		ok(!host_feed(h, &f, &out), "%s: the host ends", rows[i].name);
		ok(frame_parse(out.data, out.len, HOST_BODY_MAX, &end, &used, &err) == 1 && end.type == HOST_END,
		   "with an END");
		ok(memmem(end.body, end.len, rows[i].why, strlen(rows[i].why)) != NULL, "that says why");
		is_int(host_code(h), 70, "status 70");
		buf_release(&out);
		script_host_free(&h);
	}
}

int main(void)
{
	hello(false);
	hello(true);
	same_bytes();
	stop();
	stop_one_agent();
	message();
	observers();
	interrupted();
	breaches();
	struct fake_run r;
	run("x = = 1", NULL, &r);
	is_str(fake_why(&r), "test.lua:1: unexpected symbol near '='", "a syntax error is one line with its place");
	is_int(json_int(r.end, "code", 0), 3, "and status 3");
	fake_release(&r);
	return done_testing();
}
