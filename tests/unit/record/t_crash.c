/* A writer that dies: nothing that was acknowledged is missing, the file verifies, resumes, and nobody writes twice. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/read/lease.h"
#include "record_help.h"

enum { KILLS = 20, KILLS_LONG = 50 /* with LONG */ };

struct writer {
	struct record *r;
	int ack;
	uint64_t seq;
	int rounds;
};

/* The acknowledgement goes out only behind a barrier. */
static void on_durable(void *self)
{
	struct writer *w = self;
	uint64_t seq = w->seq;
	if (write(w->ack, &seq, sizeof(seq)) != sizeof(seq))
		_exit(3);
	uint64_t a = record_head(w->r) + 1;
	for (int i = 0; i < 3; i++) {
		json_t *b = json_object();
		json_put_int(b, "n", w->rounds);
		record_append_json(w->r, 420, 0, 0, 0, 0, b);
	}
	record_output(w->r, a, STREAM_OUT, "some output\n", 12);
	record_output_end(w->r, a);
	if (w->rounds++ % 10 == 0)
		record_checkpoint(w->r);
	w->seq = record_head(w->r);
	record_barrier(w->r, w->seq, on_durable, w);
}

static void child(int path_out, int ack_out)
{
	struct err err = ERR_INIT;
	struct loop *l = NULL;
	struct writer w = { .ack = ack_out };
	if (loop_new(&l, &err) < 0 || record_create(&w.r, l, help_dir(), "crash", NULL, NULL, NULL, &err) < 0)
		_exit(2);
	const char *path = record_path(w.r);
	if (write(path_out, path, strlen(path)) < 0)
		_exit(2);
	close(path_out);
	w.seq = record_head(w.r);
	record_barrier(w.r, w.seq, on_durable, &w);
	loop_run(l);
	_exit(0);
}

/* Kills a writer after @us; fills the path and the last acknowledged seq. */
static char *kill_one(unsigned us, uint64_t *acked, const char *failpoint)
{
	int path_pipe[2], ack_pipe[2];
	if (pipe2(path_pipe, O_CLOEXEC) < 0 || pipe2(ack_pipe, O_CLOEXEC) < 0)
		exit(99);
	pid_t pid = fork();
	if (pid == 0) {
		if (failpoint)
			setenv("FAILPOINT", failpoint, 1);
		alarm(60);
		child(path_pipe[1], ack_pipe[1]);
	}
	close(path_pipe[1]);
	close(ack_pipe[1]);
	struct err err;
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	if (fd_read_all(path_pipe[0], &path, 4096, &err) < 0 || !path.len)
		ok(false, "no writer: %s", err.text);
	if (!failpoint) {
		usleep(us);
		kill(pid, SIGKILL);
	}
	int status;
	waitpid(pid, &status, 0);
	*acked = 0;
	uint64_t seq;
	while (read(ack_pipe[0], &seq, sizeof(seq)) == sizeof(seq))
		*acked = seq;
	close(path_pipe[0]);
	close(ack_pipe[0]);
	return buf_take(&path);
}

static void on_failure(void *self, const char *name, enum verify_result result, const char *text, uint64_t seq)
{
	if (result == VERIFY_FAIL)
		help_report(self, name, result, text, seq);
}

/* True if the file holds everything acknowledged and verifies. */
static bool survives(const char *path, uint64_t acked)
{
	struct err err = ERR_INIT;
	struct session *s = NULL;
	struct verify_totals t;
	if (session_open(&s, path, &err) < 0) {
		printf("# %s\n", err.text);
		return false;
	}
	bool good = session_head(s) >= acked && verify_session(s, NULL, on_failure, NULL, &t, &err) == 0 && t.failed == 0;
	if (!good)
		printf("# head %" PRIu64 " acked %" PRIu64 "\n", session_head(s), acked);
	session_close(&s);
	return good;
}

static void set_flag(void *self)
{
	*(bool *)self = true;
}

