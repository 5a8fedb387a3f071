/* One suite for the guest and its client, run in four ways: PID 1 of its own namespaces or an ordinary child,
 * descriptors passed or streams framed. */
#include "sandbox/guest_client.h"

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
static bool pid1, framed;
static char dir[] = "/tmp/t_guest_client-XXXXXX";

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

static void job_run(struct job *j, const char *command)
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

static void attach(bool limited)
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

static void test_before_attach(void)
{
	struct job j = { 0 };
	struct err err = ERR_INIT;
	job_run(&j, "echo no");
	is_int(j.code, 126, "nothing runs before the workspace is attached");
	ok(guest_run_failure(j.run, &err) && strstr(err.text, "not attached"), "and the client says so: %s", err.text);
	job_release(&j);
}

static void test_output(void)
{
	struct job j = { 0 };
	job_run(&j, "echo to out; echo to err >&2; exit 3");
	is_str(buf_cstr(&j.out), "to out\n", "stdout");
	is_str(buf_cstr(&j.err), "to err\n", "stderr apart");
	is_int(j.code, 3, "exit code");
	is_int(j.signal, 0, "no signal");
	is_int(j.left, 0, "nothing left");
	ok(!j.lost && guest_run_pid(j.run) > 0, "not lost, pid known");
	struct err err = ERR_INIT;
	ok(!guest_run_failure(j.run, &err), "no step failed");
	job_release(&j);
}

static void test_big_output(void)
{
	struct job j = { .count_only = true };
	job_run(&j, "head -c 3000000 /dev/zero; head -c 100000 /dev/zero >&2");
	is_int(j.bytes, 3100000, "all bytes of a large output arrive before the end");
	is_int(j.code, 0, "exit code 0");
	job_release(&j);
}

static void test_stdin(void)
{
	struct job j = { .count_only = true };
	struct run_opts o = { .stdin_open = true };
	size_t len = 2 << 20;
	char *bytes = xmalloc(len);
	memset(bytes, 'x', len);
	job_prepare(&j, &o, "cat");
	guest_go(j.run);
	guest_stdin(j.run, bytes, len, false);
	guest_stdin(j.run, "end", 3, true);
	until(&j.done);
	is_int(j.bytes, len + 3, "what goes in comes out");
	is_int(guest_stdin_queued(j.run), 0, "nothing is queued");
	job_release(&j);

	struct job k = { 0 };
	job_prepare(&k, &o, "read a; echo $a");
	guest_go(k.run);
	guest_stdin(k.run, "one\n", 4, false);
	guest_stdin(k.run, bytes, len, false);
	until(&k.done);
	is_str(buf_cstr(&k.out), "one\n", "a command that stops reading ends like any other");
	job_release(&k);

	struct job l = { 0 };
	job_run(&l, "cat; echo $?");
	is_str(buf_cstr(&l.out), "0\n", "without stdin there is nothing to read");
	job_release(&l);
	free(bytes);
}

static void test_signal(void)
{
	struct job j = { 0 };
	job_start(&j, "trap 'echo got; exit 9' USR1; echo up; while :; do sleep 0.05; done");
	for (int i = 0; i < 500 && !j.out.len; i++)
		turns(10);
	guest_signal(j.run, SIGUSR1);
	until(&j.done);
	is_str(buf_cstr(&j.out), "up\ngot\n", "a signal reaches the command");
	is_int(j.code, 9, "which handles it");
	job_release(&j);

	struct job k = { 0 };
	job_start(&k, "sleep 100 | sleep 100");
	turns(50);
	guest_signal(k.run, SIGKILL);
	until(&k.done);
	is_int(k.signal, SIGKILL, "killed");
	is_int(k.left, 0, "the whole group");
	job_release(&k);
}

