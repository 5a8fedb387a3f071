/* Between clone and exec: a task that shares the guest's memory and turns itself into the command.
 * It writes nothing but its own stack and slot, calls no libc function that has a state, and takes
 * every system call from sys.h. */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <linux/futex.h>

#include "guest/guest_priv.h"
#include "guest/sys.h"

static _Noreturn void guest_child_fail(const struct inner_child *c, unsigned step, long sys)
{
	c->slot->sys = (uint32_t)-sys;
	__atomic_store_n(&c->slot->step, step, __ATOMIC_RELEASE);
	for (;;)
		sys1(SYS_exit_group,
		     step == GS_EXEC && (sys == -ENOENT || sys == -ENOTDIR) ? 127 : 126);
}

static void wait_for_go(struct inner_slot *s)
{
	while (!__atomic_load_n(&s->go, __ATOMIC_ACQUIRE))
		sys4(SYS_futex, &s->go, FUTEX_WAIT, 0, NULL);
}

static long take_streams(const struct inner_child *c)
{
	for (int i = 0; i < 3; i++) {
		int from = c->tty >= 0 ? c->tty : c->fd[i] >= 0 ? c->fd[i] : c->null_fd;
		long rc = sys3(SYS_dup3, from, i, 0); /* ours are all above 2 */
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Resets signals that the guest handles or ignores; nothing is blocked. */
static void reset_signals(void)
{
	struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} act = { .handler = SIG_DFL };
	uint64_t none = 0;
	sys4(SYS_rt_sigaction, SIGPIPE, &act, NULL, sizeof none);
	sys4(SYS_rt_sigaction, SIGCHLD, &act, NULL, sizeof none);
	sys4(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof none);
}

/* A box that has had a /workspace is not left for / when that is gone or shut. */
static long enter_dir(const char *cwd, bool no_workspace)
{
	long rc = 0;
	if (cwd[0] != '/') {
		rc = sys1(SYS_chdir, "/workspace");
		if (rc < 0 && !cwd[0] && no_workspace)
			rc = sys1(SYS_chdir, "/");
	}
	return rc == 0 && cwd[0] ? sys1(SYS_chdir, cwd) : rc;
}

static long enter_dir_itself(const char *cwd)
{
	long fd = sys4(SYS_openat, AT_FDCWD, cwd, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	return fd < 0 ? fd : sys1(SYS_fchdir, fd);
}

static const char *search_path(char *const *env)
{
	for (; *env; env++)
		if (strncmp(*env, "PATH=", 5) == 0)
			return *env + 5;
	return "/usr/local/bin:/usr/bin:/bin";
}

/* execvp, except that it never passes a file without an executable format to a shell. Returns on
 * failure only. */
static long exec_command(const char *const *argv, char *const *env)
{
	UNSET char path[PATH_MAX];
	long worst = -ENOENT;
	if (strchr(argv[0], '/'))
		return sys3(SYS_execve, argv[0], argv, env);
	size_t name = strlen(argv[0]);
	for (const char *dir = search_path(env), *end; *dir; dir = *end ? end + 1 : end) {
		end = strchrnul(dir, ':');
		size_t len = (size_t)(end - dir);
		if (len == 0 || name == 0 || len + 1 + name >= sizeof path)
			continue; /* an empty entry would mean the working directory */
		memcpy(path, dir, len);
		path[len] = '/';
		memcpy(path + len + 1, argv[0], name + 1);
		long rc = sys3(SYS_execve, path, argv, env);
		if (rc != -ENOENT && rc != -ENOTDIR)
			worst = rc;
	}
	return worst;
}

int inner_child_main(void *self)
{
	const struct inner_child *c = self;
	long rc;
	unsigned step;
	if (c->die_with_guest && (rc = sys2(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL)) < 0)
		guest_child_fail(c, GS_SESSION, rc);
	if ((rc = sys0(SYS_setsid)) < 0 ||
	    (c->tty >= 0 && (rc = sys3(SYS_ioctl, c->tty, TIOCSCTTY, 0)) < 0))
		guest_child_fail(c, GS_SESSION, rc);
	if ((rc = take_streams(c)) < 0)
		guest_child_fail(c, GS_STDIO, rc);
	reset_signals();
	if ((rc = inner_rules_enter(&c->rules, &step)) < 0)
		guest_child_fail(c, step, rc);
	if ((rc = c->cwd_no_link ? enter_dir_itself(c->body.cwd)
				 : enter_dir(c->body.cwd, c->no_workspace)) < 0)
		guest_child_fail(c, GS_CWD, rc);
	if (c->offline && (rc = inner_offline()) < 0)
		guest_child_fail(c, GS_OFFLINE, rc);
	if (c->trace >= 0 && (rc = inner_trace(c->trace)) < 0 && c->trace_must)
		guest_child_fail(c, GS_TRACE, rc);
	/* its copy of another run's pipe would keep that from its end for as long as this one
	 * waits */
	sys3(SYS_close_range, 3, UINT_MAX, 0);
	wait_for_go(c->slot);
	if (c->job && (rc = inner_job_fork(c->slot)) < 0)
		guest_child_fail(c, GS_FORK, rc);
	guest_child_fail(c, GS_EXEC, exec_command(c->body.argv, c->env));
}