static void test_kills(void)
{
	int good = 0;
	uint64_t total = 0;
	char *last = NULL;
	srand(4711);
	const int kills = getenv("LONG") ? KILLS_LONG : KILLS;
	for (int i = 0; i < kills; i++) {
		uint64_t acked;
		free(last);
		last = kill_one(500 + (unsigned)rand() % 40000, &acked, NULL);
		good += survives(last, acked);
		total += acked;
	}
	is_int(good, kills, "killed at random moments: no acknowledged event is missing, every file verifies");
	ok(total > (uint64_t)kills, "%" PRIu64 " events were acknowledged", total);

	struct err err = ERR_INIT;
	struct loop *l = NULL;
	struct record *r = NULL;
	struct session *s = NULL;
	ok(loop_new(&l, &err) == 0 && record_resume(&r, l, last, NULL, NULL, &err) == 0, "it resumes: %s", err.text);
	bool done = false;
	record_barrier(r, record_head(r), set_flag, &done);
	help_wait(l, &done);
	ok(record_close(&r, NULL, &err) == 0, "and ends: %s", err.text);
	ok(session_open(&s, last, &err) == 0, "opens");
	help_verify(s, 0, "and verifies");
	session_close(&s);
	ok(record_resume(&r, l, last, NULL, NULL, &err) == 0, "a finished recording resumes, too: %s", err.text);
	ok(record_close(&r, NULL, &err) == 0, "and ends again");
	ok(session_open(&s, last, &err) == 0, "opens");
	help_verify(s, 0, "and verifies");
	session_close(&s);
	loop_free(l);
	free(last);
}

static void test_failpoints(void)
{
	static const char *const points[] = { "record-before-commit:1", "record-before-commit:7", "record-after-commit:1",
					      "record-after-commit:9", "record-after-commit:30" };
	for (size_t i = 0; i < ARRAY_LEN(points); i++) {
		uint64_t acked;
		char *path = kill_one(0, &acked, points[i]);
		ok(survives(path, acked), "killed at %s (%" PRIu64 " acknowledged)", points[i], acked);
		free(path);
	}
}

/* A WAL that lost its end comes back without a word: only the anchor knows. */
static void test_torn_wal(void)
{
	struct err err = ERR_INIT;
	struct loop *l = NULL;
	struct record *r = NULL;
	struct session *s = NULL;
	ok(loop_new(&l, &err) == 0 && record_create(&r, l, help_dir(), "torn", NULL, NULL, NULL, &err) == 0, "a session");
	char *path = mem_strdup(record_path(r));
	for (int i = 0; i < 50; i++) {
		bool done = false;
		struct event ev = { .kind = 420, .body = "{}", .len = 2 };
		record_append(r, &ev);
		if (i == 40)
			record_checkpoint(r);
		record_barrier(r, record_head(r), set_flag, &done);
		help_wait(l, &done);
	}
	record_abandon(&r);
	CLEANUP(free_ptr) char *wal = mem_printf("%s-wal", path);
	struct stat st;
	ok(stat(wal, &st) == 0 && st.st_size > 4152 * 20, "its WAL is left");
	ok(truncate(wal, 32 + 4120 * 20 + 100) == 0, "the WAL loses its end");
	ok(session_open(&s, path, &err) == 0, "it opens as if nothing were wrong");
	ok(session_head(s) > 1 && session_head(s) < 40, "shorter (%" PRIu64 ")", session_head(s));
	help_verify(s, 2, "the anchor tells, and the log itself");
	session_close(&s);
	ok(record_resume(&r, l, path, NULL, NULL, &err) < 0 && err.code == ERR_DAMAGED, "the recording can't be resumed: %s", err.text);
	loop_free(l);
	free(path);
}

/* Events behind barriers, no anchor; left as by a kill. Owned. */
static char *left_behind(struct loop *l, const char *name)
{
	struct err err = ERR_INIT;
	struct record *r = NULL;
	ok(record_create(&r, l, help_dir(), name, NULL, NULL, NULL, &err) == 0, "%s: a session", name);
	char *path = mem_strdup(record_path(r));
	for (int i = 0; i < 50; i++) {
		bool done = false;
		struct event ev = { .kind = 420, .body = "{}", .len = 2 };
		record_append(r, &ev);
		record_barrier(r, record_head(r), set_flag, &done);
		help_wait(l, &done);
	}
	record_abandon(&r);
	return path;
}