static void test_failures(void)
{
	static char name[] = "no-such-command-here", data[] = "/etc/passwd";
	char *argv[] = { name, NULL };
	struct err err = ERR_INIT;
	struct job j = { 0 };
	struct run_opts o = { .argv = argv, .nr_argv = 1 };
	job_prepare(&j, &o, NULL);
	guest_go(j.run);
	until(&j.done);
	is_int(j.code, 127, "a command that is not there");
	ok(guest_run_failure(j.run, &err) && err.code == ERR_NOENT, "says so: %s", err.text);
	job_release(&j);

	struct job k = { 0 };
	argv[0] = data;
	job_prepare(&k, &o, NULL);
	guest_go(k.run);
	until(&k.done);
	is_int(k.code, 126, "a file that is no command");
	job_release(&k);

	struct job l = { 0 };
	o.cwd = "/no/such/place";
	job_prepare(&l, &o, NULL);
	guest_go(l.run);
	until(&l.done);
	is_int(l.code, 126, "a working directory that is not there");
	ok(guest_run_failure(l.run, &err) && strstr(err.text, "working directory"), "is named: %s", err.text);
	job_release(&l);
}

static void test_env(void)
{
	static char a[] = "GUEST_TEST=from the run", b[] = "EMPTY=";
	char *env[] = { a, b, NULL };
	struct job j = { 0 };
	struct run_opts o = { .env = env };
	job_prepare(&j, &o, "echo \"$GUEST_TEST,${EMPTY-unset},$GUEST_KEPT\"; pwd");
	guest_go(j.run);
	until(&j.done);
	char want[200];
	snprintf(want, sizeof want, "from the run,,kept\n%s\n", dir);
	is_str(buf_cstr(&j.out), want, "environment is added to and overridden; working directory");
	job_release(&j);
}

static void test_prepare(void)
{
	struct job j = { 0 };
	struct run_opts o = { 0 };
	char path[100];
	snprintf(path, sizeof path, "%s/went", dir);
	unlink(path);
	job_prepare(&j, &o, "echo >went");
	struct answer a = { 0 };
	guest_ping(guest, on_answer, &a);
	until(&a.done);
	json_release(&a.result);
	turns(50);
	ok(guest_run_pid(j.run) > 0 && !j.done && access(path, F_OK) < 0, "a prepared command exists and waits");
	struct answer b = { 0 };
	struct guest_attach at = { .unconfined_ok = true };
	guest_attach(guest, &at, on_answer, &b);
	until(&b.done);
	is_int(b.err.code, ERR_BUSY, "no new rules while one waits");
	guest_go(j.run);
	until(&j.done);
	ok(j.code == 0 && access(path, F_OK) == 0, "and goes when told");
	job_release(&j);

	struct job k = { 0 };
	unlink(path);
	job_prepare(&k, &o, "echo >went");
	guest_run_free(k.run);
	turns(50);
	ok(!k.done && access(path, F_OK) < 0, "one that is given up never runs");
}

static void test_pty(void)
{
	struct job j = { 0 };
	struct run_opts o = { .pty = true, .cols = 91, .rows = 17, .stdin_open = true };
	job_prepare(&j, &o, "stty -echo; stty size; trap 'stty size; exit 4' WINCH; tty; while :; do sleep 0.05; done");
	guest_go(j.run);
	for (int i = 0; i < 500 && !strstr(buf_cstr(&j.tty), "/dev/pts/"); i++)
		turns(10);
	ok(strstr(buf_cstr(&j.tty), "17 91"), "a terminal of the size asked for");
	ok(strstr(buf_cstr(&j.tty), "/dev/pts/"), "with a name");
	guest_resize(j.run, 40, 8);
	until(&j.done);
	ok(strstr(buf_cstr(&j.tty), "8 40"), "resized");
	is_int(j.code, 4, "exit code");
	job_release(&j);

	struct job k = { 0 };
	job_prepare(&k, &o, "cat; echo bye");
	guest_stdin(k.run, "typed\n", 6, true);
	guest_go(k.run);
	until(&k.done);
	ok(strstr(buf_cstr(&k.tty), "typed") && strstr(buf_cstr(&k.tty), "bye"), "input and its end");
	job_release(&k);

	struct job l = { .count_only = true };
	job_prepare(&l, &o, "stty -opost; head -c 300000 /dev/zero");
	guest_go(l.run);
	until(&l.done);
	is_int(l.bytes, 300000, "nothing is lost at the end of a terminal");
	job_release(&l);
}

