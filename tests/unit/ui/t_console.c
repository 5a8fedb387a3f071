/* The console on a pseudo terminal: what the terminal really gets. Hostile bytes of the session arrive as visible text
 * only, keys work, a signal and the end leave the terminal as it was. */
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_session.h"
#include "tap.h"
#include "ui/console.h"

static struct buf seen;
static int master;
static pid_t child;

static void start(const char *fixture, const char *no_color)
{
	struct winsize ws = { .ws_row = 36, .ws_col = 120 };
	buf_reset(&seen);
	child = forkpty(&master, NULL, NULL, &ws);
	if (child < 0) /* and never goes on: kill(-1) would reach everybody */
		skip_all("no pseudo terminal here");
	if (child != 0)
		return;
	struct err err = ERR_INIT;
	setenv("TERM", "xterm-256color", 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	setenv("TZ", "UTC", 1);
	setenv("NO_COLOR", no_color, 1);
	unsetenv("SANDGLASS_ASCII");
	struct console_source src = { .path = fixture, .wake_fd = -1 };
	struct console_opts o = { .source = &src, .nr_sources = 1, .replay = true };
	int rc = console_main(&o, &err);
	exit(rc < 0 ? 50 : 7);
}

/* Reads until @text has come (since the last reset of seen); false when nothing more comes. */
static bool expect(const char *text)
{
	struct pollfd p = { .fd = master, .events = POLLIN };
	char bytes[4096];
	while (!seen.len || !memmem(seen.data, seen.len, text, strlen(text))) {
		if (poll(&p, 1, 20000) <= 0)
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

/* OSC, DCS, APC, PM, SOS and the like never come from us, so none may come at all. */
static bool only_our_escapes(void)
{
	for (size_t i = 0; i + 1 < seen.len; i++)
		if (seen.data[i] == 0x1b && strchr("]P_^X", seen.data[i + 1]))
			return false;
	return !memmem(seen.data, seen.len, "\xe2\x80\xae", 3) && !memchr(seen.data, 7, seen.len);
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

static void resized(void)
{
	struct winsize ws = { .ws_row = 10, .ws_col = 50 };
	start("tests/screens/fleet.jsonl", "");
	ok(expect("HELD"), "up");
	ioctl(master, TIOCSWINSZ, &ws);
	ok(expect("too small"), "a small window says so");
	ws = (struct winsize){ .ws_row = 24, .ws_col = 80 };
	buf_reset(&seen);
	ioctl(master, TIOCSWINSZ, &ws);
	ok(expect("fix-parser"), "and a larger one shows it again");
	press("q");
	is_int(ended(), 7, "left");
}

int main(void)
{
	hostile();
	colours();
	killed();
	resized();
	buf_release(&seen);
	return done_testing();
}
