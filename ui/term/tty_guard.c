#include "ui/term/tty_guard.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

static pid_t tty_guard_child = -1;

enum { FULL_MS = 500, FULL_ROUNDS = 1200 };

static bool tty_guard_reset(int tty, const char *reset, size_t len, const struct termios *before)
{
	ssize_t n = write(tty, reset, len);
	bool full = n < 0 ? errno == EAGAIN : (size_t)n < len;
	if (before)
		tcsetattr(tty, TCSANOW, before);
	return !full;
}

bool tty_guard_restore(int tty, const struct termios *before)
{
	/* synchronized update, mouse, focus, paste, title, colors, cursor, scroll region, keypad,
	 * screen */
	static const char reset[] =
		"\x1b[?2026l\x1b[?1006l\x1b[?1002l\x1b[?1004l\x1b[?2004l\x1b[23;2t\x1b[0m\x1b[?25h"
		"\x1b[r\x1b[?1l\x1b>\x1b[?1049l\r\n";
	return tty_guard_reset(tty, reset, sizeof(reset) - 1, before);
}

/* Leaving a screen that was not entered goes to where the cursor was kept last: so it is kept just
 * before. */
bool tty_guard_restore_lent(int tty, const struct termios *before)
{
	static const char reset[] =
		"\x18\x1b[?2026l\x1b[?9l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?1016l"
		"\x1b[?2004l\x1b[?2027l\x1b[?2031l\x1b[?2048l\x1b[<8u\x1b[>4m\x1b[0m\x1b(B\x0f\x1b[0 q\x1b[?7h\x1b[?25h"
		"\x1b"
		"7\x1b[r\x1b"
		"8\x1b[?1l\x1b>\x1b"
		"7\x1b[?1049l\x1b[<8u\r\n";
	return tty_guard_reset(tty, reset, sizeof(reset) - 1, before);
}

/* A terminal that is full when its client dies takes the reset once it is read again. */
static void tty_guard_patiently(bool (*restore)(int, const struct termios *), int tty,
				const struct termios *before)
{
	struct pollfd p = { .fd = tty, .events = POLLOUT };
	for (int i = 0; i < FULL_ROUNDS && !restore(tty, before); i++)
		poll(&p, 1, FULL_MS);
}

static void tty_guard_watch(int pipe, int tty, const struct termios *before)
{
	static const int ignored[] = { SIGHUP, SIGINT, SIGTERM, SIGTTOU, SIGPIPE, SIGTSTP };
	char what, last = GUARD_GONE;
	ssize_t n;
	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		signal(ignored[i], SIG_IGN);
	setsid();
	while ((n = read(pipe, &what, 1)) != 0) {
		if (n < 0 && errno != EINTR)
			break;
		if (n == 1)
			last = what;
	}
	if (last == GUARD_TAKEN)
		tty_guard_patiently(tty_guard_restore, tty, before);
	else if (last == GUARD_LENT)
		tty_guard_patiently(tty_guard_restore_lent, tty, before);
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
	tty_guard_child = fork();
	if (tty_guard_child == 0) {
		keep_two(p[0], tty);
		tty_guard_watch(p[0], tty, before);
	}
	close(p[0]);
	if (tty_guard_child < 0)
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
	while (tty_guard_child > 0 && waitpid(tty_guard_child, NULL, 0) < 0 && errno == EINTR)
		;
	tty_guard_child = -1;
}
