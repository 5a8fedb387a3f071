/* A whole agent step through the real program, and agents by the thousand: bench_step [steps] [files] [agents]
 *
 * Runs `sandglass run -d` on a tree of that many files. The script calls box:exec in blocks with pauses between
 * them; in the pauses this program measures the floors (posix_spawn, the same command with pipes, fdatasync where
 * the session file lies), so that noise falls on all alike. Times are those of the session file: a step goes from
 * one action.requested to the next, so it holds gate, barrier, exec, record, snapshot, answer, the coroutine's turn
 * and its next call. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/paths.h"
#include "record/read/session.h"
#include "tests/bench/scratch.h"
#include "tests/bench/verdict.h"

extern char **environ;

enum { MAX = 5000, BLOCK = 10, FLOORS = 10, REMOTE_US = 40000 };
struct series {
	const char *name;
	double us[MAX];
	int nr;
};

static char root[128], *program, *sessions;
static struct series spawn_true = { .name = "posix_spawn /bin/true" }, spawn_echo = { .name = "spawn+pipes sh -c 'echo hi'" },
		     spawn_change = { .name = "  the same, and one file changed" }, syncs = { .name = "fdatasync of 4 KB" },
		     step_none = { .name = "step, nothing changed" },
		     step_one = { .name = "step, 1 file changed" }, exec_none = { .name = "exec through gate and recorder" },
		     wait_none = { .name = "  of it: requested to started" }, crowd = { .name = "step beside waiting agents" };

static double now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void add(struct series *s, double us)
{
	if (s->nr < MAX)
		s->us[s->nr++] = us;
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

/* The median of the measurements from number @from; keeps the order. */
static double median_since(const struct series *s, int from)
{
	static double copy[MAX];
	int nr = s->nr - from;
	if (nr <= 0)
		return 0;
	memcpy(copy, s->us + from, (size_t)nr * sizeof(copy[0]));
	qsort(copy, (size_t)nr, sizeof(copy[0]), by_size);
	return copy[(nr - 1) / 2];
}

static void line(struct series *s)
{
	printf("%-34s %9.0f us  p99 %9.0f  min %9.0f  n %4d\n", s->name, at(s, 50), at(s, 99), at(s, 0), s->nr);
}

static void judge_if(bool measurable, const char *what, double value, double reach, const char *unit)
{
	printf("  %-48s %8.3f%s  (reach %.3g%s) %s\n", what, value, unit, reach, unit,
	       bench_verdict(value <= reach, measurable));
}

static void judge(const char *what, double value, double reach, const char *unit)
{
	judge_if(true, what, value, reach, unit);
}

/* A ratio with fdatasync taken off, over its pairs: the disk must leave something, and the pairs agree. */
static bool measurable(struct series *ratios)
{
	return at(&syncs, 50) <= BENCH_SYNC_MAX_US &&
	       bench_pairs_agree(ratios->nr, at(ratios, 25), at(ratios, 50), at(ratios, 75));
}

static NORETURN void die(const char *what)
{
	fprintf(stderr, "bench_step: %s\n", what);
	exit(1);
}

/* --- floors ------------------------------------------------------------------------------------------------------- */

static void wait_for(pid_t pid)
{
	int status;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
}

static void floor_true(void)
{
	char path[] = "/bin/true", *argv[] = { path, NULL };
	pid_t pid;
	double t = now_us();
	if (posix_spawn(&pid, path, NULL, NULL, argv, environ) != 0)
		die("cannot start /bin/true");
	wait_for(pid);
	add(&spawn_true, now_us() - t);
}

/* Runs argv with its output in pipes; returns what it printed (owned), at most 4 KB. */
static char *run_piped(char *const *argv)
{
	char bytes[4096] = "", rest[4096];
	size_t len = 0;
	int out[2], err[2];
	pid_t pid;
	posix_spawn_file_actions_t fa;
	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0)
		die("no pipe");
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, out[1], 1);
	posix_spawn_file_actions_adddup2(&fa, err[1], 2);
	if (posix_spawnp(&pid, argv[0], &fa, NULL, argv, environ) != 0)
		die("cannot start a program");
	posix_spawn_file_actions_destroy(&fa);
	close(out[1]);
	close(err[1]);
	for (ssize_t n; (n = read(out[0], bytes + len, sizeof(bytes) - 1 - len)) > 0;)
		len += (size_t)n;
	while (read(err[0], rest, sizeof(rest)) > 0)
		;
	wait_for(pid);
	close(out[0]);
	close(err[0]);
	bytes[len] = 0;
	return mem_strdup(bytes);
}

