/* What others offer for a command in a place that stays, by turns with ours: bench_peers [rounds]
 *
 *   a shell that keeps its state: bash behind two pipes, its status printed after each command, against box:shell
 *   docker and podman exec of /bin/true against exec in a box, docker's also against exec in a container box; a container is made
 *   from a few files of the host.
 *   Where an engine does not run, its own reason is printed. */
#include <errno.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mount.h>
#include <time.h>

#include "sandbox/shell.h"
#include "tests/unit/sandbox/box_fixture.h"

enum { MAX = 2000 };
struct series {
	const char *name;
	double us[MAX];
	int nr;
};

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

static double line(struct series *s)
{
	qsort(s->us, (size_t)s->nr, sizeof(s->us[0]), by_size);
	double median = s->us[(s->nr - 1) / 2];
	printf("%-34s %9.0f us  p99 %9.0f  min %9.0f  n %4d\n", s->name, median, s->us[(s->nr - 1) * 99 / 100], s->us[0], s->nr);
	return median;
}

static void on_output(void *self, bool running, const void *bytes, size_t len)
{
	(void)self, (void)running, (void)bytes, (void)len;
}

static void on_done(void *self, const struct box_shell_result *r)
{
	(void)r;
	*(bool *)self = true;
}

static void on_end(void *self, bool lost, int left)
{
	(void)self, (void)lost, (void)left;
}

static void in_shell(struct series *s, struct box_shell *sh, bool *done, const char *cmd)
{
	struct err err = ERR_INIT;
	double t = now_us();
	*done = false;
	if (box_shell_run(sh, cmd, 0, &err) < 0) {
		printf("# %s\n", err.text);
		exit(2);
	}
	fx_wait(done);
	add(s, t);
}

static void in_bash(struct series *s, FILE *to, FILE *from, const char *cmd)
{
	char row[256];
	double t = now_us();
	fprintf(to, "%s; echo $?\n", cmd);
	fflush(to);
	if (!fgets(row, sizeof(row), from))
		exit(2);
	add(s, t);
}

static void shells(struct box *b, int rounds)
{
	static const struct box_shell_ops ops = { .on_output = on_output, .on_done = on_done, .on_end = on_end };
	static struct series s[4] = { { .name = "bash by pipes: builtin" }, { .name = "box:shell: builtin" },
				      { .name = "bash by pipes: /bin/true" }, { .name = "box:shell: /bin/true" } };
	static const char *const cmd[] = { "true", "/bin/true" };
	int in[2], out[2];
	pid_t pid;
	bool done = false;
	char bash[] = "/bin/bash", norc[] = "--norc", *argv[] = { bash, norc, NULL }, *env[] = { NULL };
	posix_spawn_file_actions_t fa;
	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		exit(2);
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, in[0], 0);
	posix_spawn_file_actions_adddup2(&fa, out[1], 1);
	if (posix_spawn(&pid, bash, &fa, NULL, argv, env) != 0)
		exit(2);
	close(in[0]);
	close(out[1]);
	FILE *to = fdopen(in[1], "w"), *from = fdopen(out[0], "r");
	struct box_shell *sh = box_shell_open(fx_loop, b->driver, b, &(struct box_shell_opts){ .cwd = "/" }, &ops, &done);
	box_shell_go(sh);
	for (int i = 0; i < rounds; i++)
		for (int c = 0; c < 2; c++) {
			in_bash(&s[2 * c], to, from, cmd[c]);
			in_shell(&s[2 * c + 1], sh, &done, cmd[c]);
		}
	fclose(to);
	fclose(from);
	waitpid(pid, NULL, 0);
	box_shell_free(sh);
	for (int c = 0; c < 2; c++) {
		double peer = line(&s[2 * c]);
		printf("  box:shell / bash by pipes, %-10s %.2f x\n", cmd[c], line(&s[2 * c + 1]) / peer);
	}
}

static const char make_container[] =
	"d=%s/root-%s; for f in /bin/true /bin/sh /bin/sleep; do for l in $f $(ldd $f | grep -o '/[^ ]*'); do "
	"mkdir -p $d$(dirname $l); cp -L $l $d$l; done; done; tar -C $d -c . 2>/dev/null | timeout 60 %s import - %s >%s/why 2>&1 && "
	"timeout 60 %s run -d --network none --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 --name %s %s /bin/sleep 600 "
	">%s/why 2>&1";

