/* The console on a pseudo terminal, as a person meets it: bench_ui SESSION MAKE_SESSION DIR [SAMPLES]
 *
 *   first paint   from the fork to the first agents on the screen, of a session that is far too long to be read by then
 *   idle          bytes and wake-ups in five seconds in which nothing happens
 *   key to paint  a character typed into the command line until the terminal has it, while 50 agents write events as fast
 *                 as they can be recorded; the floor: a program that does nothing but send it back, at the same time
 *   a line        bytes for a line of output that comes, its pane scrolled by it: 80x24 and 120x36, followed live */
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "ui/console.h"

enum { MAX = 4000, PAINTS = 9, IDLE_S = 5, STREAMING_EVENTS = 4000000, LINES = 120, FIRST_LINES = 40 };

static int master;
static pid_t child;

static double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void open_sized(const char *path, const char *view, unsigned short rows, unsigned short cols)
{
	struct winsize ws = { .ws_row = rows, .ws_col = cols };
	struct err err = ERR_INIT;
	child = forkpty(&master, NULL, NULL, &ws);
	if (child < 0)
		exit(2);
	if (child > 0)
		return;
	setenv("TERM", "xterm-256color", 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	struct console_source src = { .path = path, .wake_fd = -1 };
	struct console_opts o = { .source = &src, .nr_sources = 1, .view = view, .quiet = true };
	_exit(console_main(&o, &err) < 0 ? 1 : 0);
}

static void open_console(const char *path, const char *view)
{
	open_sized(path, view, 36, 120);
}

static void close_console(void)
{
	int status;
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	close(master);
}

/* Reads until @what has come (NULL: until it is quiet for @ms); answers what a terminal is asked. Returns the bytes, or -1. */
static long listen_for(const char *what, int ms)
{
	CLEANUP(buf_release) struct buf seen = BUF_INIT;
	double until = now_ms() + ms;
	for (;;) {
		char bytes[65536];
		struct pollfd p = { .fd = master, .events = POLLIN };
		double left = what ? until - now_ms() : ms;
		if (left <= 0 || poll(&p, 1, (int)left) <= 0)
			return what ? -1 : (long)seen.len;
		ssize_t n = read(master, bytes, sizeof(bytes));
		if (n <= 0)
			return -1;
		buf_append(&seen, bytes, (size_t)n);
		if (memmem(bytes, (size_t)n, "\x1b[c", 3) && write(master, "\x1b[?62c", 6) < 0)
			return -1;
		if (what && memmem(seen.data, seen.len, what, strlen(what)))
			return (long)seen.len;
	}
}

static void press(const char *key)
{
	if (write(master, key, strlen(key)) < 0)
		exit(2);
}

static void judge(const char *what, double got, const char *unit, double most)
{
	printf("  %-44s %8.1f %-6s reach %.0f  %s\n", what, got, unit, most, got <= most ? "PASS" : "FAIL");
	fflush(stdout);
}

static void first_paint(const char *path)
{
	double ms[PAINTS];
	struct stat st = { 0 };
	stat(path, &st);
	for (int i = 0; i < PAINTS; i++) {
		double from = now_ms();
		open_console(path, "fleet");
		if (listen_for("AGENT", 20000) < 0)
			exit(2);
		ms[i] = now_ms() - from;
		close_console();
	}
	qsort(ms, PAINTS, sizeof(*ms), by_size);
	printf("  a session of %.2f GB\n", (double)st.st_size / 1e9);
	judge("first paint, median", ms[PAINTS / 2], "ms", 50);
}

/* Voluntary switches: how often it had gone to sleep and was woken. */
static long wakes(void)
{
	char path[64], line[256];
	long n = -1;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)child);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "voluntary_ctxt_switches: %ld", &n) == 1)
			break;
	if (f)
		fclose(f);
	return n;
}

static void idle(const char *path)
{
	double from = now_ms();
	open_console(path, "fleet");
	if (listen_for("AGENT", 20000) < 0 || listen_for(NULL, 1500) < 0)
		exit(2);
	printf("  read whole after %.1f s\n", (now_ms() - from - 1500) / 1e3);
	long before = wakes();
	long bytes = listen_for(NULL, IDLE_S * 1000);
	judge("idle for 5 s, bytes", (double)bytes, "", 0);
	judge("idle for 5 s, wake-ups", (double)(wakes() - before), "", 0);
	close_console();
}

static pid_t stream(const char *maker, const char *dir, char path[4096])
{
	char events[16];
	int out[2];
	snprintf(events, sizeof(events), "%d", STREAMING_EVENTS);
	if (pipe2(out, O_CLOEXEC) < 0)
		exit(2);
	pid_t pid = fork();
	if (pid == 0) {
		dup2(out[1], STDOUT_FILENO);
		execl(maker, maker, dir, "stream", events, "50", NULL);
		_exit(127);
	}
	close(out[1]);
	close(out[0]);
	snprintf(path, 4096, "%s/2025-11-21-stream-f00001.glass", dir);
	for (int i = 0; i < 500 && access(path, R_OK) != 0; i++)
		usleep(10000);
	usleep(500000);
	return pid;
}

/* A terminal with a program that sends back what comes, at once. */
static int echo_back(pid_t *pid)
{
	int fd;
	struct termios raw;
	*pid = forkpty(&fd, NULL, NULL, NULL);
	if (*pid < 0)
		exit(2);
	if (*pid > 0)
		return fd;
	tcgetattr(0, &raw);
	cfmakeraw(&raw);
	tcsetattr(0, TCSANOW, &raw);
	for (char c; read(0, &c, 1) == 1 && write(1, &c, 1) == 1;)
		;
	_exit(0);
}

