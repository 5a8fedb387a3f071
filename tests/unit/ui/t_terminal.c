/* The terminal from its other side: the bytes that a change costs, and the queries and their answers. A terminal
 * that does not read stops nothing. The terminal is restored at the end, also after kill -9. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "tap.h"
#include "ui/term/term.h"
#include "ui/term/tty.h"

enum { ROWS = 36, COLS = 120 };

static struct buf seen;
static int master, orders, answers;
static pid_t child;

/* --- the child: a grid on a terminal, told what to do by letters on a pipe ---------------------------------------- */

static void fill(struct grid *g, int first)
{
	grid_clear(g);
	for (int row = 0; row < g->rows - 2; row++)
		grid_putf(area_all(g), row, 1, ROLE_TEXT, "#%d 14:31:%02d exec    make test", 300 + first + row,
		     (first + row) % 60);
	put_rule(area_all(g), g->rows - 2, NULL, ROLE_RULE, NULL);
	grid_put(area_all(g), g->rows - 1, 1, ROLE_KEY, "q back  ? help");
}

static void say(int fd, char c)
{
	ssize_t n = write(fd, &c, 1);
	(void)n;
}

/* A storm of frames that have nothing in common. */
static int storm(struct grid *g)
{
	int shown = 0;
	for (int i = 0; i < 300; i++) {
		grid_clear(g);
		for (int row = 0; row < g->rows; row++)
			for (int col = 0; col < g->cols; col++)
				grid_put(area_all(g), row, col, ROLE_TEXT,
				    (const char[]){ (char)('a' + (i + row * 7 + col * 3) % 26), 0 });
		shown += term_show(g);
	}
	return shown;
}

