#include "terminal/operator_tty.h"

#include <fcntl.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include "base/compat.h"
#include "base/fd.h"
#include "ui/term/tty_guard.h"

static const int operator_tty_deadly[] = { SIGTERM, SIGHUP, SIGQUIT, SIGINT };

static struct {
	int fd, guard;
	struct termios before;
	struct sigaction old[ARRAY_LEN(operator_tty_deadly)];
} operator_tty = { .fd = -1, .guard = -1 };

/* Here and not after the loop: that may wait in a write for a terminal that takes nothing. */
static void operator_tty_killed(int sig)
{
	sigset_t s;
	signal(SIGTTOU, SIG_IGN);
	if (tty_guard_restore_lent(operator_tty.fd, &operator_tty.before))
		guard_say(operator_tty.guard, GUARD_GONE); /* else the guard does it */
	signal(sig, SIG_DFL);
	sigemptyset(&s);
	sigaddset(&s, sig);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &s, NULL);
}

static void operator_tty_set_handlers(void)
{
	for (size_t i = 0; i < ARRAY_LEN(operator_tty_deadly); i++) {
		sigaction(operator_tty_deadly[i], NULL, &operator_tty.old[i]);
		if (operator_tty.old[i].sa_handler != SIG_IGN) /* nohup stays nohup */
			sigaction(operator_tty_deadly[i],
				  &(struct sigaction){ .sa_handler = operator_tty_killed }, NULL);
	}
}

/* Written to while it takes nothing, it would keep us from ending. */
static int operator_tty_open_own(void)
{
	const char *name = ttyname(0);
	int fd = name ? open(name, O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK) : -1;
	return fd >= 3 ? fd : fcntl(0, F_DUPFD_CLOEXEC, 3);
}

bool operator_tty_take(void)
{
	struct termios raw;
	if (tcgetattr(0, &operator_tty.before) < 0)
		return false;
	operator_tty.fd = operator_tty_open_own();
	operator_tty.guard = guard_start(operator_tty.fd, &operator_tty.before);
	operator_tty_set_handlers();
	guard_say(operator_tty.guard, GUARD_LENT);
	raw = operator_tty.before;
	cfmakeraw(&raw);
	tcsetattr(0, TCSADRAIN, &raw);
	return true;
}

void operator_tty_give_back(bool cut)
{
	if (cut)
		tty_guard_restore_lent(operator_tty.fd, NULL);
	tcsetattr(0, TCSADRAIN, &operator_tty.before);
	guard_say(operator_tty.guard, GUARD_GONE);
	guard_end(&operator_tty.guard);
	for (size_t i = 0; i < ARRAY_LEN(operator_tty_deadly); i++)
		sigaction(operator_tty_deadly[i], &operator_tty.old[i], NULL);
	fd_close(&operator_tty.fd);
}
