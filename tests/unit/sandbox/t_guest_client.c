/* Single runs through the guest and its client: streams, ends, terminals, time, pause; and a guest that dies. */
#include "guest_fixture.h"

static void test_before_attach(void)
{
	struct job j = { 0 };
	struct err err = ERR_INIT;
	job_run(&j, "echo no");
	is_int(j.code, 126, "nothing runs before the workspace is attached");
	ok(guest_run_failure(j.run, &err) && strstr(err.text, "not attached"), "and the client reports it: %s", err.text);
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
	char *bytes = mem_alloc(len);
	memset(bytes, 'x', len);
	job_prepare(&j, &o, "cat");
	guest_go(j.run);
	guest_stdin(j.run, bytes, len, false);
	guest_stdin(j.run, "end", 3, true);
	until(&j.done);
	is_int(j.bytes, len + 3, "all input comes out again");
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

static void test_after(void)
{
	struct run_opts o = { 0 };
	struct job j = { 0 }, k = { 0 }, l = { 0 };
	job_prepare(&k, &o, "echo second");
	job_prepare(&j, &o, "sleep 0.2");
	guest_go_after(k.run, j.run);
	guest_go(j.run);
	until(&k.done);
	ok(j.done, "a chained run waits for the end of the first");
	is_str(buf_cstr(&k.out), "second\n", "and then runs");
	job_prepare(&l, &o, "echo third");
	guest_go_after(l.run, j.run);
	until(&l.done);
	is_str(buf_cstr(&l.out), "third\n", "after one that has ended it goes at once");
	job_release(&j);
	job_release(&k);
	job_release(&l);
}

/* A run that starts at a mark in the output of a terminal. The guest sees the mark where it frames the bytes. */
static void test_at(void)
{
	static const struct {
		const char *say, *mark;
		bool goes;
	} cases[] = {
		{ "printf '^mark:0^'", "^mark", true },
		{ "printf ^ma; sleep 0.1; printf rk; sleep 0.1; printf :0; sleep 0.1; printf ^", "^mark", true },
		{ "printf ^mark:0", "^mark", false },
		{ "printf '^ma^mark no^'", "^mark", true },
		{ "printf aabaabaac^a", "aabaac", true },
		{ "printf '^marx^mar^marmark^'", "^mark", false },
	};
	struct run_opts tty = { .pty = true }, o = { 0 };
	for (size_t i = 0; framed && i < ARRAY_LEN(cases); i++) {
		struct job j = { 0 }, k = { 0 };
		CLEANUP(free_ptr) char *text = mem_printf("rm -f later; %s; touch here; sleep 0.3; touch later; sleep 2", cases[i].say);
		job_prepare(&k, &o, "ls");
		job_prepare(&j, &tty, text);
		guest_go_at(k.run, j.run, cases[i].mark);
		guest_go(j.run);
		until(&k.done);
		ok(j.done == !cases[i].goes, "%s: %s", cases[i].say, cases[i].goes ? "it starts at the mark" : "without a mark it waits for the end");
		ok(!strstr(buf_cstr(&k.out), "later") == cases[i].goes, "and sees the files of that moment");
		until(&j.done);
		job_release(&j);
		job_release(&k);
	}
	struct job j = { 0 }, k = { 0 };
	job_prepare(&k, &o, "echo now");
	job_prepare(&j, &tty, "sleep 1");
	guest_go_at(k.run, j.run, "^mark");
	guest_go(j.run);
	guest_go(k.run);
	until(&k.done);
	ok(!j.done && !strcmp(buf_cstr(&k.out), "now\n"), "a run that waits for a mark can be started at once");
	guest_go(k.run);
	until(&j.done);
	job_release(&j);
	job_release(&k);
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
	ok(guest_run_failure(j.run, &err) && err.code == ERR_NOENT, "reports the cause: %s", err.text);
	job_release(&j);

	struct job k = { 0 };
	argv[0] = data;
	job_prepare(&k, &o, NULL);
	guest_go(k.run);
	until(&k.done);
	is_int(k.code, 126, "a file that is not executable");
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
	guest_resize(j.run, &(struct winsize){ .ws_col = 40, .ws_row = 8 });
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

/* Until the terminal is (@silent) without echo or with it, at most 10 s. */
static bool echo_becomes(const struct job *j, bool silent)
{
	for (int i = 0; i < 1000 && guest_silent(j->run) != silent; i++)
		turns(10);
	return guest_silent(j->run) == silent;
}

static void test_echo(void)
{
	struct job j = { 0 };
	struct run_opts o = { .pty = true, .stdin_open = true };
	job_prepare(&j, &o, "printf 'Word: '; stty -echo; read w; stty echo; read x; exit 3");
	ok(!guest_silent(j.run), "a terminal starts with echo");
	guest_go(j.run);
	ok(echo_becomes(&j, true), "a program that turns it off after its prompt is seen");
	guest_stdin(j.run, "hush\n", 5, false);
	ok(echo_becomes(&j, false), "and that it is on again");
	guest_stdin(j.run, "x\n", 2, false);
	until(&j.done);
	ok(j.code == 3 && !strstr(buf_cstr(&j.tty), "hush"), "nothing of it came back");
	job_release(&j);
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
	/* in time also on a busy machine: the shell must ignore the signal before it comes */
	o.timeout_us = 2000000;
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

static bool lives(pid_t pid)
{
	CLEANUP(free_ptr) char *path = mem_printf("/proc/%d/cmdline", (int)pid);
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	struct err err = ERR_INIT;
	return file_read(path, &b, 1000, &err) == 0 && b.len > 0;
}

/* A drop that crosses the end of its command also kills the process that the command left. */
static void test_drop_crosses(void)
{
	struct job j = { 0 }, k = { 0 };
	char text[] = "sleep 100 >/dev/null 2>&1 & echo $!; sleep 0.2";
	if (pid1) /* numbers are others in there */
		return;
	job_start(&j, text);
	for (int i = 0; i < 3000 && !strchr(buf_cstr(&j.out), '\n'); i++)
		turns(10);
	pid_t left = (pid_t)atoi(buf_cstr(&j.out));
	ok(left > 0 && lives(left) && !j.done, "a command that leaves a process");
	usleep(900000); /* it ends meanwhile, and we do not look */
	guest_run_free(j.run);
	j.run = NULL;
	for (int i = 0; i < 3000 && lives(left); i++)
		turns(10);
	ok(!lives(left), "is killed by the drop, also if the command has just ended");
	job_run(&k, "echo on");
	is_str(buf_cstr(&k.out), "on\n", "and the next command runs");
	job_release(&k);
	job_release(&j);
}

static void test_gone(void)
{
	struct job j = { 0 }, k = { 0 };
	struct answer a = { 0 };
	job_start(&j, "echo before; exec sleep 100");
	for (int i = 0; i < 500 && !j.out.len; i++)
		turns(10);
	kill(guest_pid, SIGKILL);
	until(&is_gone);
	ok(j.done && j.lost, "the death of a guest ends its runs and notifies them");
	is_str(buf_cstr(&j.out), "before\n", "with their earlier output");
	job_start(&k, "echo after");
	guest_ping(guest, on_answer, &a);
	ok(!k.done && !a.done, "the call itself delivers no answer");
	until(&k.done);
	until(&a.done);
	ok(k.lost && a.err.code == ERR_CLOSED, "afterwards everything fails");
	job_release(&j);
	job_release(&k);
}

static void tests(void)
{
	test_before_attach();
	attach(false);
	test_output();
	test_big_output();
	test_stdin();
	test_after();
	test_at();
	test_signal();
	test_failures();
	test_env();
	test_prepare();
	test_pty();
	test_echo();
	test_timeout();
	test_pause();
	test_many();
	test_drop_crosses();
	if (framed && !pid1)
		test_gone();
}

int main(void)
{
	return four_ways(tests);
}
