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
} tty = { .fd = -1, .guard = -1 };

static volatile sig_atomic_t stop_wanted, continued, resized;

bool tty_modern(void)
{
	static const char *const old[] = { "linux", "dumb", "vt", "ansi", "cons", "unknown" };
	const char *term = getenv("TERM");
	for (size_t i = 0; term && i < ARRAY_LEN(old); i++)
		if (strncmp(term, old[i], strlen(old[i])) == 0)
			return false;
	return term && *term;
}

/* --- out ---------------------------------------------------------------------------------------------------------- */

void tty_put(const void *bytes, size_t len)
{
	if (tty.queue.len + len > QUEUE_MAX)
		return;
	buf_append(&tty.queue, bytes, len);
}

void tty_puts(const char *s)
{
	tty_put(s, strlen(s));
}

size_t tty_pending(void)
{
	return tty.queue.len - tty.sent;
}

bool tty_flush(void)
{
	while (tty_pending() > 0) {
		ssize_t n = write(tty.fd, tty.queue.data + tty.sent, tty_pending());
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return false;
		if (n <= 0)
			break; /* it has gone; the loop sees that by POLLHUP */
		tty.sent += (size_t)n;
	}
	buf_reset(&tty.queue);
	tty.sent = 0;
	return true;
}

bool tty_drain(int ms)
{
	int64_t end = clock_mono_us() + ms * 1000LL;
	while (!tty_flush()) {
		int64_t left = (end - clock_mono_us()) / 1000;
		struct pollfd p = { .fd = tty.fd, .events = POLLOUT };
		if (left <= 0 || (poll(&p, 1, (int)left) <= 0 && errno != EINTR))
			return false;
	}
	return true;
}

int tty_fd(void)
{
	return tty.fd;
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

/* --- signals ------------------------------------------------------------------------------------------------------ */

/* Only what may be called in a handler. In the background the modes are those of whoever has the terminal now, and touching
 * them would stop us (SIGTTOU) in place of ending. */
static void killed(int sig)
{
	if (tty.taken) {
		bool background = tcgetpgrp(STDIN_FILENO) != getpgrp();
		guard_say(tty.guard, GUARD_GONE);
		signal(SIGTTOU, SIG_IGN);
		tty_guard_restore(tty.fd, background ? NULL : &tty.before);
	}
	signal(sig, SIG_DFL);
	sigset_t s;
	sigemptyset(&s);
	sigaddset(&s, sig);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &s, NULL);
}

static void noted(int sig)
{
	if (sig == SIGTSTP)
		stop_wanted = 1;
	else if (sig == SIGCONT)
		continued = 1;
	else
		resized = 1;
}

static bool once(volatile sig_atomic_t *flag)
{
	bool was = *flag != 0;
	*flag = 0;
	return was;
}

bool tty_stop_wanted(void)
{
	return once(&stop_wanted);
}

bool tty_continued(void)
{
	return once(&continued);
}

bool tty_resized(void)
{
	return once(&resized);
}

static const int deadly[] = { SIGTERM, SIGHUP, SIGQUIT, SIGINT }, noticed[] = { SIGTSTP, SIGCONT, SIGWINCH };

static void set_handlers(void)
{
	for (size_t i = 0; i < ARRAY_LEN(deadly); i++)
		sigaction(deadly[i], &(struct sigaction){ .sa_handler = killed }, &tty.old[deadly[i]]);
	for (size_t i = 0; i < ARRAY_LEN(noticed); i++)
		sigaction(noticed[i], &(struct sigaction){ .sa_handler = noted }, &tty.old[noticed[i]]);
}

static void unset_handlers(void)
{
	for (size_t i = 0; i < ARRAY_LEN(deadly); i++)
		sigaction(deadly[i], &tty.old[deadly[i]], NULL);
	for (size_t i = 0; i < ARRAY_LEN(noticed); i++)
		sigaction(noticed[i], &tty.old[noticed[i]], NULL);
}

void tty_stop(void)
{
	foreground_stop();
	continued = stop_wanted = 0;
}

/* --- taking and giving back --------------------------------------------------------------------------------------- */

/* Also when it is ours still, but somebody else may have set it up: then the title is one of ours, and not kept again. */
static void seize(void)
{
	bool had = tty.taken;
	tcsetattr(STDIN_FILENO, TCSADRAIN, &tty.raw);
	tty.taken = true;
	guard_say(tty.guard, GUARD_TAKEN);
	if (tty.modern) {
		tty_puts("\x1b[?2004h\x1b[?1004h"); /* pasted text is marked, focus is told */
		if (!had)
			tty_puts("\x1b[22;2t"); /* keep the title */
	}
	if (tty.mouse)
		tty_puts("\x1b[?1002h\x1b[?1006h");
}

static void give_back(void)
{
	if (!tty.taken)
		return;
	if (tty.mouse)
		tty_puts("\x1b[?1006l\x1b[?1002l");
	if (tty.modern)
		tty_puts("\x1b[23;2t\x1b[?1004l\x1b[?2004l");
	tty_drain(LEAVE_MS);
	tcflush(STDIN_FILENO, TCIFLUSH); /* answers and half sequences are nobody's input */
	tcsetattr(STDIN_FILENO, TCSANOW, &tty.before);
	tty.taken = false;
	guard_say(tty.guard, GUARD_GONE);
}

static int open_own(void)
{
	const char *name = ttyname(STDOUT_FILENO);
	int fd = name ? open(name, O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK) : -1;
	if (fd < 0)
		fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	return fd >= 0 ? fd : fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
}

int tty_open(struct err *err)
{
	if (!isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &tty.before) < 0)
		return err_set(err, ERR_UNSUPPORTED, "this is not a terminal; use --no-tui");
	tty.fd = open_own();
	if (tty.fd < 0)
		return err_sys(err, "cannot open the terminal");
	tty.raw = tty.before;
	cfmakeraw(&tty.raw);
	tty.raw.c_cc[VMIN] = 1;
	tty.raw.c_cc[VTIME] = 0;
	tty.modern = tty_modern();
	tty.open = true;
	tty.guard = guard_start(tty.fd, &tty.before);
	set_handlers();
	seize();
	return 0;
}

void tty_close(void)
{
	if (!tty.open)
		return;
	give_back();
	guard_end(&tty.guard);
	unset_handlers();
	fd_close(&tty.fd);
	buf_release(&tty.queue);
	tty.sent = 0;
	tty.open = false;
}

void tty_leave(void)
{
	give_back();
}

void tty_return(void)
{
	seize();
}

void tty_set_mouse(bool on)
{
	if (on == tty.mouse)
		return;
	tty.mouse = on;
	if (tty.taken)
		tty_puts(on ? "\x1b[?1002h\x1b[?1006h" : "\x1b[?1006l\x1b[?1002l");
}

/* --- asking ------------------------------------------------------------------------------------------------------- */

/* One part of "rgb:RRRR/GGGG/BBBB" (1 to 4 digits) as 0 to 255. */
static int part(const char **p)
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
		rgb[i] = part(&p);
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

/* Every terminal answers DA1, and answers come in order: after it nothing more is to be waited for. */
static bool answered(const struct buf *b)
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
	if (!tty.modern || (!background && !sync))
		return a;
	if (background)
		tty_puts("\x1b]11;?\x1b\\");
	if (sync)
		tty_puts("\x1b[?2026$p");
	tty_puts("\x1b[c");
	tty_flush();
	while (!answered(&b) && b.len < 4096) {
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
