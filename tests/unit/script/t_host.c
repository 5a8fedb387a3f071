/* The host against a supervisor of our own: the way of a script from start to end. */
#include "fake_super.c" /* NOLINT: tests are one file each */
#include "tap.h"

static void run(const char *text, struct fake_run *r)
{
	fake_run(&(struct fake_opts){ .text = text }, r);
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
	fake_release(&r);
}

int main(void)
{
	hello(false);
	hello(true);
	struct fake_run r;
	run("x = = 1", &r);
	is_str(fake_why(&r), "test.lua:1: unexpected symbol near '='", "a syntax error is one line with its place");
	is_int(json_int(r.end, "code", 0), 3, "and status 3");
	fake_release(&r);
	return done_testing();
}
