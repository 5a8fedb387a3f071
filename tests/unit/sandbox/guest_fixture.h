/* For tests of the guest and its client: a guest in four ways, PID 1 of its own namespaces or an
 * ordinary child, descriptors passed or streams framed; runs and questions that turn the loop
 * until they are over. One file each includes it. */
#ifndef GUEST_FIXTURE_H
#define GUEST_FIXTURE_H

#include "sandbox/guest/guest_client.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "tap.h"

#include "guest_box.h"

static struct loop *loop;
static struct guest *guest;
static bool is_ready, is_gone;
static bool pid1, framed; /* which way it is now */
static pid_t guest_pid;
static char dir[] = "/tmp/t_guest-XXXXXX";

static void on_ready(void *self, const struct guest_info *info)
{
	(void)self;
	is_ready = info->version == GUEST_VERSION;
}

static void on_gone(void *self, const struct err *err)
{
	(void)self;
	is_gone = err->code != ERR_NONE;
}

static const struct guest_ops guest_ops = { .on_ready = on_ready, .on_gone = on_gone };

/* Turns the loop until @flag, at most 20 s. */
static bool until(const bool *flag)
{
	int64_t end = clock_mono_us() + 20000000;
	while (!*flag && clock_mono_us() < end)
		loop_turn(loop, 200);
	return *flag;
}

static void turns(int ms)
{
	int64_t end = clock_mono_us() + ms * 1000;
	while (clock_mono_us() < end)
		loop_turn(loop, 5);
}

/* --- one run --- */

struct job {
	struct guest_run *run;
	struct buf out, err, tty;
	size_t bytes;
	bool count_only;
	bool done, lost;
	int code, signal, left;
};

static void on_output(void *self, int stream, const void *bytes, size_t len)
{
	struct job *j = self;
	j->bytes += len;
	if (!j->count_only)
		buf_append(stream == 1 ? &j->out : stream == 2 ? &j->err : &j->tty, bytes, len);
}

static void on_exit_(void *self, int code, int signal, bool lost, int left)
{
	struct job *j = self;
	j->done = true;
	j->code = code;
	j->signal = signal;
	j->lost = lost;
	j->left = left;
}

static const struct run_ops run_ops = { .on_output = on_output, .on_exit = on_exit_ };

static void job_release(struct job *j)
{
	guest_run_free(j->run);
	buf_release(&j->out);
	buf_release(&j->err);
	buf_release(&j->tty);
}

static void job_prepare(struct job *j, struct run_opts *o, const char *command)
{
	static char sh[] = "/bin/sh", c[] = "-c";
	char *argv[] = { sh, c, (char *)(uintptr_t)command, NULL };
	if (!o->argv) {
		o->argv = argv;
		o->nr_argv = 3;
	}
	if (!o->cwd)
		o->cwd = dir;
	j->run = guest_prepare(guest, o, &run_ops, j);
	if (o->argv == argv)
		o->argv = NULL;
}

static void job_start(struct job *j, const char *command)
{
	struct run_opts o = { 0 };
	job_prepare(j, &o, command);
	guest_go(j->run);
}

UNUSED static void job_run(struct job *j, const char *command)
{
	job_start(j, command);
	until(&j->done);
}

/* --- one question --- */

struct answer {
	bool done;
	json_t *result;
	struct err err;
};

static void on_answer(void *self, json_t *result, const struct err *err)
{
	struct answer *a = self;
	a->done = true;
	a->result = json_incref(result);
	if (err)
		a->err = *err;
}

static int64_t answer_int(struct answer *a, const char *key)
{
	until(&a->done);
	return a->result ? json_int(a->result, key, -1) : -1;
}

UNUSED static void attach(bool limited)
{
	struct guest_rule extra = { dir, GUEST_READ | GUEST_WRITE | GUEST_EXEC };
	struct guest_attach at = { .extra = &extra, .nr_extra = 1, .unconfined_ok = true };
	struct answer a = { 0 };
	if (limited)
		at.limits = (struct box_limits){ .disk_bytes = 1 << 20 };
	guest_attach(guest, &at, on_answer, &a);
	ok(answer_int(&a, "landlock") >= 0, "the rules are opened: %s", a.err.text);
	json_release(&a.result);
}

/* --- the four ways --- */

static void one_way(bool as_init, bool with_frames, void (*tests)(void))
{
	struct guest_opts o = { .framed = with_frames };
	pid1 = as_init;
	framed = with_frames;
	guest_pid = -1;
	printf("# %s, %s\n", as_init ? "PID 1" : "ordinary child",
	       with_frames ? "framed streams" : "descriptors");
	int sock = guest_box_start(as_init, &guest_pid);
	if (sock < 0) {
		skip(1, "no user namespaces here");
		return;
	}
	is_ready = is_gone = false;
	guest = guest_new(loop, sock, &o, &guest_ops, NULL);
	ok(!guest_info(guest), "nothing is known of it at first");
	ok(until(&is_ready), "the guest is ready");
	ok(guest_info(guest)->init == as_init, "and says what it is");
	tests();
	guest_free(&guest);
	kill(guest_pid, with_frames ? SIGKILL : 0);
	waitpid(guest_pid, NULL, 0);
}

/* Runs @tests on a new guest in each way; returns what main returns. */
UNUSED static int four_ways(void (*tests)(void))
{
	struct err err = ERR_INIT;
	setenv("GUEST_KEPT", "kept", 1);
	setenv("GUEST_TEST", "from outside", 1);
	if (!mkdtemp(dir) || loop_new(&loop, &err) < 0)
		return 1;
	one_way(true, false, tests);
	one_way(true, true, tests);
	one_way(false, false, tests);
	one_way(false, true, tests);
	turns(10);
	loop_free(loop);
	ok(dir_remove(dir, &err) == 0, "cleaned up");
	return done_testing();
}

#endif