static size_t sleeps_of(int leader)
{
	struct answer a = { 0 };
	size_t i, nr = 0;
	json_t *p;
	guest_ps(guest, on_answer, &a);
	until(&a.done);
	json_array_foreach(json_object_get(a.result, "procs"), i, p) nr +=
		json_int(p, "run", 0) == leader && strcmp(json_str(p, "name", ""), "sleep") == 0;
	json_release(&a.result);
	return nr;
}

static void test_left(void)
{
	struct job j = { 0 };
	job_run(&j, "sleep 300 & (setsid sleep 300 &) ; echo started");
	is_str(buf_cstr(&j.out), "started\n", "a child that holds the pipe does not hold the action");
	is_int(j.left, 2, "what is left is counted");
	int leader = guest_run_pid(j.run);
	job_release(&j);

	struct job k = { 0 };
	job_run(&k, "true");
	is_int(k.left, 0, "and not counted again");
	job_release(&k);

	size_t of_run = 0;
	for (int n = 0; n < 200 && of_run != 2; n++) { /* they may still be on their way to being a sleep */
		turns(n ? 5 : 0);
		of_run = sleeps_of(leader);
	}
	is_int(of_run, 2, "ps knows where they came from");

	struct answer b = { 0 };
	guest_kill_all(guest, on_answer, &b);
	is_int(answer_int(&b, "killed"), 2, "everything can be killed");
	is_int(answer_int(&b, "left"), 0, "and is gone");
	json_release(&b.result);

	/* what writes later must neither block nor die */
	struct job l = { 0 };
	char path[100];
	snprintf(path, sizeof path, "%s/late", dir);
	unlink(path);
	job_run(&l, "(sleep 0.2; head -c 300000 /dev/zero; echo >late) & echo now");
	is_str(buf_cstr(&l.out), "now\n", "the action ends first");
	job_release(&l);
	for (int n = 0; n < 500 && access(path, F_OK) < 0; n++)
		turns(10);
	ok(access(path, F_OK) == 0, "a process left behind can still write");
}

static void test_timeout(void)
{
	struct job j = { 0 };
	struct run_opts o = { .timeout_us = 100000 };
	job_prepare(&j, &o, "echo a; sleep 100; echo b");
	guest_go(j.run);
	until(&j.done);
	ok(j.done && guest_run_timed_out(j.run), "a command that takes too long is ended");
	is_str(buf_cstr(&j.out), "a\n", "with the output so far");
	job_release(&j);
	if (framed)
		return; /* two seconds, once per way is enough */
	struct job k = { 0 };
	job_prepare(&k, &o, "trap '' TERM; (trap '' TERM; setsid sleep 100) & sleep 100; sleep 100");
	guest_go(k.run);
	until(&k.done);
	is_int(k.signal, SIGKILL, "also if it does not listen");
	is_int(k.left, 0, "with all that it started");
	job_release(&k);
}

static void test_pause(void)
{
	struct job j = { .count_only = true };
	job_start(&j, "head -c 5000000 /dev/zero");
	guest_pause(j.run, true);
	turns(100);
	size_t held = j.bytes;
	turns(100);
	ok(!j.done && j.bytes == held && held < 1000000, "paused: nothing comes (%zu so far)", held);
	guest_pause(j.run, false);
	until(&j.done);
	is_int(j.bytes, 5000000, "and then everything");
	job_release(&j);

	struct job k = { 0 };
	job_start(&k, "echo short");
	guest_pause(k.run, true);
	turns(100);
	ok(!k.done, "the end waits behind the output");
	guest_pause(k.run, false);
	until(&k.done);
	is_str(buf_cstr(&k.out), "short\n", "which is not lost");
	job_release(&k);
}

