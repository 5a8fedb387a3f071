/* After lockdown: memory, the socket and exit. Each try runs in a child of its own. */
#include "script/lockdown.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "tap.h"
#include "wire/host.h"

static int try_open(void)
{
	return open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0 ? 1 : 2;
}

static int try_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0 ? 1 : 2;
}

static int try_fork(void)
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	return pid > 0 ? 1 : 2;
}

static int try_exec(void)
{
	execl("/bin/true", "true", (char *)NULL);
	return 2;
}

static int try_kill(void)
{
	return kill(getppid(), 0) == 0 ? 1 : 2;
}

static int try_ptrace(void)
{
	return ptrace(PTRACE_ATTACH, getppid(), NULL, NULL) == 0 ? 1 : 2;
}

static int try_exec_memory(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED
		       ? 1
		       : 2;
}

static int try_stderr(void)
{
	return write(2, "x", 1) == 1 ? 1 : 0;
}

static int try_spin(void)
{
	volatile bool on = true;
	lockdown_turn(1);
	while (on)
		;
	return 1;
}

static int try_turns(void)
{
	lockdown_turn(1);
	lockdown_turn(0);
	return 0;
}

static int try_memory(void)
{
	char *p = mem_alloc(8 << 20);
	memset(p, 1, 8 << 20);
	p = mem_realloc(p, 16 << 20);
	free(p);
	return 0;
}

static int try_socket_io(void)
{
	char c = 0;
	return write(HOST_FD, "x", 1) == 1 && read(HOST_FD, &c, 1) == 1 && c == 'y' ? 0 : 1;
}

/* Exit status of the child, or -signal. */
static int in_child(int (*fn)(void))
{
	int pair[2], status = 0;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return -1;
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		struct err err = ERR_INIT;
		close(pair[0]);
		if (pair[1] != HOST_FD && dup2(pair[1], HOST_FD) < 0)
			_exit(90);
		if (lockdown_enter((size_t)1 << 30, &err) < 0)
			_exit(91);
		_exit(fn());
	}
	close(pair[1]);
	if (write(pair[0], "y", 1) != 1)
		perror("write");
	waitpid(pid, &status, 0);
	close(pair[0]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int main(void)
{
	static const struct {
		const char *name;
		int (*fn)(void);
		int want;
	} cases[] = {
		{ "opening a file kills", try_open, -SIGSYS },
		{ "a socket kills", try_socket, -SIGSYS },
		{ "fork kills", try_fork, -SIGSYS },
		{ "exec kills", try_exec, -SIGSYS },
		{ "kill kills", try_kill, -SIGSYS },
		{ "ptrace kills", try_ptrace, -SIGSYS },
		{ "a turn that uses up its processor time is killed", try_spin, -SIGVTALRM },
		{ "one that ends in time is not", try_turns, 0 },
		{ "memory works", try_memory, 0 },
		{ "the socket works", try_socket_io, 0 },
#ifndef __SANITIZE_ADDRESS__
		{ "memory that can be executed kills", try_exec_memory, -SIGSYS },
		{ "stderr is not there", try_stderr, 0 },
#endif
	};
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		is_int(in_child(cases[i].fn), cases[i].want, cases[i].name);
	(void)try_exec_memory;
	(void)try_stderr;
	return done_testing();
}
