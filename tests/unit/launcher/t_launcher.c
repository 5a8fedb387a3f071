/* The launcher's parts: who boxes run as, what a child becomes, cgroups. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "launcher/launcher_priv.h"
#include "tap.h"
#include "wire/groups.h"

static void who(void)
{
	struct who w;
	struct err err = ERR_INIT;
	is_int(who_find(0, &w, &err), 0, "a user to run as");
	ok(w.uid != 0 && w.gid != 0, "that is not root");
	if (geteuid() != 0) {
		ok(!w.root && w.uid == getuid() && w.spare == 0, "an ordinary user keeps the uid");
		skip(2, "only root chooses");
		return;
	}
	ok(w.root && w.spare >= WHO_FIRST_UID, "root has spare ones for boxes without namespaces");
	ok(w.uid < w.spare || w.uid >= w.spare + WHO_SPARE, "apart from the usual one");
	is_int(who_find(1234, &w, &err) == 0 ? (int)w.uid : -1, 1234, "a configured uid is taken");
}

/* Runs a shell as a child of the launcher and returns what it wrote. */
static char *sh(const char *command, bool confine, struct err *err)
{
	struct who w;
	int ends[2], pidfd = -1;
	pid_t pid;
	struct buf out = BUF_INIT;
	CLEANUP(free_ptr) char *copy = mem_strdup(command);
	char name[] = "sh", c[] = "-c", path[] = "PATH=/usr/bin:/bin", *argv[] = { name, c, copy, NULL },
	     *env[] = { path, NULL };
	CLEANUP(fd_close) int exe = open("/bin/sh", O_PATH | O_CLOEXEC);
	if (who_find(0, &w, err) < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return NULL;
	int fds[] = { -1, ends[1], ends[1] };
	struct child child = { .exe = exe,
			       .argv = argv,
			       .env = env,
			       .fds = fds,
			       .nr_fds = 3,
			       .drop = w.root,
			       .uid = w.uid,
			       .gid = w.gid,
			       .confine = confine };
	int rc = launcher_child_start(&child, &pid, &pidfd, err);
	close(ends[1]);
	if (rc == 0 && fd_read_all(ends[0], &out, 10000, err) == 0)
		waitpid(pid, NULL, 0);
	close(ends[0]);
	fd_close(&pidfd);
	return rc == 0 ? buf_take(&out) : NULL;
}

static void child(void)
{
	struct err err = ERR_INIT;
	int leak = open("/etc/passwd", O_RDONLY); /* not CLOEXEC: another library's mistake */
	CLEANUP(free_ptr) char *id = sh("id -u; id -G", false, &err);
	ok(id && strncmp(id, "0\n", 2) != 0, "a child is not root");
	ok(id && strchr(id, '\n') && !strstr(strchr(id, '\n'), "\n0"), "nor in root's group");
	CLEANUP(free_ptr) char *fds = sh("ls /proc/self/fd | tr '\\n' ' '", false, &err);
	is_str(fds, "0 1 2 3 ", "it has the descriptors that it was given (3 is ls's own)");
	CLEANUP(free_ptr)
	char *caps = sh("grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status | tr -d '\\t\\n'", true, &err);
	ok(caps && strstr(caps, "CapEff:0000000000000000"), "it has no capability");
	ok(caps && strstr(caps, "NoNewPrivs:1"), "and confined can gain none");
	if (geteuid() == 0) {
		ok(caps && strstr(caps, "CapBnd:0000000000000000"), "the bounding set is empty");
		char name[] = "true", *argv[] = { name, NULL }, *env[] = { NULL };
		CLEANUP(fd_close) int exe = open("/bin/true", O_PATH | O_CLOEXEC);
		struct child c = { .exe = exe, .argv = argv, .env = env };
		pid_t pid;
		int pidfd;
		is_int(launcher_child_start(&c, &pid, &pidfd, &err), -1, "nothing is started as root");
		is_int(err.code, ERR_DENIED, "it is refused");
	} else {
		skip(3, "not root");
	}
	close(leak);
}

static void cgroups(void)
{
	struct err err = ERR_INIT;
	struct cgroups *cs = cgroups_new();
	if (strcmp(cgroups_kind(cs), "none") == 0) {
		ok(*cgroups_why(cs) != 0, "without cgroups it says why");
		cgroups_free(&cs);
		return;
	}
	struct cgroup_limits l = { .mem_bytes = 64 << 20, .pids = 10, .cpu_milli = 500 };
	struct cgroup *c = cgroup_new(cs, &err);
	ok(c != NULL, "a cgroup (%s) %s", cgroups_kind(cs), err.text);
	is_int(cgroup_limit(c, &l, &err), 0, "with limits");
	int doors[CGROUP_FDS_MAX];
	size_t nr = cgroup_doors(c, doors);
	int in[2];
	char inside = 0;
	if (pipe(in) < 0)
		return;
	pid_t pid = fork();
	if (pid == 0) {
		for (size_t i = 0; i < nr; i++)
			if (write(doors[i], "0", 1) != 1)
				_exit(1);
		(void)!write(in[1], "i", 1);
		for (;;)
			pause();
	}
	close(in[1]);
	ok(read(in[0], &inside, 1) == 1, "through all its doors");
	close(in[0]);
	for (size_t i = 0; i < nr; i++)
		fd_close(&doors[i]);
	struct cgroup_stats st = { 0 };
	for (int i = 0; i < 1000 && st.pids != 1; i++) {
		usleep(1000);
		cgroup_stats(c, &st);
	}
	is_int(st.pids, 1, "a process has entered");
	ok(!cgroup_remove(c), "with it inside it cannot be removed");
	if (cgroups_freezer(cs)) {
		is_int(cgroup_freeze(c, true, &err), 0, "it freezes");
	} else {
		skip(1, "no freezer");
	}
	cgroup_kill(c);
	int status = 0;
	waitpid(pid, &status, 0);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "frozen it can be killed");
	bool gone = false;
	for (int i = 0; i < 1000 && !(gone = cgroup_remove(c)); i++)
		usleep(1000);
	ok(gone, "and then removed");
	cgroup_free(&c);
	cgroups_free(&cs);
}