static void test_flood_starves_nobody(void)
{
	struct job flood = { .count_only = true }, j = { 0 };
	job_start(&flood, "yes");
	guest_pause(flood.run, true);
	job_run(&j, "echo through");
	is_str(buf_cstr(&j.out), "through\n", "a flood that is held does not hold others");
	job_release(&j);
	guest_run_free(flood.run);
	struct answer a = { 0 };
	for (int i = 0; i < 100; i++) {
		a = (struct answer){ 0 };
		guest_ps(guest, on_answer, &a);
		bool none = answer_int(&a, "pids") == 0;
		json_release(&a.result);
		if (none)
			break;
		turns(10);
	}
	a = (struct answer){ 0 };
	guest_ps(guest, on_answer, &a);
	is_int(answer_int(&a, "pids"), 0, "freeing a run kills it");
	json_release(&a.result);
}

static void test_freeze(void)
{
	struct job j = { 0 }, k = { 0 };
	char path[100];
	struct stat before, after;
	snprintf(path, sizeof path, "%s/ticks", dir);
	unlink(path);
	job_start(&j, "while :; do echo >>ticks; done & while :; do /bin/true; done");
	for (int i = 0; i < 500 && access(path, F_OK) < 0; i++)
		turns(10);
	struct answer a = { 0 };
	guest_freeze(guest, true, on_answer, &a);
	is_int(answer_int(&a, "running"), 0, "frozen: nothing runs");
	ok(json_flag(a.result, "frozen", false) && json_int(a.result, "procs", 0) >= 2, "and that is said");
	is_str(json_str(a.result, "how", ""), "sigstop", "and how");
	json_release(&a.result);
	job_start(&k, "echo later");
	stat(path, &before);
	turns(100);
	stat(path, &after);
	ok(before.st_size == after.st_size, "no process goes on");
	ok(!k.done, "and none starts");
	a = (struct answer){ 0 };
	guest_freeze(guest, false, on_answer, &a);
	ok(answer_int(&a, "procs") >= 2, "thawed");
	json_release(&a.result);
	until(&k.done);
	is_str(buf_cstr(&k.out), "later\n", "then it starts");
	turns(50);
	stat(path, &after);
	ok(after.st_size > before.st_size, "and the others go on");
	guest_run_free(j.run);
	job_release(&k);
	a = (struct answer){ 0 };
	guest_kill_all(guest, on_answer, &a);
	is_int(answer_int(&a, "left"), 0, "all gone");
	json_release(&a.result);
}

