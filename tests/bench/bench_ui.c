/* The console on a pseudo terminal, as a user meets it: bench_ui SESSION TENTH MAKE_SESSION DIR [SAMPLES]
 *
 *   first paint   from the fork to the first agents on the screen, of a session that is far too long to be read by then
 *   replay        open, seek to a place, page through the log: of SESSION and of TENTH, which has a tenth of its events
 *   memory        of both when every event has been read, with the way back that a replay keeps
 *   idle          bytes and wake-ups in five seconds in which nothing happens
 *   key to paint  a character typed into the command line until the terminal has it, while 50 agents write events as fast
 *                 as they can be recorded; the floor: a program that does nothing but send it back, at the same time
 *   a line        bytes per line of output, with its pane scrolled by it: 80x24 and 120x36, followed live; a counter
 *                 elsewhere that changes in the same frame is counted apart */
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
#include "ui/frame/ui.h"

enum { MAX = 4000, PAINTS = 9, IDLE_S = 5, STREAMING_EVENTS = 4000000, LINES = 120, FIRST_LINES = 40 };

static int master;
static pid_t child;
static struct buf heard; /* by the last listen_for */

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

/* Reads until @what has come (NULL: until it is quiet for @ms); answers what a terminal is asked. Returns the bytes,
 * or -1. */
