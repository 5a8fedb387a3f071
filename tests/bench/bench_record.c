/* The session file against its floors and its peers. One line each: name, median, ratio, target, PASS or FAIL.
 * BENCH_BIG=1 also builds ten million events; BENCH_QUICK=1 records 100 MB instead of 1 GB. bench_record
 * [objects|events|chunks|flood|reading...] */
#include <errno.h>
#include <fcntl.h>
#include <git2.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "record/read/session.h"
#include "record/record.h"
#include "record/store.h"
#include "tests/bench/scratch.h"
#include "tests/bench/verdict.h"

extern char **environ;

static char root[128];
static struct loop *l;
static int failed;

static int64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *v, size_t nr)
{
	qsort(v, nr, sizeof(*v), by_value);
	return v[nr / 2];
}

enum sense { AT_MOST, AT_LEAST };
static void line(const char *name, const char *shown, double ratio, enum sense sense, double target)
{
	bool good = sense == AT_MOST ? ratio <= target : ratio >= target;
	failed += !good;
	printf("%-34s %-34s ratio %8.3f  target %s %-6.3g %s\n", name, shown, ratio, sense == AT_MOST ? "<=" : ">=", target,
	       good ? "PASS" : "FAIL");
	fflush(stdout);
}

/* The same over pairs, each of which has a floor of its own: sorts @ratio. */
static void line_pairs(const char *name, const char *shown, double *ratio, size_t nr, double target)
{
	double middle = median(ratio, nr);
	bool good = middle >= target, agree = bench_pairs_agree((int)nr, ratio[nr / 4], middle, ratio[nr * 3 / 4]);
	failed += !good && agree;
	printf("%-34s %-34s ratio %8.3f  target >= %-6.3g %s\n", name, shown, middle, target, bench_verdict(good, agree));
	fflush(stdout);
}

static void die(const struct err *err)
{
	fprintf(stderr, "bench_record: %s\n", err->text);
	exit(1);
}

static struct record *make(const char *name)
{
	struct err err;
	struct record *r;
	CLEANUP(free_ptr) char *dir = path_join(root, "s");
	if (record_create(&r, l, dir, name, NULL, NULL, NULL, &err) < 0)
		die(&err);
	return r;
}

static char *path_join_here(const char *name)
{
	return path_join(root, name);
}

static char *finish(struct record **r)
{
	struct err err;
	char *path = mem_strdup(record_path(*r));
	if (record_close(r, NULL, &err) < 0)
		die(&err);
	return path;
}

static void set_flag(void *self)
{
	*(bool *)self = true;
}

static void sync_record(struct record *r)
{
	bool done = false;
	record_barrier(r, record_head(r), set_flag, &done);
	while (!done)
		loop_turn(l, 10);
}

static off_t size_of(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 ? st.st_size : 0;
}

/* --- 7: git objects in the file / loose objects ------------------------------------------------------------------- */

static void bench_objects(void)
{
	enum { BLOBS = 1000, ROUNDS = 3 };
	double ours[ROUNDS], loose[ROUNDS], kept = 0, raw = 0;
	char *text = mem_alloc(8192);
	git_libgit2_init();
	for (int round = 0; round < ROUNDS; round++) {
		struct record *r = make("odb");
		sync_record(r);
		int64_t t = now_ns();
		struct objects *o = objects_new();
		struct object_id id;
		for (int i = 0; i < BLOBS; i++) {
			int n = 0;
			while (n < 4000)
				n += snprintf(text + n, 120, "int value_%d_%d = %d; /* of round %d */\n", i, n, i * n, round);
			objects_add(o, OBJECT_BLOB, text, (size_t)n, &id);
			raw += n;
		}
		struct event ev = { .kind = 210, .body = "{}", .len = 2 };
		record_objects(r, o, &ev);
		sync_record(r);
		ours[round] = (double)(now_ns() - t);
		char *path = finish(&r);
		kept += (double)size_of(path);
		free(path);

		char dir[64];
		snprintf(dir, sizeof(dir), "%s/loose%d", root, round);
		mkdir(dir, 0700);
		git_odb *odb;
		git_odb_backend *b;
		if (git_odb_new(&odb) < 0 || git_odb_backend_loose(&b, dir, -1, 0, 0, 0) < 0 || git_odb_add_backend(odb, b, 1) < 0)
			exit(1);
		t = now_ns();
		for (int i = 0; i < BLOBS; i++) {
			git_oid oid;
			int n = 0;
			while (n < 4000)
				n += snprintf(text + n, 120, "int value_%d_%d = %d; /* of round %d */\n", i, n, i * n, round);
			git_odb_write(&oid, odb, text, (size_t)n, GIT_OBJECT_BLOB);
		}
		loose[round] = (double)(now_ns() - t);
		git_odb_free(odb);
	}
	git_libgit2_shutdown();
	free(text);
	double a = median(ours, ROUNDS), b = median(loose, ROUNDS);
	char shown[64];
	snprintf(shown, sizeof(shown), "%.1f ms (loose %.1f ms)", a / 1e6, b / 1e6);
	line("objects: 1,000 blobs", shown, a / b, AT_MOST, 0.5);
	snprintf(shown, sizeof(shown), "%.0f KB of %.0f KB", kept / ROUNDS / 1024, raw / ROUNDS / 1024);
	line("objects: bytes stored", shown, kept / raw, AT_MOST, 0.6);
}

