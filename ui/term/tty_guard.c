#include "ui/term/tty_guard.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

static pid_t child = -1;

void tty_guard_restore(int tty, const struct termios *before)
{
	/* synchronised update, mouse, focus, paste, title, colours, cursor, scroll region, keypad, screen */
	static const char reset[] = "\x1b[?2026l\x1b[?1006l\x1b[?1002l\x1b[?1004l\x1b[?2004l\x1b[23;2t\x1b[0m\x1b[?25h"
				    "\x1b[r\x1b[?1l\x1b>\x1b[?1049l\r\n";
	ssize_t n = write(tty, reset, sizeof(reset) - 1);
	(void)n;
	if (before)
		tcsetattr(tty, TCSANOW, before);
}

static void watch(int pipe, int tty, const struct termios *before)
{
	static const int ignored[] = { SIGHUP, SIGINT, SIGTERM, SIGTTOU, SIGPIPE, SIGTSTP };
	bool taken = false;
	char what;
	ssize_t n;
	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		signal(ignored[i], SIG_IGN);
	setsid();
	while ((n = read(pipe, &what, 1)) != 0) {
		if (n < 0 && errno != EINTR)
			break;
		if (n == 1)
			taken = what == GUARD_TAKEN;
	}
	if (taken)
		tty_guard_restore(tty, before);
	_exit(0);
}

/* Only what it needs stays open in the guard: a session's sockets must not live on in it. */
static void keep_two(int pipe, int tty)
{
	int low = pipe < tty ? pipe : tty, high = pipe < tty ? tty : pipe;
	close_range(0, (unsigned)low - 1, 0);
	if (high > low + 1)
		close_range((unsigned)low + 1, (unsigned)high - 1, 0);
	close_range((unsigned)high + 1, ~0U, 0);
}

int guard_start(int tty, const struct termios *before)
{
	int p[2];
	if (tty < 3 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p) < 0)
		return -1;
	child = fork();
	if (child == 0) {
		keep_two(p[0], tty);
		watch(p[0], tty, before);
	}
	close(p[0]);
	if (child < 0)
		fd_close(&p[1]);
	return p[1];
}

void guard_say(int guard, char what)
{
	ssize_t n = guard >= 0 ? send(guard, &what, 1, MSG_NOSIGNAL | MSG_DONTWAIT) : 0;
	(void)n;
}

void guard_end(int *guard)
{
	if (*guard < 0)
		return;
	fd_close(guard);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	child = -1;
}
