/* What boxes cost, against their floors, alternating so that noise falls on all alike: bench_box [rounds]
 *
 *   spawn floor            posix_spawn of /bin/true, small and with 500 MB resident
 *   open cold / warm       process driver, from the call to its answer; against bubblewrap with the same arguments that
 *                          runs /bin/true, and against the spawn floor
 *   exec                   /bin/true, sh -c 'echo hi' and 1 MB of output in an open box, against posix_spawn with pipes and the
 *                          same environment
 *   freeze, thaw */
#include <errno.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <time.h>

#include "tests/bench/verdict.h"
#include "tests/unit/sandbox/box_fixture.h"

enum { MAX = 2000 };
struct series {
	const char *name;
	int64_t ns[MAX];
	int nr;
};

static int64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void add(struct series *s, int64_t from)
{
	if (s->nr < MAX)
		s->ns[s->nr++] = now_ns() - from;
}

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return x < y ? -1 : x > y;
}

static double at(struct series *s, int percent)
{
	if (s->nr == 0)
		return 0;
	qsort(s->ns, (size_t)s->nr, sizeof(s->ns[0]), by_size);
	return (double)s->ns[(s->nr - 1) * percent / 100] / 1000;
}

static bool steady(struct series *s)
{
	return bench_steady(at(s, 25), at(s, 50), at(s, 75));
}

/* One line: median, p99, minimum in microseconds, and the ratio to @floor against what is to be reached (0: printed
 * only). */
static void line(struct series *s, struct series *floor, double reach)
{
	double median = at(s, 50), p99 = at(s, 99), least = at(s, 0),
	       ratio = floor && at(floor, 50) > 0 ? median / at(floor, 50) : 0;
	printf("%-34s %9.0f us  p99 %9.0f  min %9.0f  n %4d", s->name, median, p99, least, s->nr);
	if (floor)
		printf("  %6.2f x %s", ratio, floor->name);
	if (reach > 0)
		printf("  (reach %.2f) %s", reach, bench_verdict(ratio <= reach, steady(s) && steady(floor)));
	printf("\n");
}

/* exec does not change them; only its type allows it */
static char *const *words(const char *const *argv)
{
	return (char *const *)(uintptr_t)argv;
}

static void wait_for(pid_t pid)
{
	int status;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
}

static void spawn_wait(struct series *s, const char *const *argv)
{
	pid_t pid;
	char *env[] = { NULL };
	int64_t t = now_ns();
	if (posix_spawn(&pid, argv[0], NULL, NULL, words(argv), env) == 0)
		wait_for(pid);
	add(s, t);
}

/* The environment of a command in the sandbox. The floor's command has the same one, because a program that looks up
 * a language opens thirty files. */
static char **box_env;

static void take_env(struct box *b)
{
	struct ran r = { 0 };
	char *argv[] = { (char[]){ "/usr/bin/env" }, NULL };
	struct run_opts o = { .argv = argv, .nr_argv = 1 };
	struct run *run = b->driver->run_prepare(b, &o, &fx_run_ops, &r);
	b->driver->run_go(run);
	fx_wait(&r.here);
	b->driver->run_free(run);
	size_t nr = 0;
	box_env = mem_calloc(r.out.len + 1, sizeof(*box_env));
	CLEANUP(free_ptr) char *all = mem_strdup(buf_cstr(&r.out));
	for (char *line = strtok(all, "\n"); line; line = strtok(NULL, "\n"))
		box_env[nr++] = mem_strdup(line);
	fx_ran_release(&r);
}

static void drop_env(void)
{
	for (size_t i = 0; box_env && box_env[i]; i++)
		free(box_env[i]);
	free(box_env);
}

/* posix_spawn with two pipes read to their end and kept, as any program does it that wants output and status. */
static void spawn_pipes(struct series *s, const char *const *argv)
{
	static char chunk[65536];
	CLEANUP(buf_release) struct buf kept = BUF_INIT; /* as box_exec keeps it */
	int out[2], err[2];
	pid_t pid;
	int64_t t = now_ns();
	posix_spawn_file_actions_t fa;
	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0)
		exit(1);
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, out[1], 1);
	posix_spawn_file_actions_adddup2(&fa, err[1], 2);
	if (posix_spawn(&pid, argv[0], &fa, NULL, words(argv), box_env) != 0)
		exit(1);
	close(out[1]);
	close(err[1]);
	struct pollfd p[2] = { { .fd = out[0], .events = POLLIN }, { .fd = err[0], .events = POLLIN } };
	for (int open = 2; open > 0 && poll(p, 2, -1) > 0;)
		for (int i = 0; i < 2; i++)
			if (p[i].revents) {
				ssize_t n = read(p[i].fd, chunk, sizeof(chunk));
				if (n > 0) {
					buf_append(&kept, chunk, (size_t)n);
				} else {
					p[i].fd = -1;
					open--;
				}
			}
	wait_for(pid);
	close(out[0]);
	close(err[0]);
	posix_spawn_file_actions_destroy(&fa);
	add(s, t);
}