static void test_sockets(void)
{
	struct answer a = { 0 }, b = { 0 }, c = { 0 };
	struct err err = ERR_INIT;
	guest_listen(guest, 0, on_answer, &a);
	int listener = (int)answer_int(&a, "fd"), port = (int)answer_int(&a, "port");
	json_release(&a.result);
	ok(listener >= 0 && port > 0, "a socket listens inside: %s", a.err.text);
	char command[200];
	snprintf(command, sizeof command, "exec 3<>/dev/tcp/127.0.0.1/%d; echo question >&3; cat <&3", port);
	static char bash[] = "bash", dash_c[] = "-c";
	char *argv[] = { bash, dash_c, command, NULL };
	struct job j = { 0 };
	struct run_opts o = { .argv = argv, .nr_argv = 3 };
	job_prepare(&j, &o, NULL);
	guest_go(j.run);
	int peer = -1;
	for (int i = 0; i < 500 && peer < 0 && !j.done; i++) {
		turns(10);
		peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	}
	ok(peer >= 0, "a command connects to it and we accept");
	char text[20] = "";
	for (int i = 0; i < 200 && peer >= 0 && recv(peer, text, 9, MSG_DONTWAIT | MSG_PEEK) < 9; i++)
		turns(10);
	ok(peer >= 0 && recv(peer, text, 9, MSG_DONTWAIT) == 9, "its words arrive");
	is_str(text, "question\n", "as they were");
	ok(peer >= 0 && fd_write_all(peer, "answer\n", 7, &err) == 0, "ours go in");
	fd_close(&peer);
	until(&j.done);
	is_str(buf_cstr(&j.out), "answer\n", "and come out, with their end");
	job_release(&j);

	guest_dial(guest, (uint16_t)port, on_answer, &b);
	int dialled = (int)answer_int(&b, "fd");
	json_release(&b.result);
	ok(dialled >= 0, "a port inside is dialled");
	for (int i = 0; i < 500 && peer < 0; i++) {
		turns(5);
		peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	}
	char *big = xcalloc(1, 1 << 20);
	size_t sent = 0, got = 0;
	char sink[65536];
	for (int i = 0; i < 5000 && got < 1 << 20; i++) {
		ssize_t n =
			sent < 1 << 20 ? send(dialled, big + sent, (1 << 20) - sent, MSG_DONTWAIT | MSG_NOSIGNAL) : 0;
		sent += n > 0 ? (size_t)n : 0;
		loop_turn(loop, 0);
		n = recv(peer, sink, sizeof sink, MSG_DONTWAIT);
		got += n > 0 ? (size_t)n : 0;
		if (n <= 0)
			loop_turn(loop, 1);
	}
	is_int(got, 1 << 20, "a megabyte goes through");
	free(big);
	fd_close(&dialled);
	fd_close(&peer);
	fd_close(&listener);
	turns(20);
	guest_dial(guest, 1, on_answer, &c);
	is_int(answer_int(&c, "fd"), -1, "nobody listens there");
	ok(c.err.sys == ECONNREFUSED, "and the error says so: %s", c.err.text);
}

static void test_walls(void)
{
	struct job j = { 0 };
	int boss = 0;
	struct answer a = { 0 };
	char command[900];
	job_start(&j, "sleep 100");
	guest_ps(guest, on_answer, &a);
	until(&a.done);
	json_t *p = json_array_get(json_object_get(a.result, "procs"), 0);
	boss = p ? (int)json_int(p, "ppid", 0) : 0;
	json_release(&a.result);
	guest_run_free(j.run);
	ok(boss > 0, "the guest is process %d", boss);
	snprintf(command, sizeof command,
		 "cd /proc/%d; for f in mem environ maps fd/3 auxv task/*/mem task/*/environ; do (: <$f) 2>/dev/null "
		 "&& echo read $f; "
		 "done; for f in mem task/*/mem; do (: >$f) 2>/dev/null && echo write $f; done; readlink fd/* exe cwd "
		 "root; "
		 "kill -9 %d 2>/dev/null; grep -E 'CapEff|NoNewPrivs' /proc/self/status",
		 boss, pid1 ? boss : 999999);
	struct job k = { 0 };
	job_run(&k, command);
	if (guest_info(guest)->landlock)
		is_str(buf_cstr(&k.out), "CapEff:\t0000000000000000\nNoNewPrivs:\t1\n",
		       "a command cannot read or change the guest");
	else
		skip(1, "no landlock in this kernel");
	job_release(&k);
	ok(!is_gone, "nor end it");
	struct job l = { 0 };
	job_run(&l, "echo >/forbidden && echo wrote; ls / >/dev/null; echo x >inside && echo inside; ls -ld /root "
		    ">/dev/null && echo seen");
	ok(!strstr(buf_cstr(&l.out), "wrote") && strstr(buf_cstr(&l.out), "inside"),
	   "it writes where it may, nowhere else");
	job_release(&l);
	attach(true);
	struct job m = { 0 };
	job_run(&m, "head -c 2000000 /dev/zero >big; stat -c %s big; ulimit -c");
	is_str(buf_cstr(&m.out), "1048576\n0\n", "limits hold");
	job_release(&m);
	attach(false);
}

