#include "ui/term/tty.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "ui/term/foreground.h"
#include "ui/term/tty_guard.h"

enum { QUEUE_MAX = 64 << 20, LEAVE_MS = 500 };

static struct {
	bool open, taken, mouse, modern;
	int fd, guard;
	struct termios before, raw;
	struct buf queue;
	size_t sent; /* of the queue */
	struct sigaction old[NSIG];
} term_tty = { .fd = -1, .guard = -1 };

static volatile sig_atomic_t stop_wanted, term_tty_continued, term_tty_resized;

bool tty_modern(void)
{
	static const char *const old[] = { "linux", "dumb", "vt", "ansi", "cons", "unknown" };
	const char *term = getenv("TERM");
	for (size_t i = 0; term && i < ARRAY_LEN(old); i++)
		if (strncmp(term, old[i], strlen(old[i])) == 0)
			return false;
	return term && *term;
}

/* --- out -------------------------------------------------------------------------------------- */

void tty_put(const void *bytes, size_t len)
{
	if (term_tty.queue.len + len > QUEUE_MAX)
		return;
	buf_append(&term_tty.queue, bytes, len);
}

void tty_puts(const char *s)
{
	tty_put(s, strlen(s));
}

size_t tty_pending(void)
{
	return term_tty.queue.len - term_tty.sent;
}

bool tty_flush(void)
{
	while (tty_pending() > 0) {
		ssize_t n = write(term_tty.fd, term_tty.queue.data + term_tty.sent, tty_pending());
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return false;
		if (n <= 0)
			break; /* it has gone; the loop sees that by POLLHUP */
		term_tty.sent += (size_t)n;
	}
	buf_reset(&term_tty.queue);
	term_tty.sent = 0;
	return true;
}

bool tty_drain(int ms)
{
	int64_t end = clock_mono_us() + ms * 1000LL;
	while (!tty_flush()) {
		int64_t left = (end - clock_mono_us()) / 1000;
		struct pollfd p = { .fd = term_tty.fd, .events = POLLOUT };
		if (left <= 0 || (poll(&p, 1, (int)left) <= 0 && errno != EINTR))
			return false;
	}
	return true;
}

int tty_fd(void)
{
	return term_tty.fd;
}

int tty_read(void *bytes, size_t max)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	if (poll(&p, 1, 0) <= 0 || !(p.revents & (POLLIN | POLLHUP)))
		return 0;
	ssize_t n = read(STDIN_FILENO, bytes, max);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN ? 0 : -1;
	return n == 0 ? -1 : (int)n;
}

/* --- signals ---------------------------------------------------------------------------------- */

/* Calls only functions allowed in a handler. In the background the modes belong to the
 * terminal's present user, and touching them would stop us (SIGTTOU) instead of ending. */
static void term_tty_killed(int sig)
{
	if (term_tty.taken) {
		bool background = tcgetpgrp(STDIN_FILENO) != getpgrp();
		guard_say(term_tty.guard, GUARD_GONE);
		signal(SIGTTOU, SIG_IGN);
		tty_guard_restore(term_tty.fd, background ? NULL : &term_tty.before);
	}
	signal(sig, SIG_DFL);
	sigset_t s;
	sigemptyset(&s);
	sigaddset(&s, sig);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &s, NULL);
}

static void term_tty_noted(int sig)
{
	if (sig == SIGTSTP)
		stop_wanted = 1;
	else if (sig == SIGCONT)
		term_tty_continued = 1;
	else
		term_tty_resized = 1;
}

static bool term_tty_once(volatile sig_atomic_t *flag)
{
	bool was = *flag != 0;
	*flag = 0;
	return was;
}

bool tty_stop_wanted(void)
{
	return term_tty_once(&stop_wanted);
}

bool tty_continued(void)
{
	return term_tty_once(&term_tty_continued);
}

bool tty_resized(void)
{
	return term_tty_once(&term_tty_resized);
}