static void verifies(const char *path, unsigned failures, const char *what)
{
	struct err err = ERR_INIT;
	struct session *s = NULL;
	ok(session_open(&s, path, &err) == 0, "%s: opens %s", what, err.text);
	help_verify(s, failures, what);
	session_close(&s);
}

/* The WAL is cut at the end of a transaction and no anchor covers the loss. The note beside the file reveals it. */
static void test_cut_wal(void)
{
	struct err err = ERR_INIT;
	struct loop *l = NULL;
	struct record *r = NULL;
	ok(loop_new(&l, &err) == 0, "a loop");
	CLEANUP(free_ptr) char *path = left_behind(l, "cut"), *wal = mem_printf("%s-wal", path);
	ok(truncate(wal, 32 + 4120 * 20) == 0, "the WAL loses its end");
	for (int i = 0; i < 2; i++) {
		verifies(path, 1, "cut");
		ok(record_resume(&r, l, path, NULL, NULL, &err) < 0 && err.code == ERR_DAMAGED && strstr(err.text, "was committed"), "the recording can't be resumed: %s", err.text);
	}
	loop_free(l);
}

/* As after a reboot: the note of the earlier boot is ignored. */
static void other_boot(const char *path)
{
	CLEANUP(free_ptr) char *lease = mem_printf("%s-lease", path);
	int fd = open(lease, O_WRONLY | O_CLOEXEC);
	ok(pwrite(fd, "1 00000000-0000-0000-0000-000000000000\n", 39, 0) == 39, "the machine is started anew");
	close(fd);
}

static void turn_bit(const char *file, off_t at)
{
	char c = 0;
	int fd = open(file, O_RDWR | O_CLOEXEC);
	bool good = pread(fd, &c, 1, at) == 1;
	c ^= 4;
	ok(good && pwrite(fd, &c, 1, at) == 1, "a bit turns");
	close(fd);
}

enum { TORN = (32 + 4120 * 10 + 4095) / 512 * 512 }; /* in the eleventh frame of a log, where its page has its rows */

/* Swaps the bytes there with @sector. Zeros are the content of a disk that never got the write. */
static void swap(const char *file, off_t at, char sector[512])
{
	char was[512] = "";
	int fd = open(file, O_RDWR | O_CLOEXEC);
	bool good = pread(fd, was, sizeof(was), at) == sizeof(was);
	ok(good && pwrite(fd, sector, sizeof(was), at) == sizeof(was), "a sector is another");
	memcpy(sector, was, sizeof(was));
	close(fd);
}

static char *torn_of(const char *path)
{
	struct err err = ERR_INIT;
	struct session *s = NULL;
	struct event ev;
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	if (session_open(&s, path, &err) < 0 || session_event(s, session_head(s) - 1, &ev, &a, &err) < 0)
		return mem_strdup(err.text);
	char *body = mem_strdup(ev.body);
	session_close(&s);
	return body;
}

