#include "app/super/person_tty.h"

#include <fcntl.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include "base/compat.h"
#include "base/fd.h"
#include "ui/term/tty_guard.h"

static const int deadly[] = { SIGTERM, SIGHUP, SIGQUIT, SIGINT };

static struct {
	int fd, guard;
	struct termios before;
	struct sigaction old[ARRAY_LEN(deadly)];
} tty = { .fd = -1, .guard = -1 };

/* Here and not after the loop: that may wait in a write for a terminal that takes nothing. */
static void killed(int sig)
{
	sigset_t s;
	guard_say(tty.guard, GUARD_GONE);
	signal(SIGTTOU, SIG_IGN);
	tty_guard_restore_lent(tty.fd, &tty.before);
	signal(sig, SIG_DFL);
	sigemptyset(&s);
	sigaddset(&s, sig);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &s, NULL);
}

static void set_handlers(void)
{
	for (size_t i = 0; i < ARRAY_LEN(deadly); i++) {
		sigaction(deadly[i], NULL, &tty.old[i]);
		if (tty.old[i].sa_handler != SIG_IGN) /* nohup stays nohup */
			sigaction(deadly[i], &(struct sigaction){ .sa_handler = killed }, NULL);
	}
}

/* Written to while it takes nothing, it would keep us from ending. */
static int open_own(void)
{
	const char *name = ttyname(0);
	int fd = name ? open(name, O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK) : -1;
	return fd >= 3 ? fd : fcntl(0, F_DUPFD_CLOEXEC, 3);
}

bool person_tty_take(void)
{
	struct termios raw;
	if (tcgetattr(0, &tty.before) < 0)
		return false;
	tty.fd = open_own();
	tty.guard = guard_start(tty.fd, &tty.before);
	set_handlers();
	guard_say(tty.guard, GUARD_LENT);
	raw = tty.before;
	cfmakeraw(&raw);
	tcsetattr(0, TCSADRAIN, &raw);
	return true;
}

void person_tty_give_back(bool cut)
{
	if (cut)
		tty_guard_restore_lent(tty.fd, NULL);
	tcsetattr(0, TCSADRAIN, &tty.before);
	guard_say(tty.guard, GUARD_GONE);
	guard_end(&tty.guard);
	for (size_t i = 0; i < ARRAY_LEN(deadly); i++)
		sigaction(deadly[i], &tty.old[i], NULL);
	fd_close(&tty.fd);
}
