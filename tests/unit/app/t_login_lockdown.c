/* The process that reads logins: what its filter lets through, and what ends it. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "login/login_lockdown.h"
#include "tap.h"

enum deed { READS, ANSWERS, STARTS, CONNECTS, WRITES };

static void do_deed(enum deed d)
{
	char *none[] = { NULL };
	char c = 'x';
	if (d == READS)
		_exit(open("/proc/self/status", O_RDONLY) >= 0 && flock(LOGIN_LOCK_FD, LOCK_EX) == 0
			      ? 0
			      : 1);
	if (d == ANSWERS)
		_exit(write(LOGIN_OUT_FD, &c, 1) == 1 ? 0 : 1);
	if (d == STARTS)
		execve("/bin/true", none, none);
	else if (d == CONNECTS)
		socket(AF_INET, SOCK_STREAM, 0);
	else
		open("/tmp", O_TMPFILE | O_RDWR, 0600);
	_exit(0);
}

/* Its exit status, or 256 and its signal. */
static int confined_end(enum deed d)
{
	int pair[2], status = 0;
	struct err err = ERR_INIT;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		int lock = open("/dev/null", O_RDWR);
		int out = fcntl(pair[1], F_DUPFD, LOGIN_LAST_FD + 1);
		if (dup2(lock, LOGIN_LOCK_FD) < 0 || dup2(out, LOGIN_OUT_FD) < 0 ||
		    dup2(out, LOGIN_HELPER_FD) < 0 || login_lockdown_enter(&err) < 0)
			_exit(9);
		do_deed(d);
	}
	close(pair[1]);
	if (waitpid(pid, &status, 0) != pid)
		status = -1;
	close(pair[0]);
	return WIFSIGNALED(status) ? 256 + WTERMSIG(status) : WEXITSTATUS(status);
}

int main(void)
{
	is_int(confined_end(READS), 0, "it reads a file and waits for its lock");
	is_int(confined_end(ANSWERS), 0, "it writes its answer");
	is_int(confined_end(STARTS), 256 + SIGSYS, "starting a program ends it");
	is_int(confined_end(CONNECTS), 256 + SIGSYS, "so does a connection");
	is_int(confined_end(WRITES), 256 + SIGSYS, "and a file opened for writing");
	return done_testing();
}