static const int term_tty_deadly[] = { SIGTERM, SIGHUP, SIGQUIT, SIGINT },
		 term_tty_noticed[] = { SIGTSTP, SIGCONT, SIGWINCH };

static void term_tty_set_handlers(void)
{
	for (size_t i = 0; i < ARRAY_LEN(term_tty_deadly); i++)
		sigaction(term_tty_deadly[i], &(struct sigaction){ .sa_handler = term_tty_killed },
			  &term_tty.old[term_tty_deadly[i]]);
	for (size_t i = 0; i < ARRAY_LEN(term_tty_noticed); i++)
		sigaction(term_tty_noticed[i], &(struct sigaction){ .sa_handler = term_tty_noted },
			  &term_tty.old[term_tty_noticed[i]]);
}

static void unset_handlers(void)
{
	for (size_t i = 0; i < ARRAY_LEN(term_tty_deadly); i++)
		sigaction(term_tty_deadly[i], &term_tty.old[term_tty_deadly[i]], NULL);
	for (size_t i = 0; i < ARRAY_LEN(term_tty_noticed); i++)
		sigaction(term_tty_noticed[i], &term_tty.old[term_tty_noticed[i]], NULL);
}

void tty_stop(void)
{
	foreground_stop();
	term_tty_continued = stop_wanted = 0;
}

/* --- taking and giving back ------------------------------------------------------------------- */

/* Also if the terminal is still ours but another program may have set it up: the title is then
 * one of ours and is not saved again. */
static void term_tty_seize(void)
{
	bool had = term_tty.taken;
	tcsetattr(STDIN_FILENO, TCSADRAIN, &term_tty.raw);
	term_tty.taken = true;
	guard_say(term_tty.guard, GUARD_TAKEN);
	if (term_tty.modern) {
		tty_puts("\x1b[?2004h\x1b[?1004h"); /* pasted text is marked, focus is reported */
		if (!had)
			tty_puts("\x1b[22;2t"); /* keep the title */
	}
	if (term_tty.mouse)
		tty_puts("\x1b[?1002h\x1b[?1006h");
}

static void term_tty_give_back(void)
{
	if (!term_tty.taken)
		return;
	if (term_tty.mouse)
		tty_puts("\x1b[?1006l\x1b[?1002l");
	if (term_tty.modern)
		tty_puts("\x1b[23;2t\x1b[?1004l\x1b[?2004l");
	tty_drain(LEAVE_MS);
	tcflush(STDIN_FILENO, TCIFLUSH); /* answers and half sequences are nobody's input */
	tcsetattr(STDIN_FILENO, TCSANOW, &term_tty.before);
	term_tty.taken = false;
	guard_say(term_tty.guard, GUARD_GONE);
}

static int term_tty_open_own(void)
{
	const char *name = ttyname(STDOUT_FILENO);
	int fd = name ? open(name, O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK) : -1;
	if (fd < 0)
		fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	return fd >= 0 ? fd : fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
}

int tty_open(struct err *err)
{
	if (!isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &term_tty.before) < 0)
		return err_set(err, ERR_UNSUPPORTED, "this is not a terminal; use --no-tui");
	term_tty.fd = term_tty_open_own();
	if (term_tty.fd < 0)
		return err_sys(err, "can't open the terminal");
	term_tty.raw = term_tty.before;
	cfmakeraw(&term_tty.raw);
	term_tty.raw.c_cc[VMIN] = 1;
	term_tty.raw.c_cc[VTIME] = 0;
	term_tty.modern = tty_modern();
	term_tty.open = true;
	term_tty.guard = guard_start(term_tty.fd, &term_tty.before);
	term_tty_set_handlers();
	term_tty_seize();
	return 0;
}

void tty_close(void)
{
	if (!term_tty.open)
		return;
	term_tty_give_back();
	guard_end(&term_tty.guard);
	unset_handlers();
	fd_close(&term_tty.fd);
	buf_release(&term_tty.queue);
	term_tty.sent = 0;
	term_tty.open = false;
}