/* --- 8: events in batches / a raw write() each -------------------------------------------------------------------- */

static const char body[] = "{\"text\":\"a body of about two hundred bytes, as most events have one: a name, a path or two, some "
			   "numbers, a hash; none of them long, all of them real data of an ordinary event\",\"n\":123456}";

static double raw_write(void)
{
	enum { N = 100000 };
	CLEANUP(free_ptr) char *path = path_join_here("raw");
	CLEANUP(fd_close) int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
	int64_t t = now_ns();
	for (int i = 0; i < N; i++)
		if (write(fd, body, sizeof(body) - 1) < 0)
			exit(1);
	return N * 1e9 / (double)(now_ns() - t);
}

static double fdatasync_us(void)
{
	double v[51];
	CLEANUP(free_ptr) char *path = path_join_here("sync");
	CLEANUP(fd_close) int fd = open(path, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
	char block[4096] = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(v); i++) {
		int64_t t = now_ns();
		if (write(fd, block, sizeof(block)) < 0 || fdatasync(fd) < 0)
			exit(1);
		v[i] = (double)(now_ns() - t) / 1e3;
	}
	return median(v, ARRAY_LEN(v));
}

static double store_rate(int batch, bool full)
{
	struct err err;
	struct store *s;
	uint8_t uuid[UUID_LEN] = { 0 }, seed[SIGN_SEED_LEN] = { 1 };
	int n = full ? (batch >= 100 ? 20000 : batch * 400) : (batch == 1 ? 5000 : 50000);
	CLEANUP(free_ptr) char *path = mem_printf("%s/b%d%d.glass", root, batch, full);
	CLEANUP(fd_close) int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	fd_close(&fd);
	if (store_create(&s, path, "s-bench", uuid, "bench", seed, &err) < 0)
		die(&err);
	int64_t t = now_ns();
	struct event ev[1000] = { 0 };
	const struct event *row[ARRAY_LEN(ev)];
	for (uint64_t seq = 0; seq < (uint64_t)n;) {
		int k = 0;
		for (; k < batch && seq < (uint64_t)n; k++) {
			ev[k] = (struct event){ .seq = ++seq, .kind = 420, .agent = 2, .box = 3, .action = 9, .body = body,
						.len = sizeof(body) - 1 };
			row[k] = &ev[k];
		}
		/* as the writer does with the events queued meanwhile */
		if (store_begin(s) != STORE_OK || store_events(s, row, (size_t)k) != STORE_OK || store_commit(s, full) != STORE_OK)
			exit(1);
	}
	double rate = n * 1e9 / (double)(now_ns() - t);
	if (store_close(&s, false, &err) < 0)
		die(&err);
	for (size_t i = 0; i < 3; i++) {
		CLEANUP(free_ptr) char *file = mem_printf("%s%s", path, ((const char *[]){ "", "-wal", "-shm" })[i]);
		unlink(file);
	}
	return rate;
}

