/* The write-ahead log: one call writes the frames of a commit into space allocated before. Readers see the whole
 * commit. The space after the newest frame is not damage. */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "record/frames.h"
#include "record/read/lease.h"
#include "record/read/session.h"
#include "record/vfs.h"
#include "record_help.h"

static void set_flag(void *self)
{
	*(bool *)self = true;
}

/* Waits until the event is on the disk. */
static void act(struct record *r, struct loop *l, size_t len)
{
	bool done = false;
	char *text = mem_alloc(len + 1);
	json_t *b = json_object();
	memset(text, 'x', len);
	text[len] = 0;
	json_put_str(b, "text", text);
	record_barrier(r, record_append_json(r, 420, 0, 0, 0, 0, b), set_flag, &done);
	help_wait(l, &done);
	free(text);
}

static void wait_ms(struct loop *l, int ms)
{
	for (int64_t until = clock_mono_us() + ms * 1000; clock_mono_us() < until;)
		loop_turn(l, 5);
}

static off_t size_of(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 ? st.st_size : -1;
}

/* Calls of this process that wrote; -1: the kernel does not count them. */
static long writes(void)
{
	char row[80];
	long n = -1;
	FILE *f = fopen("/proc/self/io", "re");
	while (f && n < 0 && fgets(row, sizeof(row), f))
		sscanf(row, "syscw: %ld", &n);
	if (f)
		fclose(f);
	return n;
}

static void is_whole(const char *path, uint64_t head, const char *what)
{
	struct err err = ERR_INIT;
	struct session *s = NULL;
	if (!ok(session_open(&s, path, &err) == 0, "%s: opens %s", what, err.text))
		return;
	is_int((int64_t)session_head(s), (int64_t)head, what);
	help_verify(s, 0, what);
	session_close(&s);
}

static void test_one_call(struct record *r, struct loop *l)
{
	enum { PAGES = 20 };
	long before = writes();
	act(r, l, PAGES * SUMS_PAGE);
	long calls = writes() - before;
	if (before < 0)
		skip(1, "this kernel counts no writes");
	else
		ok(calls < PAGES, "%d pages and more go out in few calls: %ld", PAGES, calls);
}

static void test_room(struct record *r, struct loop *l, const char *path)
{
	CLEANUP(free_ptr) char *wal = mem_printf("%s-wal", path);
	struct lease_note n = { 0 };
	for (int i = 0; i < 200 && size_of(wal) < 100 * FRAME_LEN; i++)
		wait_ms(l, 10);
	off_t size = size_of(wal);
	int grown = 0;
	for (int i = 0; i < 10; i++) {
		off_t before = size;
		act(r, l, 10);
		size = size_of(wal);
		grown += size != before;
	}
	bool noted = lease_noted(path, &n);
	ok(noted && (off_t)n.end < size, "the log has room: %lld bytes, used %lld", (long long)size, (long long)n.end);
	ok(grown <= 1, "ten commits change its size %d times", grown);
	is_int((size - 32) % FRAME_LEN, 0, "it holds whole frames");
	for (int i = 0; i < 200; i++)
		act(r, l, 2 * SUMS_PAGE);
	ok(lease_noted(path, &n) && (off_t)n.end > size && size_of(wal) >= (off_t)n.end, "it grows with the events");
	is_whole(path, record_head(r), "while it runs");
}

/* More pages than one write takes, some of them written twice: the excess of the cache is written early. */
static void test_large(struct record *r, struct loop *l, const char *path)
{
	bool done = false;
	char text[200];
	for (int i = 0; i < 60000; i++) {
		snprintf(text, sizeof(text), "{\"n\":%d,\"text\":\"%0100d\"}", i, i);
		struct event ev = { .kind = 420, .body = text, .len = strlen(text) };
		record_append(r, &ev);
	}
	record_barrier(r, record_head(r), set_flag, &done);
	help_wait(l, &done);
	is_whole(path, record_head(r), "60,000 events at once");
}

static void sql(sqlite3 *db, const char *text)
{
	char *why = NULL;
	if (sqlite3_exec(db, text, NULL, NULL, &why) != SQLITE_OK)
		ok(false, "%s: %s", text, why);
	sqlite3_free(why);
}

static char *asked(sqlite3 *db, const char *text)
{
	sqlite3_stmt *st = NULL;
	if (sqlite3_prepare_v2(db, text, -1, &st, NULL) != SQLITE_OK || sqlite3_step(st) != SQLITE_ROW) {
		sqlite3_finalize(st);
		return mem_strdup(sqlite3_errmsg(db));
	}
	char *got = mem_strdup((const char *)sqlite3_column_text(st, 0));
	sqlite3_finalize(st);
	return got;
}

static sqlite3 *open_db(const char *path)
{
	sqlite3 *db = NULL;
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, RECORD_VFS) != SQLITE_OK)
		ok(false, "%s: %s", path, sqlite3_errmsg(db));
	return db;
}

/* Pages beyond the cache went to the log's end before the rollback: another program's commit goes there instead. */
static void test_taken_back(void)
{
	CLEANUP(free_ptr) char *path = path_join(help_dir(), "back.db");
	vfs_register();
	sqlite3 *one = open_db(path), *other = open_db(path);
	sql(one, "PRAGMA journal_mode=WAL; PRAGMA cache_size=4; CREATE TABLE t(x)");
	sql(other, "PRAGMA journal_mode=WAL; CREATE TABLE u(x); INSERT INTO u VALUES(1); PRAGMA wal_checkpoint");
	sql(one, "BEGIN; INSERT INTO t VALUES(zeroblob(40000)); ROLLBACK");
	sql(other, "INSERT INTO u VALUES(zeroblob(100000))");
	CLEANUP(free_ptr) char *rows = asked(one, "SELECT (SELECT count(*) FROM t) || ' ' || sum(length(x)) FROM u");
	is_str(rows, "0 100001", "who has taken back reads what the other has committed");
	CLEANUP(free_ptr) char *first = asked(one, "PRAGMA integrity_check"), *second = NULL;
	is_str(first, "ok", "and finds it whole");
	sql(one, "INSERT INTO t VALUES(zeroblob(40000))");
	sqlite3_close(other);
	other = open_db(path);
	second = asked(other, "PRAGMA integrity_check");
	is_str(second, "ok", "as does the other");
	sqlite3_close(one);
	sqlite3_close(other);
}

int main(void)
{
	struct err err = ERR_INIT;
	struct loop *l = NULL;
	struct record *r = NULL;
	help_init();
	ok(loop_new(&l, &err) == 0 && record_create(&r, l, help_dir(), "log", NULL, NULL, NULL, &err) == 0, "a session %s", err.text);
	CLEANUP(free_ptr) char *path = mem_strdup(record_path(r));
	act(r, l, 10);
	wait_ms(l, 50);
	test_one_call(r, l);
	test_room(r, l, path);
	test_large(r, l, path);
	act(r, l, 10);
	uint64_t head = record_head(r);
	record_abandon(&r);
	is_whole(path, head, "killed");
	ok(record_resume(&r, l, path, NULL, NULL, &err) == 0, "resumes %s", err.text);
	act(r, l, 10);
	head = record_head(r);
	ok(record_close(&r, NULL, &err) == 0, "ends %s", err.text);
	is_whole(path, head + 1, "ended");
	test_taken_back();
	loop_free(l);
	return help_done();
}