/* Commands of one box are no strangers to each other: what one has started another can look at and end. */
static void test_neighbours(void)
{
	struct job server = { 0 }, k = { 0 };
	char command[200];
	job_start(&server, "echo up; exec sleep 100");
	for (int i = 0; i < 500 && !server.out.len; i++)
		turns(10);
	snprintf(command, sizeof command, "readlink /proc/%d/fd/0; kill %d && echo ended", guest_run_pid(server.run),
		 guest_run_pid(server.run));
	job_run(&k, command);
	is_str(buf_cstr(&k.out), pid1 ? "/dev/null\nended\n" : "ended\n",
	       "a command sees and ends what another has started");
	until(&server.done);
	is_int(server.signal, SIGTERM, "which then ends");
	job_release(&k);
	job_release(&server);
}

static void test_many(void)
{
	enum { NR = 60 };
	static struct job j[NR];
	int good = 0;
	memset(j, 0, sizeof j);
	for (int i = 0; i < NR; i++) {
		char command[80];
		snprintf(command, sizeof command, "echo %d; exit %d", i, i);
		job_start(&j[i], command);
	}
	for (int i = 0; i < NR; i++) {
		until(&j[i].done);
		good += j[i].code == i && atoi(buf_cstr(&j[i].out)) == i;
		job_release(&j[i]);
	}
	is_int(good, NR, "many at once");
}

static void test_gone(pid_t pid)
{
	struct job j = { 0 }, k = { 0 };
	struct answer a = { 0 };
	job_start(&j, "echo before; exec sleep 100");
	for (int i = 0; i < 500 && !j.out.len; i++)
		turns(10);
	kill(pid, SIGKILL);
	until(&is_gone);
	ok(j.done && j.lost, "a guest that dies takes its runs along, and they are told");
	is_str(buf_cstr(&j.out), "before\n", "with what they had said");
	job_start(&k, "echo after");
	guest_ping(guest, on_answer, &a);
	ok(!k.done && !a.done, "no answer from inside the call");
	until(&k.done);
	until(&a.done);
	ok(k.lost && a.err.code == ERR_CLOSED, "afterwards everything fails");
	job_release(&j);
	job_release(&k);
}

static void suite(bool as_init, bool with_frames)
{
	pid_t pid = -1;
	struct guest_opts o = { .framed = with_frames };
	pid1 = as_init;
	framed = with_frames;
	printf("# %s, %s\n", as_init ? "PID 1" : "ordinary child", with_frames ? "framed streams" : "descriptors");
	int sock = guest_box_start(as_init, &pid);
	if (sock < 0) {
		skip(1, "no user namespaces here");
		return;
	}
	is_ready = is_gone = false;
	guest = guest_new(loop, sock, &o, &guest_ops, NULL);
	ok(!guest_info(guest), "nothing is known of it at first");
	ok(until(&is_ready), "the guest is ready");
	ok(guest_info(guest)->init == as_init, "and says what it is");
	test_before_attach();
	attach(false);
	test_output();
	test_big_output();
	test_stdin();
	test_signal();
	test_failures();
	test_env();
	test_prepare();
	test_pty();
	test_left();
	test_timeout();
	test_pause();
	test_flood_starves_nobody();
	test_freeze();
	test_sockets();
	test_neighbours();
	test_walls();
	test_many();
	if (with_frames && !as_init)
		test_gone(pid);
	guest_free(&guest);
	kill(pid, with_frames ? SIGKILL : 0);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	struct err err = ERR_INIT;
	setenv("GUEST_KEPT", "kept", 1);
	setenv("GUEST_TEST", "from outside", 1);
	if (!mkdtemp(dir))
		return 1;
	if (loop_new(&loop, &err) < 0)
		return 1;
	suite(true, false);
	suite(true, true);
	suite(false, false);
	suite(false, true);
	turns(10);
	loop_free(loop);
	ok(dir_remove(dir, &err) == 0, "cleaned up");
	return done_testing();
}
