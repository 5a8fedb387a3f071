/* The console on a pseudo terminal: what the terminal really gets. Hostile bytes of the session arrive as visible text
 * only, keys work, a signal and the end leave the terminal as it was. */
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <time.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text/utf8.h"
#include "base/text/width.h"
#include "fake_session.h"
#include "tap.h"
#include "ui/console.h"

#ifdef __SANITIZE_ADDRESS__ /* ncurses keeps what it has made for a terminal that it then does not know */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:new_prescr\n";
}
#endif

static struct buf seen;
static int master;
static pid_t child;

static const char *term = "xterm-256color";

static void start(const char *fixture, const char *no_color)
{
	struct winsize ws = { .ws_row = 36, .ws_col = 120 };
	buf_reset(&seen);
	child = forkpty(&master, NULL, NULL, &ws);
	if (child < 0) /* exit here: kill(-1) would reach every process */
		skip_all("no pseudo terminal here");
	if (child != 0)
		return;
	struct err err = ERR_INIT;
	setenv("TERM", term, 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	setenv("TZ", "UTC", 1);
	setenv("NO_COLOR", no_color, 1);
	unsetenv("SANDGLASS_ASCII");
	struct console_source src = { .path = fixture, .wake_fd = -1 };
	struct console_opts o = { .source = &src, .nr_sources = 1, .replay = true };
	int rc = console_main(&o, &err);
	exit(rc < 0 ? 50 : 7);
}

/* Reads until @text has come (since the last reset of seen); false after 20 s. */
static bool expect(const char *text)
{
	struct pollfd p = { .fd = master, .events = POLLIN };
	char bytes[4096];
	time_t until = time(NULL) + 20; /* the clock of a screen keeps printing */
	while (!seen.len || !memmem(seen.data, seen.len, text, strlen(text))) {
		if (time(NULL) > until || poll(&p, 1, 20000) <= 0)
			return false;
		ssize_t n = read(master, bytes, sizeof(bytes));
		if (n <= 0)
			return false;
		buf_append(&seen, bytes, (size_t)n);
	}
	return true;
}

static void press(const char *keys)
{
	ssize_t n = write(master, keys, strlen(keys));
	(void)n;
}

static int ended(void)
{
	int status = 0;
	char bytes[4096];
	ssize_t n;
	while ((n = read(master, bytes, sizeof(bytes))) > 0)
		buf_append(&seen, bytes, (size_t)n);
	waitpid(child, &status, 0);
	close(master);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Every control byte that came is the beginning of something that we say: of OSC only the question for the
 * background (and, live, the title); no DCS, APC, PM, SOS; of CSI only what curses and tty.c use; no BEL, no C1, raw
 * or encoded. */
static bool our_sequence(const char *p, size_t len, size_t *used)
{
	static const char ask[] = "\x1b]11;?\x1b\\", finals[] = "mHJKABCDGdXPLM@rhlTSbcptfZ";
	if (len >= sizeof(ask) - 1 && memcmp(p, ask, sizeof(ask) - 1) == 0) {
		*used = sizeof(ask) - 1;
		return true;
	}
	*used = 2;
	if (len < 2 || p[1] != '[') /* charsets, keypad, reverse index, save and restore */
		return len >= 2 && strchr("(=>M78", p[1]);
	size_t n = 2;
	while (n < len && p[n] >= 0x20 && p[n] < 0x40)
		n++;
	*used = n + 1;
	return n < len && strchr(finals, p[n]);
}

static bool only_our_escapes(void)
{
	for (size_t i = 0, used; i < seen.len; i += used) {
		unsigned char c = (unsigned char)seen.data[i];
		uint32_t cp = c;
		used = 1;
		if (c == 0x1b && !our_sequence(seen.data + i, seen.len - i, &used)) {
			printf("# a foreign sequence: ESC %.20s\n", seen.data + i + 1);
			return false;
		}
		if (c >= 0x80 && utf8_next(seen.data + i, seen.len - i, &cp, &used) != UTF8_OK) {
			printf("# broken UTF-8: %02x\n", c);
			return false;
		}
		if ((c < 0x20 && !strchr("\x1b\r\n\b\t\x0f\x0e", c)) || (cp >= 0x7f && cp < 0xa0) ||
		    (cp >= 0x80 && text_is_hidden(cp))) {
			printf("# a control character: U+%04X\n", cp);
			return false;
		}
	}
	return true;
}

static void hostile(void)
{
	start("tests/screens/wide.jsonl", "");
	ok(expect("fleet"), "the fleet comes up");
	ok(expect("翻译员"), "with wide names");
	press("\rkkkk");
	ok(expect("]0;title"), "the title sequence of the output is text");
	ok(expect("<U+202E>"), "so is the bidi override");
	press("a");
	ok(expect("5 HIDDEN CHARACTERS"), "the approval counts what hides");
	press("\033");
	press("L");
	ok(expect("log of"), "L shows the log");
	press("q");
	press("q");
	press("q");
	is_int(ended(), 7, "q leaves");
	ok(only_our_escapes(), "no escape but our own has been written");
	ok(memmem(seen.data, seen.len, "\x1b[?1049l", 8), "the alternate screen is left");
}

static void colours(void)
{
	start("tests/screens/fleet.jsonl", "");
	ok(expect("HELD") && memmem(seen.data, seen.len, "33m", 3), "colours");
	press("q");
	is_int(ended(), 7, "one key at the top leaves a record");
	start("tests/screens/fleet.jsonl", "1");
	ok(expect("HELD"), "NO_COLOR");
	press("q");
	ended();
	ok(!memmem(seen.data, seen.len, "\x1b[33m", 5) && !memmem(seen.data, seen.len, "\x1b[31m", 5), "means none");
}

static void killed(void)
{
	start("tests/screens/fleet.jsonl", "");
	ok(expect("HELD"), "up");
	kill(child, SIGTERM);
	is_int(ended(), -SIGTERM, "a signal ends it");
	ok(memmem(seen.data, seen.len, "\x1b[?1049l", 8), "and the terminal is put back");
}

static bool always(void *self)
{
	(void)self;
	usleep(200);
	return true;
}

/* News all the time, as from a supervisor that talks without end: signals and keys come through. */
static void busy(void)
{
	struct winsize ws = { .ws_row = 36, .ws_col = 120 };
	int news[2];
	buf_reset(&seen);
	if (pipe(news) < 0 || write(news[1], "x", 1) != 1)
		exit(99);
	child = forkpty(&master, NULL, NULL, &ws);
	if (child == 0) {
		struct err err = ERR_INIT;
		setenv("TERM", "xterm-256color", 1);
		struct console_source src = { .path = "tests/screens/fleet.jsonl", .wake_fd = news[0], .pump = always };
		struct console_opts o = { .source = &src, .nr_sources = 1, .quiet = true,
					  .greeting = "welcome", .theme = "nosuch" };
		_exit(console_main(&o, &err) < 0 ? 50 : 7);
	}
	ok(expect("HELD"), "up, with news that never ends");
	ok(expect("unknown theme"), "the line shows the wrong setting instead of the greeting");
	ws = (struct winsize){ .ws_row = 10, .ws_col = 50 };
	ioctl(master, TIOCSWINSZ, &ws);
	ok(expect("too small"), "it takes a new size");
	press("q");
	is_int(ended(), 7, "and a key");
	close(news[0]);
	close(news[1]);
}

static void resized(void)
{
	struct winsize ws = { .ws_row = 10, .ws_col = 50 };
	start("tests/screens/fleet.jsonl", "");
	ok(expect("HELD"), "up");
	ioctl(master, TIOCSWINSZ, &ws);
	ok(expect("too small"), "a small window shows its notice");
	ws = (struct winsize){ .ws_row = 24, .ws_col = 80 };
	buf_reset(&seen);
	ioctl(master, TIOCSWINSZ, &ws);
	ok(expect("fix-parser"), "and a larger one shows it again");
	press("q");
	is_int(ended(), 7, "left");
}

/* Names of terminals that no terminfo here has. */
static void unknown_terminals(void)
{
	static const struct {
		const char *name;
		int status;
	} names[] = { { "xterm-nosuch", 7 }, { "tmux-nosuch", 7 }, { "nosuch", 50 } };
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		term = names[i].name;
		start("tests/screens/fleet.jsonl", "");
		if (names[i].status == 7) {
			ok(expect("HELD"), "TERM=%s: drawn as for its kin", term);
			press("q");
		}
		int status = ended();
		ok(status == names[i].status, "TERM=%s ends with %d", term, status);
	}
	term = "xterm-256color";
}

int main(void)
{
	hostile();
	colours();
	killed();
	resized();
	unknown_terminals();
	busy();
	buf_release(&seen);
	return done_testing();
}