/* In rounds, so that what else the machine does falls on all alike. */
static void bench_events(void)
{
	enum { ROUNDS = 5, SIZES = 4 };
	static const int batch[SIZES] = { 1, 10, 100, 1000 };
	double raw[ROUNDS], normal[SIZES][ROUNDS], full[SIZES][ROUNDS], to_write[ROUNDS], to_one[ROUNDS];
	for (size_t k = 0; k < ROUNDS; k++) {
		for (size_t i = 0; i < SIZES; i++) {
			full[i][k] = store_rate(batch[i], true);
			normal[i][k] = store_rate(batch[i], false);
		}
		raw[k] = raw_write();
		to_write[k] = normal[3][k] / raw[k];
		to_one[k] = normal[2][k] / normal[0][k];
	}
	printf("  write() per event %.0f k/s; fdatasync of 4 KB %.0f us\n", median(raw, ROUNDS) / 1e3, fdatasync_us());
	for (size_t i = 0; i < SIZES; i++)
		printf("  batch %-5d NORMAL %7.1f k/s   FULL %7.1f k/s\n", batch[i], median(normal[i], ROUNDS) / 1e3,
		       median(full[i], ROUNDS) / 1e3);
	char shown[64];
	snprintf(shown, sizeof(shown), "%.0f k events/s", median(normal[3], ROUNDS) / 1e3);
	line_pairs("events: batch 1000 / write()", shown, to_write, ROUNDS, 0.15);
	snprintf(shown, sizeof(shown), "%.0f k / %.0f k", median(normal[2], ROUNDS) / 1e3, median(normal[0], ROUNDS) / 1e3);
	line_pairs("events: batch 100 / batch 1", shown, to_one, ROUNDS, 5);
}

/* --- 9, 10, 11: output -------------------------------------------------------------------------------------------- */

/* Log text that is neither random nor all the same; much like what builds and tests print. */
static char *make_log(size_t len)
{
	char *text = mem_alloc(len + 256);
	size_t n = 0;
	uint32_t x = 12345;
	while (n < len) {
		x = x * 1664525u + 1013904223u;
		n += (size_t)snprintf(text + n, 200, "-rw-r--r-- 1 user group %7u Nov %2u %02u:%02u src/module_%u/file_%u.%s\n", x >> 12,
				      x % 28 + 1, x >> 8 & 15, x >> 4 & 31, x >> 24, x >> 16 & 1023, x & 64 ? "c" : "h");
	}
	return text;
}

static bool index_reaches(const char *path, uint64_t seq)
{
	struct err err;
	struct session *s;
	if (session_open(&s, path, &err) < 0)
		die(&err);
	bool there = session_indexed(s) >= seq;
	session_close(&s);
	return there;
}

/* MB/s of @text passed in pieces of @piece, up to the committed end. */
static double chunk_rate(const char *text, size_t total, size_t piece)
{
	struct record *r = make("pieces");
	sync_record(r);
	int64_t t = now_ns();
	for (size_t i = 0; i + piece <= total; i += piece) {
		record_output(r, 5, STREAM_OUT, text + i, piece);
		while (record_backlog(r) > RECORD_FLOOD)
			loop_turn(l, 1);
	}
	record_output_end(r, 5);
	sync_record(r);
	double seconds = (double)(now_ns() - t) / 1e9;
	record_abandon(&r);
	return (double)total / 1e6 / seconds;
}

/* Incompressible data is kept raw: random bytes test that path. */
static char *make_noise(size_t len)
{
	char *bytes = mem_alloc(len);
	uint64_t x = 88172645463325252u;
	for (size_t i = 0; i + 8 <= len; i += 8) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		memcpy(bytes + i, &x, 8);
	}
	return bytes;
}

static void bench_pieces(void)
{
	enum { TOTAL = 32 << 20, ROUNDS = 3 };
	static const size_t piece[] = { 4096, 16384, 65536 };
	char *text = make_log(TOTAL), *noise = make_noise(TOTAL);
	for (size_t i = 0; i < ARRAY_LEN(piece); i++) {
		double zstd[ROUNDS], raw[ROUNDS];
		for (int k = 0; k < ROUNDS; k++) {
			zstd[k] = chunk_rate(text, TOTAL, piece[i]);
			raw[k] = chunk_rate(noise, TOTAL, piece[i]);
		}
		double a = median(zstd, ROUNDS), b = median(raw, ROUNDS);
		printf("  output in pieces of %2zu KB: zstd %4.0f MB/s, kept raw %4.0f MB/s, ratio %.2f\n", piece[i] / 1024, a, b,
		       a / b);
	}
	free(text);
	free(noise);
}