static void in_box(struct series *s, struct box *b)
{
	char path[] = "/bin/true", *argv[] = { path, NULL };
	struct ran r = { 0 };
	double t = now_us();
	struct run *one = b->driver->run_prepare(b, &(struct run_opts){ .argv = argv, .nr_argv = 1 }, &fx_run_ops, &r);
	b->driver->run_go(one);
	fx_wait(&r.here);
	add(s, t);
	b->driver->run_free(one);
}

/* Programs of ours are looked for beside the one that runs. */
static void guest_beside(void)
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	self[n > 0 ? n : 0] = 0;
	char *slash = strrchr(self, '/');
	CLEANUP(free_ptr) char *guest = fx_program("sandglass-guest");
	CLEANUP(free_ptr) char *beside = mem_printf("%.*s/sandglass-guest", (int)(slash ? slash - self : 0), self);
	if (symlink(guest, beside) < 0 && errno != EEXIST)
		printf("# cannot link the guest: %s\n", strerror(errno));
}

/* NULL, with a line that says why, where the engine does not answer at its socket (that of DOCKER_HOST, or where it
 * usually is). */
static struct box *container_box(const char *e, const char *image)
{
	CLEANUP(free_ptr) char *tail = mem_printf("state-%s", e);
	CLEANUP(free_ptr) char *state = fx_path(tail);
	CLEANUP(json_release) json_t *options = json_object();
	json_put_str(options, "image", image);
	struct box_opts o = { .name = e, .state_dir = state, .driver = options };
	struct answer a = { 0 };
	struct box *b = driver_open(driver_find("container"), fx_loop, &o, fx_done, &a);
	fx_wait(&a.here);
	if (!a.result)
		printf("a container box of %s is skipped: %s\n", e, a.err.text);
	bool open = a.result != NULL;
	json_release(&a.result);
	return open ? b : NULL;
}

static void engine(const char *e, struct box *b, int rounds)
{
	CLEANUP(free_ptr) char *name = mem_printf("bench-%d", (int)getpid());
	CLEANUP(free_ptr) char *start =
		mem_printf(make_container, fx_dir, e, e, name, fx_dir, e, name, name, fx_dir);
	CLEANUP(free_ptr) char *run = mem_printf("exec timeout 20 %s exec %s /bin/true", e, name);
	CLEANUP(free_ptr) char *end = mem_printf("exec >/dev/null 2>&1; timeout 60 %s rm -f %s; timeout 60 %s rmi %s", e, name, e, name);
	CLEANUP(free_ptr) char *why = mem_printf("echo '%s exec is skipped:' $(tail -n 1 %s/why)", e, fx_dir);
	CLEANUP(free_ptr) char *found = mem_printf("command -v %s >/dev/null", e);
	struct series peer = { .name = e }, ours = { .name = "exec in a box" }, own = { .name = "exec in a container box" };
	if (system(found) != 0) {
		printf("%s exec is skipped: it is not found\n", e);
		return;
	}
	bool up = system(start) == 0;
	fflush(stdout);
	if (!up && system(why) < 0)
		exit(2);
	struct box *c = up && !strcmp(e, "docker") ? container_box(e, name) : NULL;
	for (int i = 0; up && i < rounds; i++) {
		double t = now_us();
		up = system(run) == 0;
		add(&peer, t);
		for (int k = 0; k < 10; k++) { /* what takes a hundredth of the time is looked at more often */
			in_box(&ours, b);
			if (c)
				in_box(&own, c);
		}
	}
	if (up) {
		double them = line(&peer), us = line(&ours);
		printf("  exec in a box / %-10s exec %26.4f  (reach 0.05) %s\n", e, us / them, us / them <= 0.05 ? "PASS" : "FAIL");
		double there = c ? line(&own) : 0;
		if (c)
			printf("  in a container box / %-10s exec %21.4f  (reach 0.05) %s\n  in a container box / in a box %26.2f x (reach 1.3) %s\n", e,
			       there / them, there / them <= 0.05 ? "PASS" : "FAIL", there / us, there / us <= 1.3 ? "PASS" : "FAIL");
	}
	if (c)
		fx_close(c);
	if (system(end) < 0)
		exit(2);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 60;
	rounds = rounds < 1 ? 1 : rounds > MAX ? MAX : rounds;
	fx_start();
	struct box *b = fx_box("peers", NULL, NULL);
	if (!b)
		return 2;
	guest_beside();
	shells(b, rounds);
	/* crun refuses where both generations of cgroups are mounted: not here, in mounts of this program alone */
	if (unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
		umount2("/sys/fs/cgroup/unified", MNT_DETACH);
	engine("docker", b, rounds > 20 ? 20 : rounds);
	engine("podman", b, rounds > 20 ? 20 : rounds);
	fx_close(b);
	return fx_end();
}
