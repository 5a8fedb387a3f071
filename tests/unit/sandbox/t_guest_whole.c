/* The guest's work for a whole sandbox: remaining processes, freezing, sockets, isolation, and other commands in it. */
#include "guest_fixture.h"

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

/* The moment is 10 ms: on a busy machine not every one of them ends in it. */
static void test_late(void)
{
	bool waited = false;
	for (int n = 0; n < 50 && !waited; n++) {
		struct job j = { 0 };
		job_run(&j, "sleep 0.003 & true");
		waited = j.left == 0;
		job_release(&j);
		turns(20);
	}
	ok(waited, "what ends a moment after its command was not left");
}

static void test_left(void)
{
	struct job j = { 0 };
	job_run(&j, "sleep 300 & (setsid sleep 300 &) ; echo started");
	is_str(buf_cstr(&j.out), "started\n", "a child that keeps the pipe open does not delay the end");
	is_int(j.left, 2, "remaining processes are counted");
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
	ok(json_flag(a.result, "frozen", false) && json_int(a.result, "procs", 0) >= 2, "and the answer reports it");
	is_str(json_str(a.result, "how", ""), "sigstop", "with the method");
	json_release(&a.result);
	job_start(&k, "echo later");
	stat(path, &before);
	turns(100);
	stat(path, &after);
	ok(before.st_size == after.st_size, "no process continues");
	ok(!k.done, "and none starts");
	a = (struct answer){ 0 };
	guest_freeze(guest, false, on_answer, &a);
	ok(answer_int(&a, "procs") >= 2, "thawed");
	json_release(&a.result);
	until(&k.done);
	is_str(buf_cstr(&k.out), "later\n", "then it starts");
	for (int n = 0; n < 3000 && stat(path, &after) == 0 && after.st_size <= before.st_size; n++)
		turns(10);
	ok(after.st_size > before.st_size, "and the others continue");
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
	char *big = mem_calloc(1, 1 << 20);
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
	ok(c.err.sys == ECONNREFUSED, "and the error gives the cause: %s", c.err.text);
}

/* Commands in one sandbox can see and end each other's processes. */
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

static void tests(void)
{
	attach(false);
	test_late();
	test_left();
	test_flood_starves_nobody();
	test_freeze();
	test_sockets();
	test_neighbours();
	test_walls();
}

int main(void)
{
	return four_ways(tests);
}
