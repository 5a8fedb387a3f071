/* A command that is kept off the network: no socket, and no way to one through another process. */
#include <errno.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/guest_priv.h"
#include "tap.h"

static long a_socket(void)
{
	return syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
}

static long a_ring(void)
{
	return syscall(SYS_io_uring_setup, 1, NULL);
}

static long traced(void)
{
	return syscall(SYS_ptrace, PTRACE_TRACEME, 0, NULL, NULL);
}

static long a_descriptor(void)
{
	return syscall(SYS_pidfd_getfd, -1, 0, 0);
}

static long a_write(void)
{
	return syscall(SYS_process_vm_writev, getpid(), NULL, 0, NULL, 0, 0);
}

static long something_else(void)
{
	return getppid() > 0 ? 0 : -1;
}

enum { NO_FILTER = 255 };

/* The errno of @what, 0 none, in a process that is kept off. */
static int offline(long (*what)(void))
{
	int status = -1;
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || inner_offline() < 0)
			_exit(NO_FILTER);
		_exit(what() < 0 ? errno : 0);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void)
{
	static const struct {
		const char *what;
		long (*call)(void);
		int err;
	} cases[] = {
		{ "a socket", a_socket, ENETUNREACH },
		{ "a ring, which makes sockets", a_ring, ENOSYS },
		{ "to trace", traced, EPERM },
		{ "a descriptor of another process", a_descriptor, EPERM },
		{ "to write into one", a_write, EPERM },
		{ "any other call", something_else, 0 },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int err = offline(cases[i].call);
		if (err == NO_FILTER)
			skip(1, "no filter can be set here");
		else
			is_int(err, cases[i].err, cases[i].what);
	}
	return done_testing();
}