static void box_exec(struct series *s, struct box *b, const char *const *argv, size_t nr)
{
	struct ran r = { 0 };
	struct run_opts o = { .argv = words(argv), .nr_argv = nr };
	int64_t t = now_ns();
	struct run *run = b->driver->run_prepare(b, &o, &fx_run_ops, &r);
	b->driver->run_go(run);
	fx_wait(&r.here);
	add(s, t);
	b->driver->run_free(run);
	fx_ran_release(&r);
}

static struct box *open_timed(struct series *s, const char *repo, int n, bool want_warm)
{
	CLEANUP(free_ptr) char *name = mem_printf("b%d-%d", want_warm, n);
	json_t *result = NULL;
	int64_t t = now_ns();
	struct box *b = fx_box(name, repo, &result);
	if (b && json_flag(result, "warm", false) == want_warm)
		add(s, t);
	json_release(&result);
	return b;
}

/* The keeper's arguments for bubblewrap, with plain directories in place of its stages. */
static void bwrap_same(struct series *s, const char *dir, const char *home)
{
	const char *argv[] = { "/usr/bin/bwrap",
			       "--unshare-user",
			       "--unshare-ipc",
			       "--unshare-pid",
			       "--unshare-net",
			       "--unshare-uts",
			       "--unshare-cgroup-try",
			       "--disable-userns",
			       "--cap-drop",
			       "ALL",
			       "--uid",
			       "1000",
			       "--gid",
			       "1000",
			       "--die-with-parent",
			       "--new-session",
			       "--as-pid-1",
			       "--clearenv",
			       "--hostname",
			       "sandbox",
			       "--setenv",
			       "PATH",
			       "/usr/bin:/bin",
			       "--setenv",
			       "HOME",
			       "/home/agent",
			       "--ro-bind",
			       "/usr",
			       "/usr",
			       "--symlink",
			       "usr/bin",
			       "/bin",
			       "--symlink",
			       "usr/sbin",
			       "/sbin",
			       "--symlink",
			       "usr/lib",
			       "/lib",
			       "--symlink",
			       "usr/lib64",
			       "/lib64",
			       "--perms",
			       "0755",
			       "--dir",
			       "/etc",
			       "--ro-bind-try",
			       "/etc/alternatives",
			       "/etc/alternatives",
			       "--ro-bind-try",
			       "/etc/ld.so.cache",
			       "/etc/ld.so.cache",
			       "--ro-bind-try",
			       "/etc/ld.so.conf",
			       "/etc/ld.so.conf",
			       "--ro-bind-try",
			       "/etc/ssl/certs",
			       "/etc/ssl/certs",
			       "--ro-bind-try",
			       "/etc/localtime",
			       "/etc/localtime",
			       "--ro-bind-try",
			       "/etc/passwd",
			       "/etc/passwd",
			       "--ro-bind-try",
			       "/etc/group",
			       "/etc/group",
			       "--proc",
			       "/proc",
			       "--ro-bind",
			       "/proc/sys",
			       "/proc/sys",
			       "--dev",
			       "/dev",
			       "--size",
			       "67108864",
			       "--perms",
			       "1777",
			       "--tmpfs",
			       "/dev/shm",
			       "--size",
			       "268435456",
			       "--perms",
			       "1777",
			       "--tmpfs",
			       "/tmp",
			       "--bind",
			       home,
			       "/home/agent",
			       "--bind",
			       dir,
			       "/workspace",
			       "--chdir",
			       "/",
			       "--remount-ro",
			       "/",
			       "--",
			       "/bin/true",
			       NULL };
	spawn_wait(s, argv);
}

static struct series floor_small = { .name = "spawn" }, floor_big = { .name = "spawn, 500 MB resident" },
		     floor_warm = { .name = "spawn between warm ones" }, floor_beside = { .name = "spawn between those" },
		     bwrap = { .name = "bwrap" }, cold = { .name = "open, cold" }, warm = { .name = "open, warm" },
		     shut = { .name = "close" }, pipes_true = { .name = "spawn+pipes true" },
		     pipes_echo = { .name = "spawn+pipes sh" }, pipes_mb = { .name = "spawn+pipes 1 MB" },
		     in_true = { .name = "exec true" }, in_echo = { .name = "exec sh -c 'echo hi'" },
		     in_mb = { .name = "exec, 1 MB of output" }, freeze = { .name = "freeze" },
		     thaw = { .name = "thaw" };

