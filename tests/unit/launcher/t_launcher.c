/* The launcher's parts: who boxes run as, what a child becomes, cgroups. */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "launcher/inner.h"
#include "tap.h"

static void who(void)
{
	struct who w;
	struct err err = ERR_INIT;
	is_int(who_find(0, &w, &err), 0, "somebody to run as");
	ok(w.uid != 0 && w.gid != 0, "who is not root");
	if (geteuid() != 0) {
		ok(!w.root && w.uid == getuid() && w.spare == 0, "an ordinary user is himself");
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
	CLEANUP(free_ptr) char *copy = xstrdup(command);
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
	int rc = child_start(&child, &pid, &pidfd, err);
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
	int leak = open("/etc/passwd", O_RDONLY); /* not CLOEXEC: somebody's mistake */
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
		is_int(child_start(&c, &pid, &pidfd, &err), -1, "nothing is started as root");
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
	struct cgroup *c = cgroup_new(cs, 7, &l, &err);
	ok(c != NULL, "a cgroup (%s) %s", cgroups_kind(cs), err.text);
	int doors[CGROUP_FDS_MAX];
	size_t nr = cgroup_doors(c, doors);
	pid_t pid = fork();
	if (pid == 0) {
		for (size_t i = 0; i < nr; i++)
			if (write(doors[i], "0", 1) != 1)
				_exit(1);
		for (;;)
			pause();
	}
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

int main(void)
{
	who();
	child();
	cgroups();
	return done_testing();
}