static void bench_chunks(void)
{
	enum { TOTAL = 64 << 20 };
	char *text = make_log(TOTAL);
	struct record *r = make("chunks");
	sync_record(r);
	double worst = 0;
	size_t calls = TOTAL / 4096;
	double *v = mem_calloc(calls, sizeof(*v));
	int64_t t = now_ns();
	for (size_t i = 0; i < calls; i++) {
		int64_t one = now_ns();
		record_output(r, 5, STREAM_OUT, text + i * 4096, 4096);
		v[i] = (double)(now_ns() - one) / 1e3;
		worst = v[i] > worst ? v[i] : worst;
		while (record_backlog(r) > RECORD_FLOOD)
			loop_turn(l, 1);
	}
	record_output_end(r, 5);
	sync_record(r);
	double seconds = (double)(now_ns() - t) / 1e9;
	qsort(v, calls, sizeof(*v), by_value);
	char shown[64];
	snprintf(shown, sizeof(shown), "p50 %.2f us, p99 %.2f, max %.0f", v[calls / 2], v[calls * 99 / 100], worst);
	line("enqueue 4 KB in a flood, p99 us", shown, v[calls * 99 / 100], AT_MOST, 10);
	free(v);

	CLEANUP(free_ptr) char *path = path_join_here("floor");
	CLEANUP(fd_close) int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
	t = now_ns();
	for (size_t i = 0; i < TOTAL; i += 65536)
		if (write(fd, text + i, 65536) < 0)
			exit(1);
	double floor_s = (double)(now_ns() - t) / 1e9;
	/* the index follows in the background: the size is that of the file with all of it */
	t = now_ns();
	uint64_t seq[1];
	size_t found = 0;
	record_output(r, 6, STREAM_OUT, "Zwetschgenkuchen", 16);
	record_output_end(r, 6);
	sync_record(r);
	while (!index_reaches(record_path(r), record_committed(r)))
		usleep(20000);
	printf("  the index is %.1f s behind a flood of 64 MB\n", (double)(now_ns() - t) / 1e9);
	char *file = finish(&r);
	struct session *s;
	struct err err;
	if (session_open(&s, file, &err) < 0 || session_search(s, "zwetschgenkuchen", 0, 1, seq, &found, &err) < 0 || !found)
		die(&err);
	session_close(&s);
	double size = (double)size_of(file);
	printf("  output in chunks of 4 KB %.0f MB/s, raw write() %.0f MB/s\n", 64 / seconds, 64 / floor_s);
	snprintf(shown, sizeof(shown), "%.1f MB of 64 MB, with its index", size / 1048576);
	line("session file / raw output", shown, size / TOTAL, AT_MOST, 0.3);
	free(file);
	free(text);
}

/* Runs a shell command, waits, returns seconds. */
static double run_shell(const char *cmd)
{
	pid_t pid;
	char *argv[] = { (char[]){ "sh" }, (char[]){ "-c" }, mem_strdup(cmd), NULL };
	int64_t t = now_ns();
	int status = 0;
	if (posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ) == 0)
		waitpid(pid, &status, 0);
	free(argv[2]);
	return (double)(now_ns() - t) / 1e9;
}

enum keep { DROPPED, APPENDED, RECORDED };

/* The reading and the writing end of a terminal that changes nothing on the way. */
static void open_pty(int p[2])
{
	struct termios t;
	p[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (p[0] < 0 || grantpt(p[0]) < 0 || unlockpt(p[0]) < 0)
		exit(1);
	p[1] = open(ptsname(p[0]), O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (p[1] < 0 || tcgetattr(p[1], &t) < 0)
		exit(1);
	cfmakeraw(&t);
	tcsetattr(p[1], TCSANOW, &t);
}

/* Seconds until what a command prints is where @keep wants it. A terminal ends with EIO. */
static double run_recorded(const char *cmd, enum keep keep, bool pty)
{
	int p[2];
	pid_t pid;
	if (pty)
		open_pty(p);
	else if (pipe2(p, O_CLOEXEC) < 0)
		exit(1);
	CLEANUP(free_ptr) char *path = path_join_here("appended");
	CLEANUP(fd_close) int file = keep == APPENDED ? open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600) : -1;
	posix_spawn_file_actions_t fa;
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, p[1], 1);
	char *argv[] = { (char[]){ "sh" }, (char[]){ "-c" }, mem_strdup(cmd), NULL };
	struct record *r = keep == RECORDED ? make("flood") : NULL;
	char *chunk = mem_alloc(65536);
	struct err err;
	int64_t t = now_ns();
	if (posix_spawn(&pid, "/bin/sh", &fa, NULL, argv, environ) != 0)
		exit(1);
	posix_spawn_file_actions_destroy(&fa);
	close(p[1]);
	for (ssize_t n; (n = read(p[0], chunk, 65536)) > 0;) {
		if (file >= 0 && fd_write_all(file, chunk, (size_t)n, &err) < 0)
			die(&err);
		if (!r)
			continue;
		record_output(r, 5, STREAM_OUT, chunk, (size_t)n);
		while (record_backlog(r) > RECORD_FLOOD)
			loop_turn(l, 1);
	}
	if (r) {
		record_output_end(r, 5);
		sync_record(r);
	}
	double seconds = (double)(now_ns() - t) / 1e9;
	close(p[0]);
	waitpid(pid, NULL, 0);
	free(argv[2]);
	free(chunk);
	if (r)
		record_abandon(&r);
	return seconds;
}

