/* A watched command does not get by the watch with calls of another ABI of the machine. */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/guest_priv.h"
#include "tap.h"

#if defined(__x86_64__)
static long other_call(void) /* getpid of 32 bits */
{
	long out;
	__asm__ volatile("int $0x80" : "=a"(out) : "0"(20L) : "memory", "r8", "r9", "r10", "r11");
	return out;
}

static void x32(void)
{
	errno = 0;
	_exit(syscall(0x40000000 | SYS_getppid) == -1 && errno == ENOSYS && getppid() > 0 ? 0 : 1);
}

static void machine32(void)
{
	_exit(other_call() > 0 ? 0 : 2);
}

/* The status of a watched process that does @what; -1: it cannot be watched here. */
static int watched(void (*what)(void))
{
	int sock[2], status = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) < 0)
		return -1;
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || inner_trace(sock[1]) < 0)
			_exit(77);
		what();
	}
	waitpid(pid, &status, 0);
	close(sock[0]);
	close(sock[1]);
	return WIFEXITED(status) && WEXITSTATUS(status) == 77 ? -1 : status;
}

int main(void)
{
	int status = watched(x32);
	if (status < 0) {
		skip(2, "no system call can be watched here");
		return done_testing();
	}
	is_int(status, 0, "x32 is not there, the machine's own calls are");
	status = watched(machine32);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "32 bits: killed (%x)", (unsigned)status);
	return done_testing();
}
#else
int main(void)
{
	skip(1, "no other ABI is known of this machine");
	return done_testing();
}
#endif