/* Counts the cgroup directories of a launcher, and those marked as live. */
struct seen {
	pid_t pid;
	int nr, held;
};

static void see(void *self, const char *dir, bool held)
{
	struct seen *s = self;
	CLEANUP(free_ptr) char *name = mem_printf("/sandglass-%d", (int)s->pid);
	const char *at = strstr(dir, name);
	if (!at || strcmp(at, name) != 0)
		return;
	s->nr++;
	s->held += held;
}

/* A launcher with a frozen box; it says when that is there, and waits to be killed. */
static NORETURN void play_launcher(int told)
{
	struct err err = ERR_INIT;
	struct cgroups *cs = cgroups_new();
	struct cgroup *c = cgroup_new(cs, &err);
	int doors[CGROUP_FDS_MAX];
	size_t nr = c ? cgroup_doors(c, doors) : 0;
	int ready[2];
	char word;
	if (pipe(ready) < 0)
		_exit(1);
	pid_t inside = fork();
	if (inside == 0) {
		for (size_t i = 0; i < nr; i++)
			if (write(doors[i], "0", 1) != 1)
				_exit(1);
		dup2(ready[1], 3); /* no more: as after executing a program only a launcher holds its directories */
		if (syscall(SYS_close_range, 4U, ~0U, 0U) < 0 || write(3, "r", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &word, 1) != 1)
		_exit(1);
	if (c && cgroups_freezer(cs) && cgroup_freeze(c, true, &err) < 0)
		_exit(1);
	if (write(told, &inside, sizeof(inside)) != sizeof(inside))
		_exit(1);
	for (;;)
		pause();
}

/* The next start removes a killed launcher's cgroups, frozen sandboxes included. Those of a live launcher stay. */
static void swept(void)
{
	struct cgroups *cs = cgroups_new();
	if (strcmp(cgroups_kind(cs), "none") == 0) {
		skip(6, "no cgroup can be written here: %s", cgroups_why(cs));
		cgroups_free(&cs);
		return;
	}
	int told[2], status = 0;
	pid_t inside = 0;
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	is_int(pipe(told), 0, "a pipe");
	pid_t pid = fork();
	if (pid == 0)
		play_launcher(told[1]);
	close(told[1]);
	bool there = read(told[0], &inside, sizeof(inside)) == sizeof(inside);
	ok(there, "a launcher with a box that stands still");
	struct seen before = { .pid = pid }, after = { .pid = pid }, own = { .pid = getpid() };
	cgroups_sweep();
	groups_each(see, &before);
	ok(before.nr > 0 && before.held == before.nr, "while it lives nothing of it goes");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (int i = 0; i < 600 && (i == 0 || after.nr); i++) {
		cgroups_sweep();
		after.nr = 0;
		groups_each(see, &after);
	}
	is_int(after.nr, 0, "once it is killed its cgroups go");
	pid_t ended = 0;
	for (int i = 0; inside > 0 && i < 30000 && ended == 0; i++) {
		ended = waitpid(inside, &status, WNOHANG);
		usleep(1000);
	}
	ok(ended > 0 && WIFSIGNALED(status), "and so do the frozen processes");
	groups_each(see, &own);
	ok(own.nr > 0 && own.held == own.nr, "ours stay");
	close(told[0]);
	cgroups_free(&cs);
}

/* A group without processes is an empty file: a stale number from memory would kill foreign processes. */
static void empty(void)
{
	struct err err = ERR_INIT;
	for (int i = 0; i < 4; i++) {
		CLEANUP(buf_release) struct buf used = BUF_INIT;
		buf_reserve(&used, 65536);
		memset(used.data, '7', used.cap);
	}
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	ok(file_read("/dev/null", &text, 10, &err) == 0 && text.data && text.data[0] == 0, "an empty file is an empty string");
}

static bool is_that(const void *self, pid_t pid)
{
	return *(const pid_t *)self == pid;
}

/* A program that dies while it starts another: nothing else would end that one. */
static void left(void)
{
	int ends[2], status = 0;
	pid_t orphan = 0, known = fork();
	if (known == 0)
		for (;;)
			pause();
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (known < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return;
	pid_t parent = fork();
	if (parent == 0) {
		pid_t pid = fork();
		if (pid == 0)
			for (;;)
				pause();
		_exit(write(ends[1], &pid, sizeof(pid)) != sizeof(pid));
	}
	ok(read(ends[0], &orphan, sizeof(orphan)) == (ssize_t)sizeof(orphan) && waitpid(parent, NULL, 0) == parent,
	   "a program dies and leaves one");
	child_kill_left(is_that, &known);
	ok(waitpid(orphan, &status, 0) == orphan && WIFSIGNALED(status), "which is killed");
	is_int(waitpid(known, NULL, WNOHANG), 0, "the one that is known is not");
	child_kill_left(NULL, NULL);
	ok(waitpid(known, &status, 0) == known && WIFSIGNALED(status), "but at the end");
	prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	who();
	child();
	cgroups();
	swept();
	empty();
	left();
	return done_testing();
}
