/* The event loop against what it is made of, alternating so that noise falls on all alike: bench_loop [rounds]
 *
 *   wake    loop_wake_send and the turn that runs its callback, against eventfd written, polled and read
 *   exec    proc_spawn with two pipes and the pidfd watched by the loop, against posix_spawn, poll and waitpid
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/compat.h"
#include "base/fd.h"
#include "loop/loop.h"
#include "tests/bench/verdict.h"

extern char **environ;

enum { MAX = 20000 };
struct series {
	const char *name;
	double us[MAX];
	int nr;
};

static struct loop *loop;

static double now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void add(struct series *s, double from)
{
	if (s->nr < MAX)
		s->us[s->nr++] = now_us() - from;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double at(struct series *s, int percent)
{
	if (s->nr == 0)
		return 0;
	qsort(s->us, (size_t)s->nr, sizeof(s->us[0]), by_size);
	return s->us[(s->nr - 1) * percent / 100];
}

static bool steady(struct series *s)
{
	return bench_steady(at(s, 25), at(s, 50), at(s, 75));
}

static void line(struct series *s, struct series *floor, double reach)
{
	double ratio = floor ? at(s, 50) / at(floor, 50) : 0;
	printf("%-34s %9.1f us  p99 %9.1f  min %9.1f  n %5d", s->name, at(s, 50), at(s, 99), at(s, 0), s->nr);
	if (floor)
		printf("  %6.2f x %s", ratio, floor->name);
	if (reach > 0)
		printf("  (reach %.2f) %s", reach, bench_verdict(ratio <= reach, steady(s) && steady(floor)));
	printf("\n");
}

static NORETURN void die(const char *what)
{
	fprintf(stderr, "bench_loop: %s\n", what);
	exit(1);
}

/* --- wake --------------------------------------------------------------------------------------------------------- */

static struct series wake = { .name = "wake" }, eventfds = { .name = "eventfd, poll, read" };

static void set_flag(void *self)
{
	*(bool *)self = true;
}

static void waking(int rounds)
{
	bool here = false;
	struct loop_wake *w = loop_wake_new(loop, set_flag, &here);
	CLEANUP(fd_close) int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	for (int i = 0; i < rounds; i++) {
		uint64_t n = 1;
		double t = now_us();
		if (write(fd, &n, sizeof(n)) < 0 || poll(&p, 1, -1) != 1 || read(fd, &n, sizeof(n)) < 0)
			die("no eventfd");
		add(&eventfds, t);
		t = now_us();
		here = false;
		loop_wake_send(w);
		while (!here)
			loop_turn(loop, -1);
		add(&wake, t);
	}
	loop_wake_free(&w);
}

/* --- exec --------------------------------------------------------------------------------------------------------- */

static struct series by_loop = { .name = "exec by the loop" }, by_hand = { .name = "spawn+pipes true" };
static char truth[] = "/bin/true", *argv_true[] = { truth, NULL };

static void make_pipe(int *ends)
{
	if (pipe2(ends, O_CLOEXEC) < 0)
		die("no pipe");
}

static void exec_by_hand(void)
{
	char bytes[4096];
	int out[2], err[2], status;
	pid_t pid;
	double t = now_us();
	posix_spawn_file_actions_t fa;
	make_pipe(out);
	make_pipe(err);
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, out[1], 1);
	posix_spawn_file_actions_adddup2(&fa, err[1], 2);
	if (posix_spawn(&pid, truth, &fa, NULL, argv_true, environ) != 0)
		die("cannot start /bin/true");
	posix_spawn_file_actions_destroy(&fa);
	fd_close(&out[1]);
	fd_close(&err[1]);
	struct pollfd p[2] = { { .fd = out[0], .events = POLLIN }, { .fd = err[0], .events = POLLIN } };
	for (int open = 2; open > 0 && poll(p, 2, -1) > 0;)
		for (int i = 0; i < 2; i++)
			if (p[i].revents && read(p[i].fd, bytes, sizeof(bytes)) <= 0) {
				p[i].fd = -1;
				open--;
			}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	fd_close(&out[0]);
	fd_close(&err[0]);
	add(&by_hand, t);
}

/* The open parts: two pipes and the pidfd. */
struct one {
	struct loop_fd *watch[3];
	int fd[3], open;
};

static void on_readable(void *self, int fd, unsigned events)
{
	struct one *o = self;
	char bytes[4096];
	(void)events;
	if (fd != o->fd[2] && read(fd, bytes, sizeof(bytes)) > 0)
		return;
	for (int i = 0; i < 3; i++)
		if (fd == o->fd[i]) {
			loop_fd_free(&o->watch[i]);
			o->open--;
		}
}

static void exec_by_loop(void)
{
	struct err err = ERR_INIT;
	struct one o = { .open = 3 };
	int out[2], errors[2], pid, status;
	double t = now_us();
	make_pipe(out);
	make_pipe(errors);
	if (proc_spawn(truth, argv_true, environ, (int[]){ -1, out[1], errors[1] }, 3, &pid, &o.fd[2], &err) < 0)
		die(err.text);
	fd_close(&out[1]);
	fd_close(&errors[1]);
	o.fd[0] = out[0];
	o.fd[1] = errors[0];
	for (int i = 0; i < 3; i++)
		o.watch[i] = loop_fd_new(loop, o.fd[i], LOOP_READ, on_readable, &o);
	while (o.open)
		loop_turn(loop, -1);
	if (proc_reap(o.fd[2], &status, &err) < 0)
		die(err.text);
	for (int i = 0; i < 3; i++)
		fd_close(&o.fd[i]);
	add(&by_loop, t);
}

int main(int argc, char **argv)
{
	struct err err = ERR_INIT;
	int rounds = argc > 1 ? atoi(argv[1]) : 200;
	if (rounds < 1 || rounds > MAX || loop_new(&loop, &err) < 0)
		return 2;
	waking(MAX / 2);
	for (int i = 0; i < rounds; i++) {
		exec_by_hand();
		exec_by_loop();
	}
	line(&eventfds, NULL, 0);
	line(&wake, &eventfds, 0);
	printf("  %-48s %8.2f us (reach 3 us) %s\n", "a wake of the loop", at(&wake, 50), at(&wake, 50) <= 3 ? "PASS" : "FAIL");
	line(&by_hand, NULL, 0);
	line(&by_loop, &by_hand, 1.1);
	loop_turn(loop, 0);
	loop_free(loop);
	return 0;
}