static void floor_echo(void)
{
	char sh[] = "/bin/sh", c[] = "-c", cmd[] = "echo hi", *argv[] = { sh, c, cmd, NULL };
	double t = now_us();
	free(run_piped(argv));
	add(&spawn_echo, now_us() - t);
}

/* The command of a step with one changed file, on the plain file system. It has no target; it shows the command's
 * own share of the step. */
static void floor_change(void)
{
	static int n;
	CLEANUP(free_ptr) char *cmd = mem_printf("echo hi; echo %d > %s/changed", n++, root);
	char sh[] = "/bin/sh", c[] = "-c", *argv[] = { sh, c, cmd, NULL };
	double t = now_us();
	free(run_piped(argv));
	add(&spawn_change, now_us() - t);
}

static void floor_sync(void)
{
	static char block[4096];
	static int fd = -1;
	if (fd < 0) {
		CLEANUP(free_ptr) char *path = path_join(sessions, "sync");
		fd = open(path, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
	}
	double t = now_us();
	if (write(fd, block, sizeof(block)) < 0 || fdatasync(fd) < 0)
		die("cannot write to the folder of sessions");
	add(&syncs, now_us() - t);
}

static void floors(void)
{
	for (int i = 0; i < FLOORS; i++) {
		floor_true();
		floor_echo();
		floor_sync();
	}
	for (int i = 0; i < FLOORS; i++) /* last: its pending writes are not in the others' times */
		floor_change();
}

/* A block of steps and the floors of the pause after it make one pair: what else the machine does falls on both. The
 * judged ratio is the median of the pairs'. */
static struct pairs {
	int exec, step, spawn, echo, sync; /* where the block begins in its series */
	struct series gate, whole;	   /* ratios, not microseconds */
} pairs;

static void block_begins(void)
{
	pairs.exec = exec_none.nr;
	pairs.step = step_one.nr;
	pairs.spawn = spawn_true.nr;
	pairs.echo = spawn_echo.nr;
	pairs.sync = syncs.nr;
}

static void block_ends(void)
{
	double exec = median_since(&exec_none, pairs.exec), step = median_since(&step_one, pairs.step);
	floors();
	double sync = median_since(&syncs, pairs.sync);
	if (exec > 0 && step > 0) {
		add(&pairs.gate, (exec - sync) / median_since(&spawn_echo, pairs.echo));
		add(&pairs.whole, (step - sync) / median_since(&spawn_true, pairs.spawn));
	}
	block_begins();
}

/* --- a session ---------------------------------------------------------------------------------------------------- */

static void put_file(const char *dir, const char *name, const char *text)
{
	struct err err;
	CLEANUP(free_ptr) char *path = path_join(dir, name);
	if (file_write_atomic(path, text, strlen(text), 0644, &err) < 0)
		die(err.text);
}

static char *own_dir(const char *name, mode_t mode)
{
	char *dir = path_join(root, name);
	if (mkdir(dir, mode) < 0)
		die("cannot make a folder");
	return dir;
}

static void make_tree(const char *dir, int files)
{
	for (int f = 0; f < files; f++) {
		char path[4200];
		if (f % 100 == 0) {
			snprintf(path, sizeof(path), "%s/d%02d", dir, f / 100 % 100);
			mkdir(path, 0755);
			snprintf(path, sizeof(path), "%s/d%02d/s%d", dir, f / 100 % 100, f / 10000);
			mkdir(path, 0755);
		}
		snprintf(path, sizeof(path), "%s/d%02d/s%d/f%d", dir, f / 100 % 100, f / 10000, f % 100);
		int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		if (fd < 0)
			die("cannot make a tree");
		dprintf(fd, "file %d\nint main(void) { return %d; }\n", f, f);
		close(fd);
	}
}

struct live {
	char *id, *socket;
	struct session *s;
	struct feed *feed;
	struct arena arena;
};

static void stop(struct live *v)
{
	char *argv[] = { program, (char[]){ "stop" }, (char[]){ "--now" }, (char[]){ "-S" }, v->id, NULL };
	feed_free(&v->feed);
	session_close(&v->s);
	free(run_piped(argv));
	for (int i = 0; i < 200 && access(v->socket, F_OK) == 0; i++)
		usleep(50000);
	arena_release(&v->arena);
	free(v->id);
	free(v->socket);
}

static void start(struct live *v, const char *script)
{
	struct err err;
	CLEANUP(free_ptr) char *path = path_join(root, script);
	char *argv[] = { program, (char[]){ "run" }, (char[]){ "-d" }, (char[]){ "--sessions" }, sessions, path, NULL };
	*v = (struct live){ .id = run_piped(argv), .arena = ARENA_INIT };
	v->id[strcspn(v->id, "\n")] = 0;
	if (strncmp(v->id, "s-", 2) != 0)
		die("no session began");
	v->socket = mem_printf("%s/run/sandglass/%s.sock", root, v->id);
	CLEANUP(free_ptr) char *pattern = mem_printf("ls %s/*-%s.glass", sessions, v->id + 2);
	char *find[] = { (char[]){ "sh" }, (char[]){ "-c" }, pattern, NULL };
	CLEANUP(free_ptr) char *file = run_piped(find);
	file[strcspn(file, "\n")] = 0;
	if (session_open(&v->s, file, &err) < 0 || feed_new(&v->feed, v->s, FEED_ALL, 0, &err) < 0)
		die(err.text);
}

/* The next event, or false after @patience_ms without one. */
static bool next(struct live *v, struct event *ev, int patience_ms)
{
	struct err err;
	for (int waited = 0;; waited += 3) {
		arena_reset(&v->arena);
		int rc = feed_next(v->feed, ev, &v->arena, 0, &err);
		if (rc < 0)
			die(err.text);
		if (rc > 0)
			return true;
		if (waited >= patience_ms)
			return false;
		usleep(3000);
	}
}

/* --- 16: steps ---------------------------------------------------------------------------------------------------- */

/* Kinds of command take turns, a note tells one block from the other; the first of a block has no step before it. */
static const char steps_lua[] =
	"local sg = require 'sandglass'\n"
	"local box <close> = sg.sandbox { repo = '%s', name = 'bench' }\n"
	"for n = 1, 1000000 do\n"
	"  sg.sleep(0.25)\n"
	"  sg.note('block')\n"
	"  for i = 1, %d do box:exec('echo hi') end\n"
	"  for i = 1, %d do box:exec('echo hi; echo ' .. n * 100 + i .. ' > d07/s0/f7') end\n"
	"end\n";

struct meter {
	struct series *none, *one, *whole, *wait;
	uint64_t action;
	int64_t requested_us;
	bool changing, before; /* of the action under way; an action of the same kind went directly before */
	int snapshots;
};

static void meet(struct meter *m, const struct event *ev)
{
	struct err err;
	if (ev->kind == EV_ACTION_REQUESTED) {
		json_t *o = json_parse(ev->body, ev->len, "event", &err);
		bool exec = o && strcmp(json_str(o, "kind", ""), "exec") == 0;
		bool changing = exec && strstr(json_str(o, "cmd", ""), " > ");
		json_decref(o);
		if (!exec)
			return;
		if (m->before && m->changing == changing)
			add(changing ? m->one : m->none, (double)(ev->mono_us - m->requested_us));
		m->before = true;
		m->changing = changing;
		m->action = ev->seq;
		m->requested_us = ev->mono_us;
	} else if (ev->kind == EV_ACTION_STARTED && ev->action == m->action && !m->changing) {
		add(m->wait, (double)(ev->mono_us - m->requested_us));
	} else if (ev->kind == EV_ACTION_ENDED && ev->action == m->action && !m->changing) {
		add(m->whole, (double)(ev->mono_us - m->requested_us));
	} else if (ev->kind == EV_NOTE) { /* a block begins */
		m->before = false;
	} else if (ev->kind == EV_SNAPSHOT_TAKEN) {
		m->snapshots++;
	}
}

static void clear(struct meter *m)
{
	m->none->nr = m->one->nr = m->whole->nr = m->wait->nr = 0;
}

/* Blocks until @steps of them are measured; steps before the base was hashed do not count. */
static void bench_steps(int steps, int files)
{
	CLEANUP(free_ptr) char *repo = own_dir("repo", 0755);
	CLEANUP(free_ptr) char *text = mem_printf(steps_lua, repo, BLOCK + 1, BLOCK + 1);
	struct meter m = { .none = &step_none, .one = &step_one, .whole = &exec_none, .wait = &wait_none };
	struct live v;
	struct event ev;
	bool hashed = false, quiet = false;
	make_tree(repo, files);
	put_file(root, "steps.lua", text);
	start(&v, "steps.lua");
	double begin = now_us();
	while (step_one.nr < steps || pairs.gate.nr < BENCH_PAIRS_MIN) {
		if (!next(&v, &ev, 60)) {
			if (now_us() - begin > 240e6)
				die("the steps do not come");
			m.before = false;
			if (hashed && !quiet)
				block_ends(); /* once in a pause */
			quiet = true;
			continue;
		}
		quiet = false;
		meet(&m, &ev);
		if (!hashed && ev.kind == EV_BASE_HASHED) {
			hashed = true;
			printf("the base of %d files is hashed after %.1f s\n", files, (now_us() - begin) / 1e6);
			clear(&m);
			block_begins();
			m.before = false;
			m.action = 0;
			m.snapshots = 0;
		}
	}
	stop(&v);
	if (m.snapshots < steps)
		die("changes without their snapshots");
	line(&spawn_true);
	line(&spawn_echo);
	line(&spawn_change);
	line(&syncs);
	line(&exec_none);
	line(&wait_none);
	line(&step_none);
	line(&step_one);
	printf("%d pairs of a block of steps and its floors; ratios at 10 %% and 90 %%: %.2f %.2f and %.2f %.2f\n",
	       pairs.gate.nr, at(&pairs.gate, 10), at(&pairs.gate, 90), at(&pairs.whole, 10), at(&pairs.whole, 90));
	judge_if(measurable(&pairs.gate), "gate and recorder: (exec - fdatasync) / spawn+pipes", at(&pairs.gate, 50), 1.3, " x");
	judge_if(measurable(&pairs.whole), "a step with 1 file: (step - fdatasync) / spawn", at(&pairs.whole, 50), 3.5, " x");
	judge("a step with 1 file / a remote round trip of 40 ms", at(&step_one, 50) / REMOTE_US, 0.1, "");
}

/* --- agents ------------------------------------------------------------------------------------------------------- */

static const char agents_lua[] =
	"local sg = require 'sandglass'\n"
	"local waiting = 0\n"
	"local function forever() waiting = waiting + 1 sg.sleep(3600) return 'waited' end\n"
	"local wait = sg.tool { name = 'wait', about = 'waits', run = forever }\n"
	"local box <close> = sg.sandbox { name = 'bench' }\n"
	"local function blocks()\n"
	"  for n = 1, 8 do\n"
	"    sg.sleep(0.1)\n"
	"    sg.note('block')\n"
	"    for i = 1, %d do box:exec('echo hi') end\n"
	"  end\n"
	"end\n"
	"blocks()\n"
	"sg.sleep(2)\n" /* both are measured at rest */
	"sg.mark('alone')\n"
	"sg.sleep(1)\n"
	"local all = %d\n"
	"for i = 1, all do\n"
	"  sg.spawn(function()\n"
	"    sg.agent.run { task = 'wait', model = 'scripted:turns.lua', tools = { wait }, name = 'a' .. i }\n"
	"  end)\n"
	"end\n"
	"while waiting < all do sg.sleep(0.1) end\n"
	"sg.sleep(2)\n"
	"sg.mark('crowd')\n"
	"blocks()\n"
	"sg.mark('end')\n"
	"sg.sleep(3600)\n";

static long status_of(int pid, const char *field)
{
	char path[64], row[256];
	long value = -1;
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	FILE *f = fopen(path, "re");
	while (f && value < 0 && fgets(row, sizeof(row), f))
		if (strncmp(row, field, strlen(field)) == 0)
			value = strtol(row + strlen(field), NULL, 10);
	if (f)
		fclose(f);
	return value;
}

/* The supervisor is who listens on the session's socket. */
static int supervisor_of(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);
	CLEANUP(fd_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		die("nobody listens for the session");
	return peer.pid;
}

/* Resident KB of the supervisor and all that it has started. */
static long resident(int pid)
{
	char path[64];
	long kb = status_of(pid, "VmRSS:");
	kb = kb < 0 ? 0 : kb;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	FILE *f = fopen(path, "re");
	for (int child; f && fscanf(f, "%d", &child) == 1;)
		kb += resident(child);
	if (f)
		fclose(f);
	return kb;
}

static void until_mark(struct live *v, struct meter *m, const char *label)
{
	struct event ev;
	while (next(v, &ev, 60000)) {
		meet(m, &ev);
		if (ev.kind == EV_NOTE && strstr(ev.body, label))
			return;
		if (ev.kind == EV_HOST_END)
			break;
	}
	die("the script with many agents did not get there");
}

static void bench_agents(int agents)
{
	CLEANUP(free_ptr) char *text = mem_printf(agents_lua, BLOCK + 1, agents);
	struct series alone = { 0 }, other = { 0 };
	struct meter m = { .none = &alone, .one = &other, .whole = &other, .wait = &other };
	struct live v;
	put_file(root, "turns.lua", "return { { say = 'I wait.', call = { 'wait', {} } }, { say = 'done' } }\n");
	put_file(root, "agents.lua", text);
	start(&v, "agents.lua");
	until_mark(&v, &m, "alone");
	int pid = supervisor_of(v.socket);
	long before = resident(pid);
	m = (struct meter){ .none = &crowd, .one = &other, .whole = &other, .wait = &other };
	until_mark(&v, &m, "crowd");
	long after = resident(pid);
	until_mark(&v, &m, "end");
	stop(&v);
	double each = (double)(after - before) / agents;
	printf("%d waiting agents in one session: supervisor, host and box %ld KB, before %ld KB\n", agents, after, before);
	line(&crowd);
	judge("an agent in a session (supervisor and host)", each, 32, " KB");
	judge("a step beside them / alone", at(&crowd, 50) / at(&alone, 50), 2, " x");
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 200, files = argc > 2 ? atoi(argv[2]) : 100000,
	    agents = argc > 3 ? atoi(argv[3]) : 1000;
	char self[4096];
	struct err err;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	self[n > 0 ? n : 0] = 0;
	for (int i = 0; i < 3 && strrchr(self, '/'); i++)
		*strrchr(self, '/') = 0;
	program = path_join(self, "sandglass");
	if (steps < 1 || steps > MAX || files < 1000 || agents < 1 || access(program, X_OK) < 0) {
		fprintf(stderr, "usage: bench_step [steps] [files] [agents], beside a built sandglass\n");
		return 2;
	}
	scratch_name(root, sizeof(root));
	if (!mkdtemp(root) || chmod(root, 0755) < 0)
		return 1;
	CLEANUP(free_ptr) char *home = own_dir("home", 0755);
	CLEANUP(free_ptr) char *run = own_dir("run", 0700);
	sessions = own_dir("sessions", 0700);
	setenv("HOME", home, 1);
	setenv("XDG_RUNTIME_DIR", run, 1);
	for (size_t i = 0; i < 4; i++)
		unsetenv((const char *[]){ "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME" }[i]);
	bench_steps(steps, files);
	bench_agents(agents);
	if (dir_remove(root, &err) < 0)
		fprintf(stderr, "bench_step: %s\n", err.text);
	free(program);
	free(sessions);
	return 0;
}
