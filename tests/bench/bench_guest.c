/* What an exec through the guest costs: bench_guest PATH-OF-sandglass-guest [rounds]
 *
 * Alternates, so that noise falls on all alike: posix_spawn with two pipes read to their end (the floor), the same
 * through the guest with descriptors passed (prepare and go apart, as the gate does it), with framed streams, and a
 * ping. The guest is PID 1 of its own namespaces with landlock rules, the floor has neither. Prints medians and ratios.
 */
#include <errno.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "sandbox/guest/guest_client.h"
#include "tests/unit/sandbox/guest_box.h"

enum { MAX_ROUNDS = 5000 };
static struct loop *loop;

struct one {
	bool done;
	int code;
	size_t bytes;
};

static void on_output(void *self, int stream, const void *bytes, size_t len)
{
	struct one *o = self;
	(void)stream;
	(void)bytes;
	o->bytes += len;
}

static void on_end(void *self, int code, int signal, bool lost, int left)
{
	struct one *o = self;
	(void)signal;
	(void)lost;
	(void)left;
	o->done = true;
	o->code = code;
}

static const struct run_ops run_ops = { .on_output = on_output, .on_exit = on_end };

static void on_answer(void *self, json_t *result, const struct err *err)
{
	(void)result;
	if (err) {
		fprintf(stderr, "bench_guest: %s\n", err->text);
		exit(1);
	}
	*(bool *)self = true;
}

static void on_ready(void *self, const struct guest_info *i)
{
	(void)self;
	(void)i;
}

static void on_gone(void *self, const struct err *err)
{
	(void)self;
	fprintf(stderr, "bench_guest: %s\n", err->text);
	exit(1);
}

static const struct guest_ops guest_ops = { .on_ready = on_ready, .on_gone = on_gone };

static double by_spawn(char *const *argv)
{
	int out[2], err[2], status;
	pid_t pid;
	char bytes[65536];
	posix_spawn_file_actions_t fa;
	int64_t t0 = clock_mono_us();
	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0)
		exit(1);
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&fa, out[1], 1);
	posix_spawn_file_actions_adddup2(&fa, err[1], 2);
	if (posix_spawn(&pid, argv[0], &fa, NULL, argv, environ) != 0)
		exit(1);
	posix_spawn_file_actions_destroy(&fa);
	close(out[1]);
	close(err[1]);
	while (read(out[0], bytes, sizeof bytes) > 0)
		;
	while (read(err[0], bytes, sizeof bytes) > 0)
		;
	waitpid(pid, &status, 0);
	close(out[0]);
	close(err[0]);
	return (double)(clock_mono_us() - t0);
}

static double by_guest(struct guest *g, char *const *argv, size_t nr)
{
	struct one o = { 0 };
	struct run_opts ro = { .argv = argv, .nr_argv = nr, .cwd = "/" };
	int64_t t0 = clock_mono_us();
	struct guest_run *r = guest_prepare(g, &ro, &run_ops, &o);
	guest_go(r);
	while (!o.done)
		loop_turn(loop, -1);
	double us = (double)(clock_mono_us() - t0);
	struct err err = ERR_INIT;
	if (o.code != 0 || guest_run_failure(r, &err)) {
		fprintf(stderr, "bench_guest: exit %d %s\n", o.code, err.text);
		exit(1);
	}
	guest_run_free(r);
	return us;
}

static double by_ping(struct guest *g)
{
	bool done = false;
	int64_t t0 = clock_mono_us();
	guest_ping(g, on_answer, &done);
	while (!done)
		loop_turn(loop, -1);
	return (double)(clock_mono_us() - t0);
}

static int up(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static double median(double *v, int nr)
{
	qsort(v, (size_t)nr, sizeof *v, up);
	return v[nr / 2];
}

/* The real program, not a fork of this one: its size is part of the measurement. */
static struct guest *start(const char *program, bool framed, pid_t *pid)
{
	static struct guest_opts o;
	int pair[2];
	bool done = false;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		exit(1);
	*pid = fork();
	if (*pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		bool own = own_namespaces();
		pid_t inside = own ? fork() : 0;
		if (inside) {
			close(pair[0]);
			close(pair[1]);
			waitpid(inside, NULL, 0);
			_exit(0);
		}
		if (own && mount("proc", "/proc", "proc", 0, NULL) < 0)
			_exit(1);
		if (pair[1] == 3)
			fcntl(3, F_SETFD, 0);
		else
			dup2(pair[1], 3);
		execl(program, program, (char *)NULL);
		_exit(1);
	}
	close(pair[1]);
	o.framed = framed;
	struct guest *g = guest_new(loop, pair[0], &o, &guest_ops, NULL);
	guest_attach(g, &(struct guest_attach){ .unconfined_ok = true }, on_answer, &done);
	while (!done)
		loop_turn(loop, -1);
	if (!guest_info(g)->init)
		printf("note: no namespaces here, the guest is an ordinary child\n");
	return g;
}

static void series(const char *what, struct guest *fds, struct guest *framed, char *const *argv, size_t nr, int rounds)
{
	static double spawn[MAX_ROUNDS], fd[MAX_ROUNDS], frame[MAX_ROUNDS], ping[MAX_ROUNDS];
	for (int i = 0; i < rounds; i++) {
		spawn[i] = by_spawn(argv);
		fd[i] = by_guest(fds, argv, nr);
		frame[i] = by_guest(framed, argv, nr);
		ping[i] = by_ping(fds);
	}
	double floor = median(spawn, rounds);
	printf("%-16s posix_spawn %5.0f us | guest, descriptors %5.0f us %.2f x | guest, framed %5.0f us %.2f x | ping "
	       "%3.0f us %.2f x\n",
	       what, floor, median(fd, rounds), median(fd, rounds) / floor, median(frame, rounds),
	       median(frame, rounds) / floor, median(ping, rounds), median(ping, rounds) / floor);
	double ratio = median(fd, rounds) / floor;
	printf("  exec through the guest / spawn+pipes, %-16s %6.2f x  (reach 1.15) %s\n", what, ratio,
	       ratio <= 1.15 ? "PASS" : "FAIL");
}

int main(int argc, char **argv)
{
	static char t[] = "/bin/true", sh[] = "/bin/sh", c[] = "-c", echo[] = "echo hi";
	char *const argv_true[] = { t, NULL }, *const argv_sh[] = { sh, c, echo, NULL };
	struct err err = ERR_INIT;
	pid_t pid[2];
	int rounds = argc > 2 ? atoi(argv[2]) : 500;
	if (argc < 2 || rounds < 1 || rounds > MAX_ROUNDS) {
		fprintf(stderr, "usage: bench_guest PATH-OF-sandglass-guest [rounds]\n");
		return 2;
	}
	if (loop_new(&loop, &err) < 0)
		return 1;
	struct guest *fds = start(argv[1], false, &pid[0]), *framed = start(argv[1], true, &pid[1]);
	series("/bin/true", fds, framed, argv_true, 1, rounds);
	series("sh -c 'echo hi'", fds, framed, argv_sh, 3, rounds);
	guest_free(&fds);
	guest_free(&framed);
	waitpid(pid[0], NULL, 0);
	waitpid(pid[1], NULL, 0);
	loop_turn(loop, 0);
	loop_free(loop);
	return 0;
}
