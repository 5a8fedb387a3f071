/* Opening: whatever lies there, in whatever state and place, it opens or says in one line why not. */
#include <grp.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/store.h"
#include "record/store_pack.h"
#include "record_help.h"

static void set_flag(void *self)
{
	*(bool *)self = true;
}

static struct loop *l;

static struct record *make(const char *name, int events)
{
	struct err err = ERR_INIT;
	struct record *r;
	if (record_create(&r, l, help_dir(), name, NULL, NULL, NULL, &err) < 0)
		ok(false, "%s", err.text);
	for (int i = 0; i < events; i++) {
		struct event ev = { .kind = 420, .body = "{\"text\":\"テストに失敗しました\"}", .len = 0 };
		ev.len = strlen(ev.body);
		record_append(r, &ev);
	}
	record_checkpoint(r);
	bool done = false;
	record_barrier(r, record_head(r), set_flag, &done);
	help_wait(l, &done);
	return r;
}

static void run_sql(const char *path, const char *sql)
{
	sqlite3 *db;
	if (sqlite3_open(path, &db) != SQLITE_OK || sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		ok(false, "%s", sqlite3_errmsg(db));
	sqlite3_close(db);
}

static void refuse(const char *path, enum err_code code, const char *what)
{
	struct err err = ERR_INIT;
	struct session *s = NULL;
	ok(session_open(&s, path, &err) < 0 && err.code == code && !strchr(err.text, '\n') && !s, "%s: %s", what, err.text);
	session_close(&s);
}

static void write_file(const char *path, const void *bytes, size_t len)
{
	struct err err;
	if (file_write_atomic(path, bytes, len, 0600, &err) < 0)
		ok(false, "%s", err.text);
}

static void test_refused(const char *good)
{
	struct err err;
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	CLEANUP(free_ptr) char *path = mem_printf("%s/x.glass", help_root);
	refuse("/nowhere/x.glass", ERR_NOENT, "nothing there");
	refuse(help_root, ERR_INVALID, "a directory");
	refuse("/dev/null", ERR_INVALID, "a device");
	write_file(path, "", 0);
	refuse(path, ERR_DAMAGED, "an empty file");
	write_file(path, "#!/bin/sh\necho hello\n", 21);
	refuse(path, ERR_INVALID, "a script");
	if (file_read(good, &b, 64 << 20, &err) < 0)
		ok(false, "%s", err.text);
	write_file(path, b.data, b.len);
	run_sql(path, "PRAGMA user_version=9");
	refuse(path, ERR_UNSUPPORTED, "a newer format");
	run_sql(path, "PRAGMA user_version=1; PRAGMA application_id=1234");
	refuse(path, ERR_INVALID, "another program's database");
	memset(b.data + 100, 0xa5, 4000); /* the root page of the schema */
	write_file(path, b.data, b.len);
	refuse(path, ERR_DAMAGED, "a damaged file");
	write_file(path, b.data, 4096);
	refuse(path, ERR_DAMAGED, "a cut and damaged file");
	unlink(path);
}

static void test_copy_of_live(void)
{
	struct err err = ERR_INIT;
	struct session *s;
	struct record *r = make("live", 300);
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	CLEANUP(free_ptr) char *path = mem_printf("%s/copy.glass", help_root);
	ok(file_read(record_path(r), &b, 64 << 20, &err) == 0, "copied alone, while it is live");
	write_file(path, b.data, b.len);
	ok(session_open(&s, path, &err) == 0, "it opens: %s", err.text);
	ok(session_head(s) < record_head(r), "shorter (%" PRIu64 ")", session_head(s));
	struct verify_totals t;
	ok(verify_session(s, NULL, help_report, NULL, &t, &err) == 0 && t.failed >= 1, "the anchor tells");
	session_close(&s);
	unlink(path);
	ok(record_close(&r, NULL, &err) == 0, "closed");
}

/* A short file is replaced at its end: its readers see that, and block nobody. */
static void test_packed(void)
{
	struct err err = ERR_INIT;
	struct session *s;
	struct record *r = make("small", 5);
	CLEANUP(free_ptr) char *path = mem_strdup(record_path(r));
	ok(session_open(&s, path, &err) == 0 && session_head(s) > 0, "a short one is read while it runs");
	ok(record_close(&r, NULL, &err) == 0 && store_page_size(path) == 1024, "closed: its pages are small");
	uint64_t head = session_head(s);
	ok(session_left(s), "its reader has the file from before");
	ok(record_resume(&r, l, path, NULL, NULL, &err) == 0, "and is in nobody's way: %s", err.text);
	bool done = false;
	record_barrier(r, record_head(r), set_flag, &done);
	help_wait(l, &done);
	ok(session_left(s) && session_rejoin(s, &err) == 0 && !session_left(s), "it takes the file that is written now");
	ok(session_head(s) == record_head(r) && session_head(s) > head, "and sees what comes");
	ok(record_close(&r, NULL, &err) == 0 && store_page_size(path) == 1024, "closed again, small again");
	session_close(&s);
}

/* A reader that saw the session run holds its lock until it closes. A resume reports this reader. */
static void test_still_read(void)
{
	struct err err = ERR_INIT;
	struct session *s;
	struct record *r = make("watched", 9000);
	CLEANUP(free_ptr) char *path = mem_strdup(record_path(r));
	ok(session_open(&s, path, &err) == 0 && session_head(s) > 0, "read while it runs");
	ok(record_close(&r, NULL, &err) == 0, "closed");
	ok(record_resume(&r, l, path, NULL, NULL, &err) < 0 && err.code == ERR_BUSY && strstr(err.text, "another program"), "%s", err.text);
	struct feed *f;
	struct event ev;
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	ok(feed_new(&f, s, FEED_ALL, 0, &err) == 0 && feed_next(f, &ev, &a, 0, &err) == 1 && ev.seq == 1, "the reader is in the middle of it");
	uint64_t head = session_head(s);
	ok(session_left(s) && session_rejoin(s, &err) == 0 && !session_left(s), "it takes the file in its present state");
	ok(record_resume(&r, l, path, NULL, NULL, &err) == 0, "and no longer blocks a resume");
	bool done = false;
	record_barrier(r, record_head(r), set_flag, &done);
	help_wait(l, &done);
	ok(feed_next(f, &ev, &a, 0, &err) == 1 && ev.seq == 2, "its feed continues from its position");
	is_int((long long)session_head(s), (long long)record_head(r), "it sees new events");
	ok(record_head(r) > head && !session_left(s), "while the recorder writes them");
	ok(record_close(&r, NULL, &err) == 0, "closed again");
	ok(session_left(s) && session_rejoin(s, &err) == 0, "it lets go again");
	ok(record_resume(&r, l, path, NULL, NULL, &err) == 0 && record_close(&r, NULL, &err) == 0, "as often as it takes");
	feed_free(&f);
	session_close(&s);
}

/* Reads as a user who can write neither file nor directory. Returns 0 on success, 77 if the uid can't be changed.
 * @head 0: the copy is stopped halfway. @by: a signal that ends the reader while the session is open; 0 for none. */
static int as_nobody(const char *path, uint64_t head, int by)
{
	struct err err;
	struct session *s;
	atomic_bool stop = !head;
	struct event ev;
	struct arena arena = ARENA_INIT;
	if (setgroups(0, NULL) < 0 || setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
		return 77;
	if (session_open_until(&s, path, &stop, &err) < 0) {
		fprintf(stderr, "# %s\n", err.text);
		return head || err.code != ERR_CANCELLED;
	}
	int rc = session_head(s) == head ? session_event(s, head, &ev, &arena, &err) < 0 ? 2 : 0 : 3;
	if (by)
		raise(by);
	session_close(&s);
	return rc;
}

static void end_as_nobody(const char *path, uint64_t head, int by, const char *what)
{
	static const char *const tail[] = { "", "-wal", "-shm", "-lease" };
	for (size_t i = 0; i < ARRAY_LEN(tail); i++) {
		CLEANUP(free_ptr) char *name = mem_printf("%s%s", path, tail[i]);
		if (chmod(name, 0444) < 0 && i == 0)
			ok(false, "chmod");
	}
	if (chmod(help_root, 0755) < 0 || chmod(help_dir(), 0555) < 0)
		ok(false, "chmod");
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0)
		_exit(as_nobody(path, head, by));
	int status;
	waitpid(pid, &status, 0);
	if (status >> 8 == 77)
		skip(1, "%s: cannot become another user", what);
	else
		is_int(WIFSIGNALED(status) ? WTERMSIG(status) : status >> 8, by, what);
	if (chmod(help_dir(), 0700) < 0)
		ok(false, "chmod");
}

static void look_as_nobody(const char *path, uint64_t head, const char *what)
{
	end_as_nobody(path, head, 0, what);
}

static void test_read_only_place(void)
{
	struct err err;
	struct record *r = make("ro", 20);
	char *path = mem_strdup(record_path(r));
	look_as_nobody(path, record_head(r), "a live one in a read-only folder");
	uint64_t head = record_head(r);
	record_abandon(&r);
	look_as_nobody(path, head, "a killed one in a read-only folder");
	CLEANUP(free_ptr) char *shm = mem_printf("%s-shm", path);
	unlink(shm);
	CLEANUP(free_ptr) char *tmp = mem_printf("%s/tmp", help_root);
	ok(mkdir(tmp, 0777) == 0 && chmod(tmp, 0777) == 0, "a place for copies");
	setenv("TMPDIR", tmp, 1);
	look_as_nobody(path, head, "a killed one without its -shm");
	look_as_nobody(path, 0, "it is copied; given up meanwhile");
	end_as_nobody(path, head, SIGINT, "it is copied; stopped with Ctrl-C");
	end_as_nobody(path, head, SIGTERM, "it is copied; told to end");
	unsetenv("TMPDIR");
	ok(rmdir(tmp) == 0, "no copy stays");
	free(path);
	r = make("clean", 20);
	path = mem_strdup(record_path(r));
	head = record_head(r) + 1;
	ok(record_close(&r, NULL, &err) == 0, "closed");
	look_as_nobody(path, head, "a clean one in a read-only folder");
	/* as older programs leave it: WAL mode in the header, no WAL beside it */
	run_sql(path, "PRAGMA journal_mode=WAL");
	look_as_nobody(path, head, "one in WAL mode without a WAL in a read-only folder");
	free(path);
}

struct stopping {
	atomic_bool stop;
	const char *after;
	int said;
	bool too_much;
};

static void stop_after(void *self, const char *name, enum verify_result result, const char *text, uint64_t seq)
{
	struct stopping *s = self;
	(void)result, (void)text, (void)seq;
	s->said++;
	s->too_much = s->too_much || atomic_load(&s->stop);
	if (strcmp(name, s->after) == 0)
		atomic_store(&s->stop, true);
}

static void test_stopped(const char *path)
{
	static const char *const after[] = { "bytes", "pages", "chain", "segments", "messages" };
	for (size_t i = 0; i < ARRAY_LEN(after); i++) {
		struct err err = ERR_INIT;
		struct session *s;
		struct stopping st = { .after = after[i] };
		struct verify_totals t;
		if (session_open_until(&s, path, &st.stop, &err) < 0) {
			ok(false, "%s", err.text);
			return;
		}
		ok(verify_session(s, NULL, stop_after, &st, &t, &err) < 0 && err.code == ERR_CANCELLED, "stopped after %s: %s", after[i], err.text);
		ok(st.said > 0 && !st.too_much && t.failed == 0, "skipped checks report nothing");
		session_close(&s);
	}
}

static void test_search(const char *path)
{
	static const struct {
		const char *match;
		size_t want;
	} cases[] = { { "失敗", 5 }, { "テスト", 5 }, { "\"に失敗しま\"", 5 }, { "敗", 5 }, { "成功", 0 }, { "テスト 失敗", 5 },
		      { "glass", 0 }, { "\"text\"", 5 }, { "テ*", 5 } };
	struct err err;
	struct session *s;
	ok(session_open(&s, path, &err) == 0, "opened");
	ok(session_indexed(s) == session_head(s), "the index is whole");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		uint64_t seqs[20];
		size_t nr = 99;
		int rc = session_search(s, cases[i].match, 0, 20, seqs, &nr, &err);
		ok(rc == 0 && nr == cases[i].want, "%s: %zu", cases[i].match, nr);
	}
	session_close(&s);
	/* without its index the answers are the same */
	run_sql(path, "UPDATE mark SET value = 0 WHERE name = 'indexed'");
	ok(session_open(&s, path, &err) == 0, "opened");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		uint64_t seqs[20];
		size_t nr = 99;
		int rc = session_search(s, cases[i].match, 0, 20, seqs, &nr, &err);
		ok(rc == 0 && nr == cases[i].want, "read through: %s: %zu", cases[i].match, nr);
	}
	session_close(&s);
}

int main(void)
{
	struct err err;
	help_init();
	store_index_from(1);
	ok(loop_new(&l, &err) == 0, "a loop");
	struct record *r = make("good", 5);
	char *path = mem_strdup(record_path(r));
	ok(record_close(&r, NULL, &err) == 0, "closed");
	test_refused(path);
	test_stopped(path);
	test_search(path);
	test_copy_of_live();
	test_still_read();
	test_packed();
	test_read_only_place();
	free(path);
	loop_free(l);
	return help_done();
}