static void obey(int in, int out)
{
	struct err err = ERR_INIT;
	struct grid g;
	int first = 0, shown;
	char order;
	setenv("TERM", "xterm-256color", 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	unsetenv("NO_COLOR");
	unsetenv("SANDGLASS_ASCII");
	setlocale(LC_CTYPE, "");
	if (term_open(&err) < 0)
		exit(50);
	term_set_theme(theme_find("dark"));
	grid_init(&g, ROWS, COLS, false);
	say(out, (char)('1' + term_background()));
	while (read(in, &order, 1) == 1) {
		switch (order) {
		case 's': /* one line further */
		case 'd':
			first += order == 's';
			fill(&g, first);
			term_show(&g);
			break;
		case 'f':
			shown = storm(&g);
			say(out, shown > 0 && shown < 300 ? 'y' : 'n');
			continue;
		case 'w':
			tty_drain(10000);
			break;
		case 'l':
			term_leave();
			say(out, 'l');
			continue;
		case 'q':
			term_close();
			exit(7);
		default:
			break;
		}
		say(out, order);
	}
	exit(51);
}

static void start(const char *sync)
{
	struct winsize ws = { .ws_row = ROWS, .ws_col = COLS };
	int in[2], out[2];
	buf_reset(&seen);
	if (pipe(in) < 0 || pipe(out) < 0)
		skip_all("no pipes");
	child = forkpty(&master, NULL, NULL, &ws);
	if (child < 0)
		skip_all("no pseudo terminal here");
	if (child == 0) {
		close(in[1]);
		close(out[0]);
		if (sync)
			setenv("SANDGLASS_SYNC", sync, 1);
		else
			unsetenv("SANDGLASS_SYNC");
		obey(in[0], out[1]);
	}
	close(in[0]);
	close(out[1]);
	orders = in[1];
	answers = out[0];
}

/* --- our side ----------------------------------------------------------------------------------------------------- */

/* All that has come up to now; a short silence ends it. */
static void listen_to(int silence_ms)
{
	struct pollfd p = { .fd = master, .events = POLLIN };
	char bytes[65536];
	while (poll(&p, 1, silence_ms) > 0) {
		ssize_t n = read(master, bytes, sizeof(bytes));
		if (n <= 0)
			return;
		buf_append(&seen, bytes, (size_t)n);
	}
}

/* The child's word for an order; 0 if there is none within 20 s. The terminal is read meanwhile or not. */
static char order(char what, bool reading)
{
	char word = 0;
	if (what)
		say(orders, what);
	for (int i = 0; i < 2000; i++) {
		struct pollfd p[2] = { { .fd = answers, .events = POLLIN },
				       { .fd = reading ? master : -1, .events = POLLIN } };
		char bytes[65536];
		if (poll(p, 2, 20000) <= 0)
			return 0;
		ssize_t n = p[1].revents & POLLIN ? read(master, bytes, sizeof(bytes)) : 0;
		if (n > 0)
			buf_append(&seen, bytes, (size_t)n);
		if (p[0].revents & (POLLIN | POLLHUP))
			return read(answers, &word, 1) == 1 ? word : 0;
	}
	return 0;
}

static bool has(const char *text)
{
	return seen.len && memmem(seen.data, seen.len, text, strlen(text));
}

static int ended(void)
{
	int status = 0;
	char bytes[65536];
	ssize_t n;
	waitpid(child, &status, 0);
	struct pollfd p = { .fd = master, .events = POLLIN };
	while (poll(&p, 1, 300) > 0 && (n = read(master, bytes, sizeof(bytes))) > 0)
		buf_append(&seen, bytes, (size_t)n);
	close(orders);
	close(answers);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static bool is_raw(void)
{
	struct termios t;
	return tcgetattr(master, &t) == 0 && !(t.c_lflag & ICANON);
}

static void costs(void)
{
	start("0");
	order(0, true);
	order('d', true);
	listen_to(50);
	ok(has("make test"), "a first frame");
	ok(!has("?2026"), "SANDGLASS_SYNC=0: not even asked");
	size_t most = 0;
	for (int i = 0; i < 20; i++) {
		buf_reset(&seen);
		order('s', true);
		listen_to(20);
		most = seen.len > most ? seen.len : most;
	}
	ok(most > 0 && most <= 100, "a scrolled line costs at most %zu bytes", most);
	buf_reset(&seen);
	for (int i = 0; i < 5; i++)
		order('d', true);
	listen_to(50);
	is_int(seen.len, 0, "nothing new costs nothing");
	ok(is_raw(), "keys are raw meanwhile");
	order('q', true);
	is_int(ended(), 7, "left");
	ok(has("\x1b[?1049l") && has("\x1b[?2004l") && has("\x1b[?1002l") && has("\x1b[?1004l") && has("\x1b[23;2t"),
	   "every mode is left");
	ok(!is_raw(), "keys are as they were");
	close(master);
}

static void stops_reading(void)
{
	start("0");
	order(0, true);
	order('d', true);
	is_int(order('f', false), 'y', "300 frames for a terminal that does not read: done, most left out");
	order('d', false);
	order('w', true);
	buf_reset(&seen);
	order('d', true);
	listen_to(50);
	ok(has("make test"), "when it reads again the newest frame is there");
	order('f', false);
	say(orders, 'q'); /* leaving does not wait for the terminal either */
	int status = -1;
	for (int i = 0; i < 300 && waitpid(child, &status, WNOHANG) == 0; i++)
		poll(NULL, 0, 20);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 7, "and leaving ends");
	close(master);
	close(orders);
	close(answers);
}

static void asked(const char *reply, const char *sync, char background, bool wrapped, const char *name)
{
	start(sync);
	for (int i = 0; i < 100 && !has("\x1b[c"); i++)
		listen_to(20);
	ssize_t n = write(master, reply, strlen(reply));
	(void)n;
	is_int(order(0, true), background, name);
	buf_reset(&seen);
	order('d', true);
	listen_to(50);
	ok(has("\x1b[?2026h") == wrapped && has("\x1b[?2026l") == wrapped, "%s: frames are %swrapped", name,
	   wrapped ? "" : "not ");
	order('q', true);
	ended();
	close(master);
}

static void dies(int sig, const char *name)
{
	start("0");
	order(0, true);
	order('d', true);
	listen_to(50);
	buf_reset(&seen);
	kill(child, sig);
	is_int(ended(), -sig, name);
	for (int i = 0; i < 100 && (is_raw() || !has("\x1b[?1049l")); i++)
		listen_to(50);
	ok(has("\x1b[?1049l") && has("\x1b[?1002l") && has("\x1b[?25h"), "%s: the screen is given back", name);
	ok(!is_raw(), "%s: keys are as they were", name);
	close(master);
}

static void dies_away(void)
{
	start("0");
	order(0, true);
	order('d', true);
	order('l', true);
	listen_to(50);
	buf_reset(&seen);
	kill(child, SIGKILL);
	ended();
	listen_to(200);
	ok(!has("\x1b[?1049l"), "killed while an editor has the terminal: nothing is written into it");
	close(master);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	costs();
	stops_reading();
	asked("\x1b]11;rgb:ffff/ffff/eeee\x1b\\\x1b[?2026;2$y\x1b[?62;1c", NULL, '2', true,
	      "a light terminal with updates");
	asked("\x1b]11;rgb:1c/1c/1c\x07\x1b[?2026;0$y\x1b[?62;1c", NULL, '0', false, "a dark one without");
	asked("", NULL, '1', false, "one that says nothing");
	dies(SIGTERM, "SIGTERM");
	dies(SIGHUP, "SIGHUP");
	dies(SIGKILL, "kill -9");
	dies_away();
	return done_testing();
}
