/* The console on a pseudo terminal, as a person meets it: bench_ui SESSION MAKE_SESSION DIR [SAMPLES]
 *
 *   first paint   from the fork to the first agents on the screen, of a session that is far too long to be read by then
 *   idle          bytes and wake-ups in five seconds in which nothing happens
 *   key to paint  a character typed into the command line until the terminal has it, while 50 agents write events as fast
 *                 as they can be recorded
 *   a row up      bytes for one row of the log that comes in at the top */
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "ui/console.h"

enum { MAX = 4000, PAINTS = 9, IDLE_S = 5, STREAMING_EVENTS = 4000000, ROWS_UP = 60 };

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

static void open_console(const char *path, const char *view)
{
	struct winsize ws = { .ws_row = 36, .ws_col = 120 };
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
	press("L");
	listen_for(NULL, 300);
	long most = 0;
	for (int i = 0; i < ROWS_UP; i++) {
		press("k");
		long n = listen_for(NULL, 100);
		most += i >= ROWS_UP / 2 ? n : 0;
	}
	printf("  %-44s %8.1f bytes\n", "a row of the log up, cursor and counts too", (double)most / (ROWS_UP - ROWS_UP / 2));
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

static void key_to_paint(const char *maker, const char *dir, int samples)
{
	static double ms[MAX];
	char path[4096];
	int status;
	pid_t writer = stream(maker, dir, path);
	open_console(path, "fleet");
	if (listen_for("AGENT", 20000) < 0)
		exit(2);
	press(":");
	listen_for(NULL, 30);
	for (int i = 0; i < samples && i < MAX; i++) {
		if (i % 40 == 39)
			press("\x15");
		double until = now_ms() + 5 + i * 7 % 40; /* not in step with the frames */
		while (now_ms() < until) {
			struct pollfd p = { .fd = master, .events = POLLIN };
			char bytes[65536];
			if (poll(&p, 1, 1) > 0 && read(master, bytes, sizeof(bytes)) <= 0)
				exit(2);
		}
		double from = now_ms();
		press("~");
		if (listen_for("~", 5000) < 0)
			exit(2);
		ms[i] = now_ms() - from;
	}
	bool running = waitpid(writer, &status, WNOHANG) == 0;
	close_console();
	kill(writer, SIGKILL);
	waitpid(writer, &status, 0);
	qsort(ms, (size_t)samples, sizeof(*ms), by_size);
	printf("  50 agents streaming%s: median %.1f ms, most %.1f ms\n", running ? "" : " (they had ended)", ms[samples / 2],
	       ms[samples - 1]);
	judge("key to paint while 50 agents stream, p99", ms[samples * 99 / 100], "ms", 16);
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
	key_to_paint(argv[2], argv[3], samples);
	return 0;
}