/* The end of a log that a power cut has left. */
static void test_power_cut(void)
{
	struct err err = ERR_INIT;
	struct loop *l = NULL;
	struct record *r = NULL;
	char sector[512] = "";
	ok(loop_new(&l, &err) == 0, "a loop");
	CLEANUP(free_ptr) char *path = left_behind(l, "power"), *wal = mem_printf("%s-wal", path);
	other_boot(path);
	verifies(path, 0, "whole after a power cut");
	swap(wal, TORN, sector);
	verifies(path, 0, "broken in the middle, after a power cut: nobody knows what was synced");
	swap(wal, TORN, sector);
	turn_bit(wal, 32 + 4120 * 10 + 777);
	turn_bit(wal, 32 + 4120 * 10 + 1777);
	verifies(path, 1, "intact except for two bits: not a power cut");
	turn_bit(wal, 32 + 4120 * 10 + 777);
	verifies(path, 1, "intact except for one bit: not a power cut");
	ok(record_resume(&r, l, path, NULL, NULL, &err) < 0 && err.code == ERR_DAMAGED && strstr(err.text, "byte 43009 "), "the recording can't be resumed: %s", err.text);
	turn_bit(wal, 32 + 4120 * 10 + 1777);
	ok(truncate(wal, 32 + 4120 * 20 + 900) == 0, "the last frame is written by half");
	verifies(path, 0, "torn at its end");
	ok(record_resume(&r, l, path, NULL, NULL, &err) == 0, "it resumes: %s", err.text);
	ok(record_close(&r, NULL, &err) == 0, "and ends");
	CLEANUP(free_ptr) char *said = torn_of(path);
	ok(strstr(said, "\"torn\":\"the write-ahead log is truncated at byte 82432\"") != NULL, "and the event reports the tear: %s", said);
	verifies(path, 0, "resumed");
	loop_free(l);
}

/* The header is synced before any frame, so a power cut can't damage it. */
static void test_log_header(void)
{
	struct err err = ERR_INIT;
	struct loop *l = NULL;
	struct record *r = NULL;
	ok(loop_new(&l, &err) == 0, "a loop");
	CLEANUP(free_ptr) char *path = left_behind(l, "header"), *wal = mem_printf("%s-wal", path);
	other_boot(path);
	turn_bit(wal, 17);
	ok(record_resume(&r, l, path, NULL, NULL, &err) < 0 && err.code == ERR_DAMAGED, "the recording can't be resumed: %s", err.text);
	loop_free(l);
}

/* A break like a power cut's, but something behind it was anchored, so synced. */
static void test_anchored_behind(void)
{
	struct err err = ERR_INIT;
	struct loop *l = NULL;
	struct record *r = NULL;
	bool done = false;
	char sector[512] = "";
	ok(loop_new(&l, &err) == 0, "a loop");
	CLEANUP(free_ptr) char *path = left_behind(l, "behind"), *wal = mem_printf("%s-wal", path);
	ok(record_resume(&r, l, path, NULL, NULL, &err) == 0, "it resumes: %s", err.text);
	record_checkpoint(r);
	record_barrier(r, record_head(r), set_flag, &done);
	help_wait(l, &done);
	record_abandon(&r);
	other_boot(path);
	verifies(path, 0, "anchored and intact");
	swap(wal, TORN, sector);
	verifies(path, 1, "anchored, damaged before the anchor");
	ok(record_resume(&r, l, path, NULL, NULL, &err) < 0 && err.code == ERR_DAMAGED, "the recording can't be resumed: %s", err.text);
	loop_free(l);
}

static void test_two_writers(void)
{
	struct err err = ERR_INIT;
	struct loop *l = NULL;
	struct record *r, *other;
	ok(loop_new(&l, &err) == 0 && record_create(&r, l, help_dir(), "two", NULL, NULL, NULL, &err) == 0, "a session");
	ok(record_resume(&other, l, record_path(r), NULL, NULL, &err) < 0 && err.code == ERR_BUSY, "a second writer: %s", err.text);
	pid_t pid = fork();
	if (pid == 0) /* the lease is the parent's: a child that has inherited nothing does not get it either */
		_exit(lease_held(record_path(r)) && lease_pid(record_path(r)) == (int)getppid() ? 0 : 1);
	int status;
	waitpid(pid, &status, 0);
	is_int(status, 0, "another process sees who has it");
	ok(record_close(&r, NULL, &err) == 0, "closed: %s", err.text);
	loop_free(l);
}

struct holder {
	int lease, ready;
};

/* Stays alive while its process counts as dead, until another process waits for its lock. */
static void *hold_on(void *self)
{
	struct holder *h = self;
	char state[64];
	int fd;
	do {
		state[0] = 0;
		fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
		if (fd >= 0 && read(fd, state, sizeof(state) - 1) < 0)
			_exit(4);
		close(fd);
		usleep(1000);
	} while (!strstr(state, ") Z"));
	if (write(h->ready, "", 1) != 1)
		_exit(4);
	for (int i = 0; i < 8000 && !lease_wanted(h->lease); i++)
		usleep(1000);
	_exit(lease_wanted(h->lease) ? 0 : 5);
}

