#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "launcher/launcher_priv.h"

enum { FDS_MAX = 32, FILTERS_MAX = 4, CAP_LAST_TRIED = 63 };

/* The child's message if it fails before it has become the program. */
struct failure {
	int step, sys;
};
enum step { STEP_FDS, STEP_CGROUP, STEP_IDS, STEP_PARENT, STEP_DIR, STEP_FILTER, STEP_EXEC };
static const char *const step_names[] = { "descriptors", "cgroup",  "uid and gid", "parent",
					  "folder",	 "seccomp", "execute" };

static NORETURN void launcher_child_fail(int pipe, enum step step)
{
	struct failure f = { .step = (int)step, .sys = errno };
	if (write(pipe, &f, sizeof(f)) != sizeof(f))
		_exit(126); /* the parent sees the end of the pipe and the exit status */
	_exit(127);
}

/* Copies of all that the child needs, above the numbers that it fills. */
struct high {
	int pipe, exe, fds[FDS_MAX], filters[FILTERS_MAX];
};

static int dup_high(int fd, int pipe)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, 2 * FDS_MAX);
	if (high < 0)
		launcher_child_fail(pipe, STEP_FDS);
	return high;
}

static struct high launcher_child_lift(const struct child *c, int pipe)
{
	struct high h = { .pipe = dup_high(pipe, pipe), .exe = dup_high(c->exe, pipe) };
	for (size_t i = 0; i < c->nr_filters; i++)
		h.filters[i] = dup_high(c->filters[i], pipe);
	for (size_t i = 0; i < c->nr_fds; i++)
		h.fds[i] = dup_high(
			c->fds[i] >= 0 ? c->fds[i] : open("/dev/null", O_RDWR | O_CLOEXEC), pipe);
	return h;
}

/* Puts the descriptors at their numbers; everything else closes at exec. */
static void launcher_child_place(const struct child *c, const struct high *h)
{
	for (size_t i = 0; i < c->nr_fds; i++)
		if (dup2(h->fds[i], (int)i) < 0)
			launcher_child_fail(h->pipe, STEP_FDS);
	if (syscall(SYS_close_range, (unsigned)c->nr_fds, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		launcher_child_fail(h->pipe, STEP_FDS);
}

static void launcher_child_become(const struct child *c, pid_t launcher, int pipe)
{
	if (c->drop) {
		assert(c->uid != 0 && c->gid != 0);
		for (int cap = 0; cap <= CAP_LAST_TRIED; cap++)
			/* EINVAL past the last one that the kernel knows */
			prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
		if (setgroups(0, NULL) < 0 || setresgid(c->gid, c->gid, c->gid) < 0 ||
		    setresuid(c->uid, c->uid, c->uid) < 0)
			launcher_child_fail(pipe, STEP_IDS);
		uid_t r, e, s;
		if (getresuid(&r, &e, &s) < 0 || r != c->uid || e != c->uid || s != c->uid)
			launcher_child_fail(pipe, STEP_IDS);
	}
	/* setresuid clears both */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		launcher_child_fail(pipe, STEP_PARENT);
	if (getppid() != launcher) {
		errno = ESRCH;
		launcher_child_fail(pipe, STEP_PARENT);
	}
}

static void install_filter(int fd, int pipe)
{
	static struct sock_filter insn[BPF_MAXINSNS];
	ssize_t n = pread(fd, insn, sizeof(insn), 0);
	struct sock_fprog prog = {
		.len = (unsigned short)((size_t)(n > 0 ? n : 0) / sizeof(insn[0])), .filter = insn
	};
	if (n <= 0 || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		launcher_child_fail(pipe, STEP_FILTER);
}

static NORETURN void run_child(const struct child *c, pid_t launcher, int pipe)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t none;
	for (int sig = 1; sig < NSIG; sig++)
		sigaction(sig, &dfl, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	umask(022);
	for (size_t i = 0; i < c->nr_doors; i++)
		if (write(c->doors[i], "0", 1) != 1)
			launcher_child_fail(pipe, STEP_CGROUP);
	struct high h = launcher_child_lift(c, pipe);
	launcher_child_become(c, launcher, h.pipe);
	if (chdir(c->dir ? c->dir : "/") < 0)
		launcher_child_fail(h.pipe, STEP_DIR);
	if (c->confine && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		launcher_child_fail(h.pipe, STEP_FILTER);
	launcher_child_place(c, &h);
	for (size_t i = 0; i < c->nr_filters; i++)
		install_filter(h.filters[i], h.pipe);
	syscall(SYS_execveat, h.exe, "", c->argv, c->env, AT_EMPTY_PATH);
	launcher_child_fail(h.pipe, STEP_EXEC);
}

int launcher_child_start(const struct child *c, pid_t *pid_out, int *pidfd_out, struct err *err)
{
	if (c->nr_fds > FDS_MAX || c->nr_filters > FILTERS_MAX)
		return err_set(err, ERR_INVALID, "more than %d descriptors for a program", FDS_MAX);
	if (geteuid() == 0 && (!c->drop || c->uid == 0 || c->gid == 0))
		return err_set(err, ERR_DENIED, "refused to start '%s' as root", c->argv[0]);
	CLEANUP(fd_close) int ours = -1;
	CLEANUP(fd_close) int theirs = -1;
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(err, "can't create a pipe");
	ours = ends[0];
	theirs = ends[1];
	pid_t launcher = getpid(), pid = fork();
	if (pid < 0)
		return err_sys(err, "can't fork");
	if (pid == 0)
		run_child(c, launcher, theirs);
	fd_close(&theirs);
	struct failure f;
	ssize_t n;
	while ((n = read(ours, &f, sizeof(f))) < 0 && errno == EINTR)
		continue;
	if (n == (ssize_t)sizeof(f)) {
		waitpid(pid, NULL, 0);
		errno = f.sys;
		return err_sys(err, "can't start '%s': step '%s'", c->argv[0],
			       f.step >= 0 && (size_t)f.step < ARRAY_LEN(step_names)
				       ? step_names[f.step]
				       : "?");
	}
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0) {
		err_sys(err, "can't watch '%s'", c->argv[0]);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return -1;
	}
	*pid_out = pid;
	*pidfd_out = pidfd;
	return 0;
}

void child_kill_left(bool (*known)(const void *self, pid_t pid), const void *self)
{
	struct err ignored = ERR_INIT;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	if (file_read("/proc/thread-self/children", &text, 65536, &ignored) < 0)
		return;
	for (char *at = text.data, *end; at; at = end) {
		long pid = strtol(at, &end, 10);
		if (end == at)
			return;
		if (!known || !known(self, (pid_t)pid))
			kill((pid_t)pid, SIGKILL);
	}
}

void child_kill_uid(uid_t uid)
{
	if (geteuid() != 0 || uid == 0)
		return;
	pid_t pid = fork();
	if (pid == 0) {
		/* kill(-1) reaches what this uid may signal: exactly its own processes */
		if (setgroups(0, NULL) == 0 && setresgid((gid_t)uid, (gid_t)uid, (gid_t)uid) == 0 &&
		    setresuid(uid, uid, uid) == 0 && getuid() == uid)
			kill(-1, SIGKILL);
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}