static void bench_flood(void)
{
	const int mb = getenv("BENCH_QUICK") ? 100 : 1024;
	char shown[64];
	CLEANUP(free_ptr) char *log = path_join_here("log");
	struct err err;
	char *text = make_log(1 << 20);
	if (file_write_atomic(log, text, 1 << 20, 0600, &err) < 0)
		die(&err);
	free(text);
	CLEANUP(free_ptr) char *flood = mem_printf("i=0; while [ $i -lt %d ]; do cat %s; i=$((i+1)); done", mb, log);
	CLEANUP(free_ptr) char *peer_flood = mem_printf("i=0; while [ $i -lt 100 ]; do cat %s; i=$((i+1)); done", log);
	CLEANUP(free_ptr) char *short_flood = mem_printf("i=0; while [ $i -lt 10 ]; do cat %s; i=$((i+1)); done", log);
	double kept = 0;
	for (int pty = 0; pty < 2; pty++) {
		int part = pty ? 100 : mb; /* a terminal passes 4 KB at a time */
		double s[3];
		for (int k = DROPPED; k <= RECORDED; k++)
			s[k] = run_recorded(pty ? peer_flood : flood, (enum keep)k, pty);
		printf("  %d MB through a %s: dropped %.0f MB/s, appended to a file %.0f MB/s, recorded %.0f MB/s (%.3f of dropped,"
		       " %.3f of appended)\n", part, pty ? "pty" : "pipe", part / s[DROPPED], part / s[APPENDED],
		       part / s[RECORDED], s[DROPPED] / s[RECORDED], s[APPENDED] / s[RECORDED]);
		kept = pty ? kept : s[RECORDED] / part;
	}
	if (run_shell("command -v script >/dev/null") >= 0 && access("/usr/bin/script", X_OK) == 0) {
		CLEANUP(free_ptr) char *cmd = mem_printf("script -q -c '%s' %s/typescript </dev/null >/dev/null", peer_flood, root);
		double peer = run_shell(cmd) / 100;
		snprintf(shown, sizeof(shown), "%.0f MB/s (script %.0f MB/s)", 1 / kept, 1 / peer);
		line("record a flood / script", shown, peer / kept, AT_LEAST, 1.5);
	}
	if (access("/usr/bin/asciinema", X_OK) == 0) { /* it wants UTF-8 and its directory; what refuses to run is fast */
		CLEANUP(free_ptr) char *cast = path_join_here("cast");
		CLEANUP(free_ptr) char *cmd = mem_printf("LC_ALL=C.UTF-8 TERM=xterm HOME=%s asciinema rec -q --overwrite -c '%s' %s "
							"</dev/null >/dev/null 2>&1", root, short_flood, cast);
		double peer = run_shell(cmd) / 10;
		snprintf(shown, sizeof(shown), "%.0f MB/s (asciinema %.1f MB/s)", 1 / kept, 1 / peer);
		if (size_of(cast) < 10 << 20)
			printf("  asciinema does not run here\n");
		else
			line("record a flood / asciinema", shown, peer / kept, AT_LEAST, 10);
	}
	static const char printer[] = "awk 'BEGIN{for(i=0;i<200000;i++){print i\" the quick brown fox jumps over the lazy dog, "
				      "again and again and again\"; fflush()}}'";
	double a[3], b[3];
	for (int i = 0; i < 3; i++) {
		a[i] = run_recorded(printer, RECORDED, false);
		b[i] = run_recorded(printer, DROPPED, false);
	}
	double x = median(a, 3), y = median(b, 3);
	snprintf(shown, sizeof(shown), "%.0f ms (dropped %.0f ms)", x * 1e3, y * 1e3);
	line("a line printer: dropped / recorded", shown, y / x, AT_LEAST, 0.9);
}

/* --- 12: reading at size ------------------------------------------------------------------------------------------ */

struct reading {
	double open_us, get_us, seek_us, page_us;
};