static long listen_for(const char *what, int ms)
{
	struct buf *seen = &heard;
	double until = now_ms() + ms;
	buf_reset(seen);
	for (;;) {
		char bytes[65536];
		struct pollfd p = { .fd = master, .events = POLLIN };
		double left = what ? until - now_ms() : ms;
		if (left <= 0 || poll(&p, 1, (int)left) <= 0)
			return what ? -1 : (long)seen->len;
		ssize_t n = read(master, bytes, sizeof(bytes));
		if (n <= 0)
			return -1;
		buf_append(seen, bytes, (size_t)n);
		if (memmem(bytes, (size_t)n, "\x1b[c", 3) && write(master, "\x1b[?62c", 6) < 0)
			return -1;
		if (what && memmem(seen->data, seen->len, what, strlen(what)))
			return (long)seen->len;
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

static void judge_ratio(const char *what, double got, double most)
{
	printf("  %-44s %8.2f x      reach %.1f  %s\n", what, got, most, got <= most ? "PASS" : "FAIL");
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

/* Reads the console's output meanwhile. */
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

/* The console's share of the host, in ms: computing, and waiting for a busy processor. */
struct had {
	double ran, waited;
};

static struct had had(void)
{
	struct had h = { 0 };
	char path[64];
	unsigned long long ran = 0, waited = 0;
	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)child);
	FILE *f = fopen(path, "re");
	if (f && fscanf(f, "%llu %llu", &ran, &waited) == 2)
		h = (struct had){ (double)ran / 1e6, (double)waited / 1e6 };
	if (f)
		fclose(f);
	return h;
}

struct sample {
	double ms; /* first: by_size looks at it */
	struct had of;
};

static void key_to_paint(const char *maker, const char *dir, int samples)
{
	static struct sample got[MAX];
	static double floor_ms[MAX];
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
		struct had before = had();
		double from = now_ms();
		press("~");
		if (listen_for("~", 5000) < 0)
			exit(2);
		got[i].ms = now_ms() - from;
		got[i].of = had();
		got[i].of.ran -= before.ran;
		got[i].of.waited -= before.waited;
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
	qsort(got, (size_t)samples, sizeof(*got), by_size);
	qsort(floor_ms, (size_t)samples, sizeof(*floor_ms), by_size);
	const struct sample *mid = &got[samples / 2], *late = &got[samples * 99 / 100];
	printf("  50 agents streaming: median %.1f ms (computing %.1f, waiting for a processor %.1f), most %.1f ms\n", mid->ms,
	       mid->of.ran, mid->of.waited, got[samples - 1].ms);
	printf("  floor, a program that sends the key back: median %.1f ms, p99 %.1f ms\n", floor_ms[samples / 2],
	       floor_ms[samples * 99 / 100]);
	printf("  the p99: computing %.1f ms, waiting for a processor %.1f ms; the rest is this program's own waiting\n",
	       late->of.ran, late->of.waited);
	judge("key to paint while 50 agents stream, p99", late->ms, "ms", 16);
}

/* Bytes of the frame outside its scroll region: counters of other lines that changed in the same moment. */
static size_t beside(const struct buf *frame)
{
	int top = 0, bottom = 0, row, col;
	size_t bytes = 0, from = SIZE_MAX;
	for (const char *p = buf_cstr(frame), *begin = p, *e; *p; p++) {
		if (*p != '\x1b')
			continue;
		int n = 0;
		if (sscanf(p, "\x1b[%d;%dr%n", &row, &col, &n) == 2 && n > 0)
			top = row, bottom = col;
		e = p;
		n = 0;
		if (sscanf(p, "\x1b[%d;%dH%n", &row, &col, &n) != 2 || n == 0 || !top)
			continue;
		bytes += from == SIZE_MAX ? 0 : (size_t)(e - begin) - from;
		from = row < top || row > bottom ? (size_t)(e - begin) : SIZE_MAX;
	}
	return bytes + (from == SIZE_MAX ? 0 : frame->len - from);
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
	double most_beside = 0;
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
		double other = bytes[i] > 0 ? (double)beside(&heard) : 0;
		most_beside = other > most_beside ? other : most_beside;
		bytes[i] -= other;
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
	if (cols < 100)
		printf("  %-44s %8.1f bytes\n", "counters of other rows in the same frame", most_beside);
}

/* --- a record, without a terminal --------------------------------------------------------------------------------- */

enum { SEEKS = 41, MOVES_COLS = 120, MOVES_ROWS = 36 };

struct moves {
	double open, seek, page; /* ms, medians */
};

static double median(double *ms, size_t nr)
{
	qsort(ms, nr, sizeof(*ms), by_size);
	return ms[nr / 2];
}

static void show(struct ui *ui)
{
	ui->mono_us = (int64_t)(now_ms() * 1e3);
	ui_sync(ui);
	ui_draw(ui);
}

static double seek_to(struct ui *ui, uint64_t seq)
{
	double from = now_ms();
	ui->limit = seq;
	show(ui);
	return now_ms() - from;
}

/* The console answers a key before it reads on. */
static double key_shown(struct ui *ui, uint32_t key)
{
	double from = now_ms();
	ui_key(ui, key);
	ui_draw(ui);
	return now_ms() - from;
}

struct replay {
	struct source *s;
	struct ui ui;
};

/* As the console does it, in slices, to the first picture. */
static double replay_open(struct replay *r, const char *path)
{
	struct err err = ERR_INIT;
	double from = now_ms();
	if (source_open(&r->s, path, &err) < 0) {
		printf("  %s\n", err.text);
		exit(2);
	}
	source_keep_way(r->s);
	ui_init(&r->ui, &r->s, NULL, 1, MOVES_ROWS, MOVES_COLS, false);
	r->ui.replay = true;
	r->ui.slice_us = 4000;
	show(&r->ui);
	return now_ms() - from;
}

static void replay_close(struct replay *r)
{
	ui_release(&r->ui);
	source_close(&r->s);
}

/* Each time to a picture of the place; pages are those of the log. */
static void move_about(struct replay *r, struct moves *m)
{
	double seek[SEEKS], page[SEEKS];
	uint64_t head = session_head(r->s->session);
	for (uint64_t i = 0; i < SEEKS; i++)
		seek[i] = seek_to(&r->ui, head / SEEKS * (i * 17 % SEEKS) + 1);
	key_shown(&r->ui, 'L');
	for (uint64_t i = 0; i < SEEKS; i++)
		page[i] = key_shown(&r->ui, K_PGUP);
	m->seek = median(seek, SEEKS);
	m->page = median(page, SEEKS);
}

static struct moves moves_in(const char *path)
{
	double open[PAINTS];
	struct replay r;
	struct moves m;
	for (int i = 0; i < PAINTS; i++) {
		if (i > 0)
			replay_close(&r);
		open[i] = replay_open(&r, path);
	}
	m.open = median(open, PAINTS);
	move_about(&r, &m);
	replay_close(&r);
	return m;
}

static void moves(const char *path, const char *tenth)
{
	struct moves few = moves_in(tenth), many = moves_in(path);
	printf("  replay: open %.1f ms, seek %.1f ms, page %.2f ms; of a tenth of it: %.1f, %.1f, %.2f\n", many.open, many.seek,
	       many.page, few.open, few.seek, few.page);
	judge_ratio("open, over a tenth of the events", many.open / few.open, 1.5);
	judge_ratio("seek, over a tenth of the events", many.seek / few.seek, 1.5);
	judge_ratio("page, over a tenth of the events", many.page / few.page, 1.5);
}

struct weight {
	double own_mb, file_mb, s; /* heap; pages of its files in memory; time until it had read all */
	struct moves then;	   /* when it had */
};

static double status_mb(const char *what)
{
	char line[256];
	double kb = 0;
	FILE *f = fopen("/proc/self/status", "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, what, strlen(what)))
			kb = atof(line + strlen(what));
	if (f)
		fclose(f);
	return kb / 1024;
}

/* In a process of its own: what others have left in the heap does not count. */
static struct weight weight_of(const char *path)
{
	struct weight w = { 0 };
	int out[2];
	if (pipe2(out, O_CLOEXEC) < 0)
		exit(2);
	pid_t pid = fork();
	if (pid == 0) {
		struct replay r;
		double from = now_ms(), own = status_mb("RssAnon:"), file = status_mb("RssFile:");
		replay_open(&r, path);
		while (source_reading(r.s))
			show(&r.ui);
		w = (struct weight){ status_mb("RssAnon:") - own, status_mb("RssFile:") + status_mb("RssShmem:") - file,
				     (now_ms() - from) / 1e3, { 0, 0, 0 } };
		move_about(&r, &w.then);
		_exit(write(out[1], &w, sizeof(w)) == (ssize_t)sizeof(w) ? 0 : 1);
	}
	close(out[1]);
	if (read(out[0], &w, sizeof(w)) != (ssize_t)sizeof(w))
		exit(2);
	close(out[0]);
	waitpid(pid, NULL, 0);
	return w;
}

static void memory(const char *path, const char *tenth)
{
	struct weight few = weight_of(tenth), many = weight_of(path);
	printf("  read completely: after %.1f s, a tenth of it after %.1f s; pages of files in memory: %.1f MB, %.1f MB\n", many.s,
	       few.s, many.file_mb, few.file_mb);
	judge("memory of its own, when all has been read", many.own_mb, "MB", 64);
	printf("  %-44s %8.1f MB\n", "the same of a tenth of the events", few.own_mb);
	printf("  then: a slice of a seek %.1f ms, page %.2f ms; of a tenth of it: %.1f, %.2f\n", many.then.seek, many.then.page,
	       few.then.seek, few.then.page);
	judge_ratio("seek when all has been read, over a tenth", many.then.seek / few.then.seek, 1.5);
	judge_ratio("page when all has been read, over a tenth", many.then.page / few.then.page, 1.5);
}

int main(int argc, char **argv)
{
	int samples = argc > 5 ? atoi(argv[5]) : 300;
	if (argc < 5 || samples < 10 || samples > MAX) {
		fprintf(stderr, "usage: bench_ui SESSION TENTH MAKE_SESSION DIR [SAMPLES]\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	first_paint(argv[1]);
	moves(argv[1], argv[2]);
	memory(argv[1], argv[2]);
	idle(argv[1]);
	scrolled(argv[3], argv[4], 24, 80);
	scrolled(argv[3], argv[4], 36, 120);
	key_to_paint(argv[3], argv[4], samples);
	return 0;
}