void tty_leave(void)
{
	term_tty_give_back();
}

void tty_return(void)
{
	term_tty_seize();
}

void tty_set_mouse(bool on)
{
	if (on == term_tty.mouse)
		return;
	term_tty.mouse = on;
	if (term_tty.taken)
		tty_puts(on ? "\x1b[?1002h\x1b[?1006h" : "\x1b[?1006l\x1b[?1002l");
}

/* --- asking ----------------------------------------------------------------------------------- */

/* One part of "rgb:RRRR/GGGG/BBBB" (1 to 4 digits) as 0 to 255. */
static int term_tty_part(const char **p)
{
	char digits[5] = { 0 };
	size_t n = strspn(*p, "0123456789abcdefABCDEF");
	if (n == 0 || n > 4)
		return -1;
	memcpy(digits, *p, n);
	*p += n;
	long most = (1L << (4 * n)) - 1;
	return (int)(strtol(digits, NULL, 16) * 255 / most);
}

/* "\033]11;rgb:1c1c/1c1c/1c1c" -> lightness 0 to 255, -1 none. */
static int tty_lightness(const char *bytes, size_t len)
{
	static const char head[] = "\x1b]11;rgb:";
	const char *at = memmem(bytes, len, head, sizeof(head) - 1);
	char text[32] = { 0 };
	if (!at)
		return -1;
	at += sizeof(head) - 1;
	size_t left = len - (size_t)(at - bytes);
	memcpy(text, at, left < sizeof(text) - 1 ? left : sizeof(text) - 1);
	const char *p = text;
	int rgb[3];
	for (int i = 0; i < 3; i++) {
		rgb[i] = term_tty_part(&p);
		if (rgb[i] < 0 || (i < 2 && *p++ != '/'))
			return -1;
	}
	return (rgb[0] * 299 + rgb[1] * 587 + rgb[2] * 114) / 1000;
}

/* DECRPM: 1 set, 2 reset: it is there to be used; 0, 3, 4 are no use. */
static bool tty_has_sync(const char *bytes, size_t len)
{
	return memmem(bytes, len, "\x1b[?2026;1$y", 11) || memmem(bytes, len, "\x1b[?2026;2$y", 11);
}

/* Every terminal answers DA1, and answers come in order: after it nothing more is to be waited
 * for. */
static bool term_tty_answered(const struct buf *b)
{
	const char *p = b->len ? memmem(b->data, b->len, "\x1b[?", 3) : NULL;
	for (; p; p = memmem(p + 3, b->len - (size_t)(p + 3 - b->data), "\x1b[?", 3)) {
		size_t n = strspn(p + 3, "0123456789;");
		if (p[3 + n] == 'c')
			return true;
	}
	return false;
}

struct tty_answers tty_ask(bool background, bool sync, int ms)
{
	struct tty_answers a = { 0 };
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	int64_t end = clock_mono_us() + ms * 1000LL;
	if (!term_tty.modern || (!background && !sync))
		return a;
	if (background)
		tty_puts("\x1b]11;?\x1b\\");
	if (sync)
		tty_puts("\x1b[?2026$p");
	tty_puts("\x1b[c");
	tty_flush();
	while (!term_tty_answered(&b) && b.len < 4096) {
		int64_t left = (end - clock_mono_us() + 999) / 1000;
		struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
		char bytes[256];
		if (left <= 0 || poll(&p, 1, (int)left) <= 0)
			break;
		int n = tty_read(bytes, sizeof(bytes));
		if (n <= 0)
			break;
		buf_append(&b, bytes, (size_t)n);
		(void)!buf_cstr(&b);
	}
	int light = b.len ? tty_lightness(b.data, b.len) : -1;
	a.dark = light >= 0 && light < 128;
	a.light = light >= 128;
	a.sync = b.len && tty_has_sync(b.data, b.len);
	return a;
}
