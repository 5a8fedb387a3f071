#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "loop/loop.h"

enum { PROC_FDS_MAX = 16 };

int proc_spawn(const char *path, char *const argv[], char *const envp[], const int *fds,
	       size_t nr_fds, int *pid_out, int *pidfd_out, struct err *err)
{
	assert(nr_fds <= PROC_FDS_MAX);
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t at;
	sigset_t none, all;
	int safe[PROC_FDS_MAX];
	pid_t pid;
	/* a source below nr_fds could be overwritten before it is used: work with copies that lie
	 * above */
	for (size_t i = 0; i < nr_fds; i++) {
		safe[i] = fds[i] < 0 ? -1 : fcntl(fds[i], F_DUPFD_CLOEXEC, PROC_FDS_MAX + 8);
		if (fds[i] < 0 || safe[i] >= 0)
			continue;
		err_sys(err, "cannot start '%s': no descriptor for it", path);
		while (i--)
			fd_close(&safe[i]);
		return -1;
	}
	posix_spawn_file_actions_init(&fa);
	for (size_t i = 0; i < nr_fds; i++)
		if (safe[i] < 0)
			posix_spawn_file_actions_addopen(&fa, (int)i, "/dev/null", O_RDWR, 0);
		else
			posix_spawn_file_actions_adddup2(&fa, safe[i], (int)i);
	posix_spawnattr_init(&at);
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(&at, &none);
	posix_spawnattr_setsigdefault(&at, &all);
	posix_spawnattr_setflags(&at, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	int rc = posix_spawn(&pid, path, &fa, &at, argv, envp);
	posix_spawn_file_actions_destroy(&fa);
	posix_spawnattr_destroy(&at);
	for (size_t i = 0; i < nr_fds; i++)
		fd_close(&safe[i]);
	if (rc != 0) {
		errno = rc;
		return err_sys(err, "cannot start '%s'", path);
	}
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0) {
		err_sys(err, "cannot watch process %d", (int)pid);
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
			return err_sys(err, "cannot wait for a process");
	*status_out = si.si_code == CLD_EXITED ? si.si_status : 256 + si.si_status;
	return 0;
}
