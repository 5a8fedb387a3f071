/* A shell that stays (sandbox/shell.h), in any terminal of a sandbox; of Python if there is no
 * sh. Included by conformance.c. */
#ifndef DRIVERS_STAYS_H
#define DRIVERS_STAYS_H

#include "sandbox/shell.h"

struct stays {
	struct box_shell *sh;
	struct buf out;
	struct box_shell_result r;
	bool done, ended, lost;
};

static void stays_output(void *self, bool running, const void *bytes, size_t len)
{
	struct stays *s = self;
	if (running)
		buf_append(&s->out, bytes, len);
}

static void stays_done(void *self, const struct box_shell_result *r)
{
	struct stays *s = self;
	s->r = *r;
	s->done = true;
}

static void stays_end(void *self, bool lost, int left)
{
	struct stays *s = self;
	(void)left;
	s->ended = true;
	s->lost = lost;
}

/* Its status; -2 where it was refused. */
static int stays_run(struct stays *s, const char *cmd, int64_t timeout_us)
{
	struct err err = ERR_INIT;
	buf_reset(&s->out);
	s->done = false;
	if (box_shell_run(s->sh, cmd, timeout_us, &err) < 0)
		return -2;
	fx_wait(&s->done);
	return s->r.status;
}

static void stays_state(struct stays *s, bool sh)
{
	is_int(stays_run(s,
			 sh ? "cd /tmp; X='a b'; f() { echo \"f $1\"; return 7; }"
			    : "import os; os.chdir('/tmp'); X = 'a b'",
			 0),
	       0, "a shell that stays");
	is_int(stays_run(s, sh ? "pwd; echo \"$X\"; f it" : "print(os.getcwd()); print(X); 1 / 0",
			 0),
	       sh ? 7 : 1, "says the status");
	ok(strncmp(buf_cstr(&s->out), sh ? "/tmp\na b\nf it\n" : "/tmp\na b\n", sh ? 14 : 9) == 0,
	   "and keeps its state");
	stays_run(s, sh ? "sleep 60" : "import time; time.sleep(60)", 500000);
	ok(s->r.timed_out && !s->r.ended, "a time limit stops what runs in it");
	is_int(stays_run(s, sh ? "echo on" : "print('on')", 0), 0, "which it survives");
	is_str(buf_cstr(&s->out), "on\n", "whole");
}

static void stays_asks(struct stays *s, bool sh)
{
	struct err err = ERR_INIT;
	buf_reset(&s->out);
	s->done = false;
	bool began = box_shell_run(s->sh,
				   sh ? "printf 'sure? '; read a; echo \"got $a\""
				      : "print('got', input('sure? '))",
				   0, &err) == 0;
	for (int64_t until = clock_mono_us() + 20000000;
	     !strstr(buf_cstr(&s->out), "sure?") && clock_mono_us() < until;)
		loop_turn(fx_loop, 100);
	box_shell_send(s->sh, "y\n", 2);
	fx_wait(&s->done);
	ok(began && strstr(buf_cstr(&s->out), "got y"), "a program that asks gets its answer");
	if (!sh) {
		skip(1, "no sizes");
		return;
	}
	stays_run(s, "stty size; stty -a >/dev/null && [ -t 1 ] && echo terminal", 0);
	is_str(buf_cstr(&s->out), "40 120\nterminal\n", "it has a terminal of a known size");
}

static void stays(struct box *b, bool sh)
{
	static const struct box_shell_ops ops = { .on_output = stays_output,
						  .on_done = stays_done,
						  .on_end = stays_end };
	struct stays s = { 0 };
	struct err err = ERR_INIT;
	if (box_has_terminals(b, &err) < 0) {
		skip(1, "%s", err.text);
		return;
	}
	s.sh = box_shell_open(fx_loop, b->driver, b, NULL, &ops, &s);
	box_shell_go(s.sh);
	stays_state(&s, sh);
	stays_asks(&s, sh);
	stays_run(&s, sh ? "exit 5" : "import os; os._exit(5)", 0);
	fx_wait(&s.ended);
	ok(s.r.ended && !s.lost && s.r.status == -1, "its end is reported");
	is_int(stays_run(&s, "true", 0), -2, "then it takes no more commands");
	box_shell_free(s.sh);
	buf_release(&s.out);
}

#endif
