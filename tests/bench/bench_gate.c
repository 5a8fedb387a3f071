/* The cost of stopping each execve of a program until a supervisor continues it: bench_gate [rounds]
 *
 *   Two children start /bin/true by posix_spawn, by turns; one of them under a seccomp filter that hands each execve to
 *   this process (SECCOMP_RET_USER_NOTIF, answered "continue"). Sandglass itself gates actions before they start and does
 *   not use it: a continued call can have its arguments changed behind the supervisor's back. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/compat.h"
#include "base/fd.h"
#include "tests/bench/verdict.h"

extern char **environ;

enum { MAX = 5000 };
struct child {
	const char *name;
	int sock, listener; /* -1: not held */
	pid_t pid;
	double us[MAX];
	int nr;
};

static double now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static NORETURN void die(const char *what)
{
	fprintf(stderr, "bench_gate: %s\n", what);
	exit(2);
}

/* Its listener, or -1 with errno. */
static int hold_execve(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { .len = ARRAY_LEN(code), .filter = code };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog);
}

/* For each byte that comes: one program, and how long it took. */
static NORETURN void serve(int sock, bool held)
{
	struct err err = ERR_INIT;
	char path[] = "/bin/true", *argv[] = { path, NULL }, byte = 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	int listener = held ? hold_execve() : -1;
	if (fd_send(sock, &byte, 1, &listener, listener >= 0, &err) < 0)
		_exit(1);
	fd_close(&listener);
	while (read(sock, &byte, 1) == 1) {
		pid_t pid;
		int status;
		double t = now_us();
		if (posix_spawn(&pid, path, NULL, NULL, argv, environ) != 0)
			_exit(1);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			continue;
		t = now_us() - t;
		if (status != 0 || write(sock, &t, sizeof(t)) != sizeof(t))
			_exit(1);
	}
	_exit(0);
}

/* False where the kernel or what holds this program lets no filter be watched. */
static bool start(struct child *c, bool held)
{
	struct err err = ERR_INIT;
	int pair[2], fds[FD_PASS_MAX];
	size_t nr = FD_PASS_MAX;
	char byte;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 || (c->pid = fork()) < 0)
		die("cannot start a child");
	if (c->pid == 0) {
		close(pair[0]);
		serve(pair[1], held);
	}
	close(pair[1]);
	c->sock = pair[0];
	if (fd_recv(c->sock, &byte, 1, fds, &nr, &err) != 1)
		die("the child ended");
	c->listener = nr > 0 ? fds[0] : -1;
	return !held || c->listener >= 0;
}

static void let_go(int listener)
{
	struct seccomp_notif_sizes size;
	static union {
		struct seccomp_notif n;
		char room[1024];
	} in;
	static union {
		struct seccomp_notif_resp r;
		char room[1024];
	} out;
	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &size) < 0 || size.seccomp_notif > sizeof(in) ||
	    size.seccomp_notif_resp > sizeof(out))
		die("the kernel's notifications have another size");
	memset(&in, 0, sizeof(in));
	memset(&out, 0, sizeof(out));
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &in) < 0)
		return; /* who asked has died */
	out.r.id = in.n.id;
	out.r.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &out) < 0 && errno != ENOENT)
		die("cannot answer a notification");
}

static void once(struct child *c)
{
	double us;
	if (write(c->sock, "", 1) != 1)
		die("the child is gone");
	for (;;) {
		struct pollfd p[2] = { { .fd = c->sock, .events = POLLIN }, { .fd = c->listener, .events = POLLIN } };
		if (poll(p, 2, 10000) < 1)
			die("a held program did not end");
		if (p[1].revents & POLLIN)
			let_go(c->listener);
		if (p[0].revents)
			break;
	}
	if (read(c->sock, &us, sizeof(us)) != sizeof(us))
		die("the child ended");
	c->us[c->nr++] = us;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double at(const struct child *c, int percent)
{
	return c->us[(c->nr - 1) * percent / 100];
}

static bool show(struct child *c)
{
	qsort(c->us, (size_t)c->nr, sizeof(c->us[0]), by_size);
	printf("%-40s %9.0f us  p99 %9.0f  min %9.0f  n %4d\n", c->name, at(c, 50), at(c, 99), at(c, 0), c->nr);
	return bench_steady(at(c, 25), at(c, 50), at(c, 75));
}

static void end(struct child *c)
{
	fd_close(&c->sock);
	fd_close(&c->listener);
	kill(c->pid, SIGKILL); /* the other child holds its socket too */
	waitpid(c->pid, NULL, 0);
}

int main(int argc, char **argv)
{
	static struct child plain = { .name = "spawn" }, held = { .name = "spawn, execve stopped and continued" };
	int rounds = argc > 1 ? atoi(argv[1]) : 300;
	if (rounds < 1 || rounds > MAX)
		return 2;
	start(&plain, false);
	if (start(&held, true)) {
		for (int i = 0; i < rounds; i++) {
			once(&plain);
			once(&held);
		}
		bool steady = show(&plain);
		steady = show(&held) && steady;
		double ratio = at(&held, 50) / at(&plain, 50);
		printf("  %-56s %6.2f x  (reach 1.20) %s\n", "execve held by seccomp notification / spawn", ratio,
		       bench_verdict(ratio <= 1.2, steady));
	} else {
		printf("seccomp gives no listener here: the gate by notification is not measured\n");
	}
	end(&plain);
	end(&held);
	return 0;
}