/* The end of the last box is work of the kernel's that nobody waits for; then the next keeper is prepared. */
static void settle(void)
{
	for (int64_t until = now_ns() + 20000000; now_ns() < until;)
		loop_turn(fx_loop, 5);
}

static void opening(int rounds, const char *repo)
{
	const char *truth[] = { "/bin/true", NULL };
	CLEANUP(free_ptr) char *dir = fx_path("plain");
	CLEANUP(free_ptr) char *home = fx_path("plain-home");
	fx_file(dir, "x", "", 0644);
	fx_file(home, "x", "", 0644);
	process_ahead(); /* as every session has it */
	for (int i = 0; i < rounds; i++) {
		settle();
		spawn_wait(&floor_small, truth);
		bwrap_same(&bwrap, dir, home);
		struct box *b = open_timed(&cold, repo, i, false);
		if (!b)
			exit(1);
		int64_t t = now_ns();
		fx_close(b);
		add(&shut, t);
	}
	process_pool_set(fx_loop, 2);
	for (int i = 0; i < rounds; i++) {
		if (i % 2) /* who comes first after the pause pays for the processor's waking up */
			spawn_wait(&floor_warm, truth);
		struct box *b = open_timed(&warm, repo, i, true);
		if (i % 2 == 0)
			spawn_wait(&floor_warm, truth);
		if (b)
			fx_close(b);
		for (int64_t until = now_ns() + 2000000000; process_pool_ready() < 2 && now_ns() < until;)
			loop_turn(fx_loop, 5); /* the next one gets warm */
		settle();
	}
	process_pool_set(fx_loop, 0);
}

static void executing(int rounds, const char *repo)
{
	const char *truth[] = { "/bin/true", NULL }, *echo[] = { "/bin/sh", "-c", "echo hi", NULL },
		   *mb[] = { "/usr/bin/head", "-c", "1048576", "/dev/zero", NULL };
	struct box *b = fx_box("exec", repo, NULL);
	if (!b)
		exit(1);
	take_env(b);
	for (int i = 0; i < rounds; i++) {
		spawn_pipes(&pipes_true, truth);
		box_exec(&in_true, b, truth, 1);
		spawn_pipes(&pipes_echo, echo);
		box_exec(&in_echo, b, echo, 3);
		spawn_pipes(&pipes_mb, mb);
		box_exec(&in_mb, b, mb, 4);
	}
	for (int i = 0; i < rounds; i++)
		for (int frozen = 1; frozen >= 0; frozen--) {
			struct answer a = { 0 };
			int64_t t = now_ns();
			b->driver->freeze(b, frozen, fx_done, &a);
			fx_wait(&a.here);
			add(frozen ? &freeze : &thaw, t);
			json_release(&a.result);
		}
	fx_close(b);
	drop_env();
}

/* Large and small by turns, in blocks: filling the memory takes longer than the spawns. */
static void resident(int rounds)
{
	enum { BLOCK = 5 };
	const char *truth[] = { "/bin/true", NULL };
	size_t big = 500u << 20;
	for (int i = 0; i < rounds; i += BLOCK) {
		char *mem = mmap(NULL, big, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (mem == MAP_FAILED)
			return;
		memset(mem, 1, big);
		for (int n = 0; n < BLOCK; n++)
			spawn_wait(&floor_big, truth);
		munmap(mem, big);
		for (int n = 0; n < BLOCK; n++)
			spawn_wait(&floor_beside, truth);
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 60;
	rounds = rounds < 1 ? 1 : rounds > MAX ? MAX : rounds;
	fx_start();
	CLEANUP(free_ptr) char *repo = fx_path("repo");
	fx_file(repo, "src/a.c", "int a;\n", 0644);
	opening(rounds, repo);
	executing(rounds, repo);
	resident(rounds);
	line(&floor_small, NULL, 0);
	line(&floor_beside, NULL, 0);
	line(&floor_big, &floor_beside, 1.3);
	line(&bwrap, &floor_small, 0);
	line(&cold, &bwrap, 1.5);
	line(&floor_warm, NULL, 0);
	line(&warm, &floor_warm, 1.5);
	line(&shut, &floor_small, 0);
	line(&in_true, &pipes_true, 1.15);
	line(&in_echo, &pipes_echo, 1.15);
	line(&in_mb, &pipes_mb, 1.25);
	line(&freeze, &floor_small, 0);
	line(&thaw, &floor_small, 0);
	return fx_end();
}