static double one_echo(int fd)
{
	char c;
	double from = now_ms();
	if (write(fd, "~", 1) != 1 || read(fd, &c, 1) != 1)
		exit(2);
	return now_ms() - from;
}

/* What the console says meanwhile is read. */
static void pause_for(int ms)
{
	double until = now_ms() + ms;
	while (now_ms() < until) {
		struct pollfd p = { .fd = master, .events = POLLIN };
		char bytes[65536];
		if (poll(&p, 1, 1) > 0 && read(master, bytes, sizeof(bytes)) <= 0)
			exit(2);
	}
}

static void key_to_paint(const char *maker, const char *dir, int samples)
{
	static double ms[MAX], floor_ms[MAX];
	char path[4096];
	int status;
	pid_t echo, writer = stream(maker, dir, path);
	int fd = echo_back(&echo);
	usleep(100000);
	open_console(path, "fleet");
	if (listen_for("AGENT", 20000) < 0)
		exit(2);
	press(":");
	listen_for(NULL, 30);
	for (int i = 0; i < samples && i < MAX; i++) {
		if (i % 40 == 39)
			press("\x15");
		pause_for(5 + i * 7 % 40); /* not in step with the frames */
		floor_ms[i] = one_echo(fd);
		pause_for(3);
		double from = now_ms();
		press("~");
		if (listen_for("~", 5000) < 0)
			exit(2);
		ms[i] = now_ms() - from;
	}
	bool running = waitpid(writer, &status, WNOHANG) == 0;
	close_console();
	kill(echo, SIGKILL);
	waitpid(echo, &status, 0);
	close(fd);
	kill(writer, SIGKILL);
	waitpid(writer, &status, 0);
	unlink(path);
	if (!running) {
		printf("  the 50 agents had ended before the keys\n");
		exit(2);
	}
	qsort(ms, (size_t)samples, sizeof(*ms), by_size);
	qsort(floor_ms, (size_t)samples, sizeof(*ms), by_size);
	printf("  50 agents streaming: median %.1f ms, most %.1f ms\n", ms[samples / 2], ms[samples - 1]);
	printf("  floor, a program that sends the key back: median %.1f ms, p99 %.1f ms\n", floor_ms[samples / 2],
	       floor_ms[samples * 99 / 100]);
	judge("key to paint while 50 agents stream, p99", ms[samples * 99 / 100], "ms", 16);
}

/* A build that talks: its output in the agent's pane, which follows. */
static void scrolled(const char *maker, const char *dir, unsigned short rows, unsigned short cols)
{
	static const char *const said[] = {
		"cc -O2 -c src/parser.c -o build/parser.o", "ok   41 - lex: nested comment", "\x1b[32mall 42 passed\x1b[0m",
		"src/lexer.c:57: warning: unused variable 'n' [-Wunused-variable]", "", "make[1]: Leaving directory 'build'",
		"\xe6\xa4\x9c\xe6\x9f\xbb\xe4\xb8\xad 3/120", "not ok 4 - lex: string escape   # got \"a\\tb\" wanted \"a\tb\"",
	};
	static double bytes[LINES];
	char path[4096], what[64], seed[8];
	int in[2], status;
	if (pipe2(in, O_CLOEXEC) < 0)
		exit(2);
	snprintf(seed, sizeof(seed), "%d", cols);
	snprintf(path, sizeof(path), "%s/2025-11-21-lines-f%05d.glass", dir, cols);
	unlink(path);
	pid_t writer = fork();
	if (writer == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
		execl(maker, maker, dir, "lines", "400", "1", seed, "--live", NULL);
		_exit(127);
	}
	close(in[0]);
	for (int i = 0; i < 500 && access(path, R_OK) != 0; i++)
		usleep(10000);
	usleep(300000);
	for (int i = 0; i < FIRST_LINES; i++)
		dprintf(in[1], "%3d %s\n", i, said[(size_t)i % ARRAY_LEN(said)]);
	usleep(300000);
	open_sized(path, "agent", rows, cols);
	if (listen_for("make world", 20000) < 0)
		exit(2);
	press(cols < 100 ? "G\no" : "Go");
	listen_for(NULL, 700);
	for (int i = 0; i < LINES; i++) {
		dprintf(in[1], "%3d %s\n", i, said[(size_t)i % ARRAY_LEN(said)]);
		struct pollfd p = { .fd = master, .events = POLLIN };
		bytes[i] = poll(&p, 1, 5000) > 0 ? (double)listen_for(NULL, 80) : 0;
	}
	close_console();
	close(in[1]);
	kill(writer, SIGKILL);
	waitpid(writer, &status, 0);
	unlink(path);
	qsort(bytes, LINES, sizeof(*bytes), by_size);
	if (bytes[0] <= 0) {
		printf("  a line did not come to the screen\n");
		exit(2);
	}
	if (cols < 100) {
		judge("a scrolled line at 80x24, median", bytes[LINES / 2], "bytes", 100);
		judge("a scrolled line at 80x24, 99 of 100", bytes[LINES * 99 / 100], "bytes", 100);
	}
	snprintf(what, sizeof(what), "a scrolled line at %dx%d, most", cols, rows);
	printf("  %-44s %8.1f bytes%s\n", what, bytes[LINES - 1], cols < 100 ? "" : " (beside the timeline: no region to scroll)");
}

int main(int argc, char **argv)
{
	int samples = argc > 4 ? atoi(argv[4]) : 300;
	if (argc < 4 || samples < 10 || samples > MAX) {
		fprintf(stderr, "usage: bench_ui SESSION MAKE_SESSION DIR [SAMPLES]\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	first_paint(argv[1]);
	idle(argv[1]);
	scrolled(argv[2], argv[3], 24, 80);
	scrolled(argv[2], argv[3], 36, 120);
	key_to_paint(argv[2], argv[3], samples);
	return 0;
}
