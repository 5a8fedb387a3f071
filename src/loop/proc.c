#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "loop/loop.h"

enum { PROC_FDS_MAX = 16 };

/* --- descriptors ------------------------------------------------------------------------------ */

static struct rlimit proc_descriptors; /* as they were; 0: never raised */

void proc_raise_descriptors(void)
{
	struct rlimit now;
	if (getrlimit(RLIMIT_NOFILE, &now) < 0 || now.rlim_cur == now.rlim_max)
		return;
	const struct rlimit most = { now.rlim_max, now.rlim_max };
	if (setrlimit(RLIMIT_NOFILE, &most) == 0 && !proc_descriptors.rlim_cur)
		proc_descriptors = now;
}

/* --- children --------------------------------------------------------------------------------- */

struct spawning {
	const char *path;
	char *const *argv, *const *envp;
	const int *fds; /* above those that they become; -1: /dev/null */
	size_t nr_fds;
	int error;
};

/* Between vfork and exec: the child has our memory, but its own descriptors, limits, and signals. It
 * may call only async-signal-safe functions and change only @s. */
static void spawn_exec(struct spawning *s)
{
	const struct sigaction by_default = { .sa_handler = SIG_DFL };
	sigset_t none;
	for (int sig = 1; sig < NSIG; sig++)
		sigaction(sig, &by_default, NULL);
	for (size_t i = 0; i < s->nr_fds; i++) {
		int null = s->fds[i] < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;
		int from = s->fds[i] < 0 ? null : s->fds[i];
		if (from < 0 || (from == (int)i ? fcntl(from, F_SETFD, 0) : dup2(from, (int)i)) < 0)
			return;
	}
	if (proc_descriptors.rlim_cur && setrlimit(RLIMIT_NOFILE, &proc_descriptors) < 0)
		return;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execve(s->path, s->argv, s->envp);
}

/* Not posix_spawn, which can't set a limit. */
__attribute__((noinline)) static pid_t spawn_child(struct spawning *s)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid_t pid = vfork();
	if (pid == 0) {
		spawn_exec(s);
		s->error = errno;
		_exit(127);
	}
	if (pid < 0)
		s->error = errno;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	while (pid > 0 && s->error && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return s->error ? -1 : pid;
}

int proc_spawn(const char *path, char *const argv[], char *const envp[], const int *fds,
	       size_t nr_fds, int *pid_out, int *pidfd_out, struct err *err)
{
	assert(nr_fds <= PROC_FDS_MAX);
	int safe[PROC_FDS_MAX];
	struct spawning s = {
		.path = path, .argv = argv, .envp = envp, .fds = safe, .nr_fds = nr_fds
	};
	/* a source below nr_fds could be overwritten before it is used: work with copies that lie
	 * above */
	for (size_t i = 0; i < nr_fds; i++) {
		safe[i] = fds[i] < 0 ? -1 : fcntl(fds[i], F_DUPFD_CLOEXEC, PROC_FDS_MAX + 8);
		if (fds[i] < 0 || safe[i] >= 0)
			continue;
		err_sys(err, "can't start '%s': no descriptor for it", path);
		while (i--)
			fd_close(&safe[i]);
		return -1;
	}
	pid_t pid = spawn_child(&s);
	for (size_t i = 0; i < nr_fds; i++)
		fd_close(&safe[i]);
	if (pid < 0) {
		errno = s.error;
		return err_sys(err, "can't start '%s'", path);
	}
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0) {
		err_sys(err, "can't watch process %d", (int)pid);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return -1;
	}
	*pid_out = (int)pid;
	*pidfd_out = pidfd;
	return 0;
}

int proc_reap(int pidfd, int *status_out, struct err *err)
{
	siginfo_t si = { 0 };
	while (waitid(P_PIDFD, (id_t)pidfd, &si, WEXITED) < 0)
		if (errno != EINTR)
			return err_sys(err, "can't wait for a process");
	*status_out = si.si_code == CLD_EXITED ? si.si_status : 256 + si.si_status;
	return 0;
}