/* A writer that was killed has its session until the last of its threads has come back from the disk. */
static void test_writer_that_is_dying(void)
{
	struct err err = ERR_INIT;
	CLEANUP(free_ptr) char *path = mem_printf("%s/dying.glass", help_dir());
	int ready[2], status;
	char byte;
	ok(pipe(ready) == 0, "a pipe");
	pid_t pid = fork();
	if (pid == 0) {
		static struct holder h;
		pthread_t thread;
		h = (struct holder){ lease_take(path, NULL, &err), ready[1] };
		if (h.lease < 0 || pthread_create(&thread, NULL, hold_on, &h) != 0)
			_exit(3);
		pthread_exit(NULL);
	}
	close(ready[1]);
	ok(read(ready[0], &byte, 1) == 1 && lease_held(path) && lease_pid(path) == (int)pid, "it is dead, and still has it");
	int lease = lease_take(path, NULL, &err);
	ok(lease >= 0, "it is waited for: %s", lease < 0 ? err.text : "");
	waitpid(pid, &status, 0);
	is_int(status, 0, "and it knew");
	ok(lease_take(path, NULL, &err) < 0 && err.code == ERR_BUSY, "one that lives is not waited for: %s", err.text);
	close(lease);
	close(ready[0]);
}

/* Looks at the session whose path comes by @from until its writer has left it. Returns the failures. */
static int look_on(int from)
{
	char path[300] = "";
	unsigned failed = 0;
	struct err err = ERR_INIT;
	if (read(from, path, sizeof(path) - 1) <= 0)
		return 100;
	while (lease_held(path)) {
		struct session *s = NULL;
		struct verify_totals t = { 0 };
		if (session_open(&s, path, &err) == 0 && verify_session(s, NULL, on_failure, NULL, &t, &err) == 0)
			failed += t.failed;
		else if (++failed)
			printf("# %s\n", err.text);
		session_close(&s);
	}
	return (int)failed;
}

/* Verifying a session while it ends raises no alarm. */
static void test_looked_at_while_it_ends(void)
{
	int bad = 0;
	struct err err = ERR_INIT;
	struct loop *l = NULL;
	ok(loop_new(&l, &err) == 0, "a loop");
	for (int i = 0; i < 30; i++) {
		int to[2], status = 0;
		struct record *r = NULL;
		if (pipe2(to, O_CLOEXEC) < 0)
			exit(99);
		fflush(stdout);
		pid_t pid = fork();
		if (pid == 0) {
			int failed = look_on(to[0]);
			fflush(stdout);
			_exit(failed);
		}
		bool good = record_create(&r, l, help_dir(), "ends", NULL, NULL, NULL, &err) == 0;
		bool done = false;
		for (int k = 0; good && k < 1200; k++) {
			struct event ev = { .kind = 420, .body = "{\"text\":\"all the words of an event\"}", .len = 36 };
			record_append(r, &ev);
		}
		record_barrier(r, record_head(r), set_flag, &done);
		help_wait(l, &done);
		good = good && write(to[1], record_path(r), strlen(record_path(r))) > 0;
		usleep((unsigned)i * 700);
		good = record_close(&r, NULL, &err) == 0 && good;
		waitpid(pid, &status, 0);
		close(to[0]);
		close(to[1]);
		bad += !good || status != 0;
	}
	is_int(bad, 0, "30 times looked at while it ends: no alarm");
	loop_free(l);
}

int main(void)
{
	help_init();
	test_failpoints(); /* first: a process looks at FAILPOINT once */
	test_kills();
	test_torn_wal();
	test_cut_wal();
	test_power_cut();
	test_anchored_behind();
	test_log_header();
	test_two_writers();
	test_writer_that_is_dying();
	test_looked_at_while_it_ends();
	return help_done();
}