static char *build(uint64_t events)
{
	struct record *r = make("size");
	struct event ev = { .kind = 420, .box = 3, .action = 9, .body = body, .len = sizeof(body) - 1 };
	for (uint64_t i = 0; i < events; i++) {
		ev.agent = 2 + i % 7;
		record_append(r, &ev);
		if (i % 1000 == 0)
			do {
				loop_turn(l, 0);
			} while (record_backlog(r) > RECORD_FLOOD / 2 && (usleep(200), true));
	}
	return finish(&r);
}

static struct reading read_at(const char *path, uint64_t events)
{
	enum { N = 301 };
	double open_us[N], get_us[N], seek_us[N], page_us[N];
	struct err err;
	struct session *s = NULL;
	struct event ev;
	struct arena arena = ARENA_INIT;
	struct feed *f;
	uint64_t x = 88172645463325252u;
	for (int i = 0; i < N; i++) {
		session_close(&s);
		int64_t t = now_ns();
		if (session_open(&s, path, &err) < 0 || session_event(s, 1, &ev, &arena, &err) < 0)
			die(&err);
		open_us[i] = (double)(now_ns() - t) / 1e3;
	}
	if (feed_new(&f, s, FEED_ALL, 0, &err) < 0)
		die(&err);
	for (int i = 0; i < N * 20; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		uint64_t seq = 1 + x % events;
		arena_reset(&arena);
		int64_t t = now_ns();
		if (session_event(s, seq, &ev, &arena, &err) < 0)
			die(&err);
		get_us[i % N] = (double)(now_ns() - t) / 1e3;
		t = now_ns();
		feed_seek(f, seq);
		if (feed_next(f, &ev, &arena, 0, &err) < 0)
			die(&err);
		seek_us[i % N] = (double)(now_ns() - t) / 1e3;
		t = now_ns();
		feed_seek(f, seq);
		for (int k = 0; k < 60; k++)
			if (feed_next(f, &ev, &arena, 0, &err) < 0)
				die(&err);
		page_us[i % N] = (double)(now_ns() - t) / 1e3;
	}
	feed_free(&f);
	session_close(&s);
	arena_release(&arena);
	return (struct reading){ median(open_us, N), median(get_us, N), median(seek_us, N), median(page_us, N) };
}

static void show(const char *what, const struct reading *r)
{
	printf("  %-6s open %.0f us, get %.1f us, seek %.1f us, page of 60 %.1f us\n", what, r->open_us, r->get_us, r->seek_us,
	       r->page_us);
}

/* The promised ratio is ten million against one; the smaller file of the small pair fits into the processor's cache. */
static void ratio(const char *what, bool big, double small, double large)
{
	char shown[64];
	CLEANUP(free_ptr) char *name = mem_printf("%s: %s", what, big ? "10M / 1M" : "1M / 100k");
	snprintf(shown, sizeof(shown), "%.1f us / %.1f us", large, small);
	if (big)
		line(name, shown, large / small, AT_MOST, 1.5);
	else
		printf("%-34s %-34s ratio %8.3f  (BENCH_BIG=1 judges 10M / 1M)\n", name, shown, large / small);
}

static void bench_reading(void)
{
	bool big = getenv("BENCH_BIG") != NULL;
	uint64_t few = big ? 1000000 : 100000, many = few * 10;
	char *a = build(few), *b = build(many);
	struct reading x = read_at(a, few), y = read_at(b, many);
	show(big ? "1M" : "100k", &x);
	show(big ? "10M" : "1M", &y);
	ratio("open", big, x.open_us, y.open_us);
	ratio("get", big, x.get_us, y.get_us);
	ratio("seek", big, x.seek_us, y.seek_us);
	ratio("page", big, x.page_us, y.page_us);
	free(a);
	free(b);
}

static bool wanted(int argc, char **argv, const char *part)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], part))
			return true;
	return argc < 2;
}

int main(int argc, char **argv)
{
	struct err err;
	scratch_name(root, sizeof(root));
	if (!mkdtemp(root) || loop_new(&l, &err) < 0)
		return 1;
	setenv("XDG_STATE_HOME", root, 1);
	hash_init();
	if (wanted(argc, argv, "objects"))
		bench_objects();
	if (wanted(argc, argv, "events"))
		bench_events();
	if (wanted(argc, argv, "chunks")) {
		bench_pieces();
		bench_chunks();
	}
	if (wanted(argc, argv, "flood"))
		bench_flood();
	if (wanted(argc, argv, "reading"))
		bench_reading();
	loop_free(l);
	if (dir_remove(root, &err) < 0)
		fprintf(stderr, "bench_record: %s\n", err.text);
	return failed ? 1 : 0;
}
