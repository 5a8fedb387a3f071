/* The search index of an ended session is finished later, in steps. It yields to other users and leaves no trace. */
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "record/deferred_index.h"
#include "record/read/lease.h"
#include "record/read/values.h"
#include "record_help.h"

enum { NOTES = 1500, NOTE = 6000 };

static char *make(const char *name, int notes, size_t note, struct err *err)
{
	static const struct record_ops none = { 0 };
	struct loop *l = NULL;
	struct record *r = NULL;
	if (loop_new(&l, err) < 0 || record_create(&r, l, help_dir(), name, NULL, &none, NULL, err) < 0)
		return NULL;
	for (int i = 0; i < notes; i++) {
		CLEANUP(buf_release) struct buf text = BUF_INIT;
		while (text.len < note)
			buf_printf(&text, "line %d of note %d; ", (int)text.len, i);
		json_t *body = json_object();
		json_put_str(body, "text", text.data);
		record_append_json(r, EV_NOTE, 1, 0, 0, 0, body);
		if (note > 100 || i % 200 == 0)
			loop_turn(l, 0);
	}
	char *path = mem_strdup(record_path(r));
	if (record_close(&r, json_object(), err) < 0)
		printf("# %s\n", err->text);
	loop_turn(l, 0);
	loop_free(l);
	return path;
}

static void run(const char *path, const char *sql)
{
	sqlite3 *db = NULL;
	if (sqlite3_open(path, &db) != SQLITE_OK || sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		ok(false, "%s: %s", sql, sqlite3_errmsg(db));
	sqlite3_close(db);
}

/* As a flood leaves it: nothing is in the index. */
static void forget_index(const char *path)
{
	run(path, "INSERT INTO search(search) VALUES('delete-all'); UPDATE mark SET value=0 WHERE name='indexed'");
}

struct seen {
	const char *path;
	int steps, stop_after;
	bool wants;
	pthread_t other;
	bool live, busy, grew;
	uint64_t at;
};

static void *want_it(void *path)
{
	struct err err = ERR_INIT;
	int lease = lease_take(path, NULL, &err);
	bool got = lease >= 0;
	fd_close(&lease);
	return got ? path : NULL;
}

/* Until the other thread has said that it wants the file; 20 s at most. */
static void wait_for_want(const char *path)
{
	CLEANUP(free_ptr) char *companion = mem_printf("%s-lease", path);
	CLEANUP(fd_close) int fd = open(companion, O_RDWR | O_CLOEXEC);
	for (int i = 0; i < 2000 && !lease_wanted(fd); i++)
		usleep(10000);
}

static bool on_step(void *self, uint64_t at, uint64_t head)
{
	struct seen *x = self;
	x->steps++;
	x->live |= lease_held(x->path);
	x->busy |= lease_busy(x->path);
	x->grew = at > x->at && at <= head;
	x->at = at;
	if (x->wants && x->steps == 1 && pthread_create(&x->other, NULL, want_it, (void *)(uintptr_t)x->path) == 0)
		wait_for_want(x->path);
	return !x->stop_after || x->steps < x->stop_after;
}

static bool due(const char *path, uint64_t *indexed)
{
	struct session *s = NULL;
	struct err err = ERR_INIT;
	if (session_open(&s, path, &err) < 0)
		printf("# %s\n", err.text);
	bool yes = deferred_index_due(s);
	*indexed = session_indexed(s);
	session_close(&s);
	return yes;
}

static bool is_there(const char *path, const char *tail)
{
	CLEANUP(free_ptr) char *beside = mem_printf("%s%s", path, tail);
	return access(beside, F_OK) == 0;
}

static void check_whole(const char *path)
{
	struct session *s = NULL;
	struct err err = ERR_INIT;
	uint64_t seq = 0;
	size_t nr = 0;
	ok(session_open(&s, path, &err) == 0 && session_search(s, "\"of note 1499;\"", 0, 1, &seq, &nr, &err) == 0 && nr == 1,
	   "what stands at the end is found: event %" PRIu64, seq);
	help_verify(s, 0, "verify");
	session_close(&s);
}

static uint64_t blocks(const char *path, bool *whole)
{
	struct session *s = NULL;
	struct err err = ERR_INIT;
	struct values v;
	if (session_open(&s, path, &err) < 0)
		printf("# %s\n", err.text);
	values_init(&v, session_handle(s));
	values_release(&v);
	*whole = session_valued(s);
	session_close(&s);
	return v.covered / VALUES_BLOCK;
}

/* A file without value blocks gets them step by step and yields to other users. A failure is reported. */
static void values(void)
{
	struct err err = ERR_INIT;
	bool whole = true;
	void *got = NULL;
	CLEANUP(free_ptr) char *path = make("values", 9 * VALUES_BLOCK, 1, &err);
	if (!path)
		return;
	struct seen whole_one = { .path = path };
	is_int(deferred_index_build(path, on_step, &whole_one, &err), 1, "a session of nine blocks");
	ok(blocks(path, &whole) == 9 && whole, "has them");
	run(path, "DROP TABLE search_value");
	ok(blocks(path, &whole) == 0 && !whole, "one from before there were any");
	struct seen stopped = { .path = path, .stop_after = 1 };
	is_int(deferred_index_build(path, on_step, &stopped, &err), 0, "ended after a step");
	uint64_t first = blocks(path, &whole);
	ok(first > 0 && first < 5 && !whole && stopped.at == first * VALUES_BLOCK, "it has some blocks: %" PRIu64 ", and the last step reports them: %" PRIu64, first, stopped.at);
	struct seen wanted = { .path = path, .wants = true };
	is_int(deferred_index_build(path, on_step, &wanted, &err), 0, "another user needs the file: the indexer yields");
	pthread_join(wanted.other, &got);
	ok(got && blocks(path, &whole) > first && !whole, "and that user gets it between two blocks");
	run(path, "CREATE TRIGGER full BEFORE INSERT ON search_value BEGIN SELECT RAISE(ABORT, 'no more of these'); END");
	struct seen rest = { .path = path };
	ok(deferred_index_build(path, on_step, &rest, &err) < 0 && strstr(err.text, "no more of these"), "the blocks can't be written: %s", err.text);
	run(path, "DROP TRIGGER full");
	is_int(deferred_index_build(path, on_step, &rest, &err), 1, "the rest");
	ok(blocks(path, &whole) == 9 && whole, "all of them");
}

int main(void)
{
	struct err err = ERR_INIT;
	struct stat before, after;
	uint64_t first = 0, second = 0;
	help_init();
	CLEANUP(free_ptr) char *path = make("later", NOTES, NOTE, &err);
	if (!path)
		return 1;
	forget_index(path);
	ok(due(path, &first) && first == 0, "a session that has ended without its index");
	if (stat(path, &before) < 0)
		return 1;

	struct seen stopped = { .path = path, .stop_after = 1 };
	is_int(deferred_index_build(path, on_step, &stopped, &err), 0, "ended after a step");
	ok(!stopped.live && stopped.busy, "meanwhile the session counts as ended and busy");
	ok(due(path, &first) && first > 0 && first == stopped.at, "the finished part stays: %" PRIu64 " events", first);

	struct seen wanted = { .path = path, .wants = true };
	void *got = NULL;
	is_int(deferred_index_build(path, on_step, &wanted, &err), 0, "another user needs the file: the indexer yields");
	pthread_join(wanted.other, &got);
	ok(got, "and that user gets it");
	ok(due(path, &second) && second > first, "the finished part stays: %" PRIu64 " events", second);

	struct seen rest = { .path = path };
	is_int(deferred_index_build(path, on_step, &rest, &err), 1, "the rest: the index is complete");
	ok(rest.grew && !due(path, &second) && second > (uint64_t)NOTES, "up to event %" PRIu64, second);
	ok(stat(path, &after) == 0 && !memcmp(&before.st_mtim, &after.st_mtim, sizeof(before.st_mtim)), "its time of change is the old one");
	ok(!is_there(path, "-wal") && !is_there(path, "-shm") && !is_there(path, "-lease"), "nothing is left beside it");
	check_whole(path);

	int lease = lease_take(path, NULL, &err);
	ok(lease >= 0 && deferred_index_build(path, on_step, &rest, &err) < 0 && err.code == ERR_BUSY, "one that is written is left alone: %s", err.text);
	fd_close(&lease);

	CLEANUP(free_ptr) char *odd = path_join(help_dir(), "odd.glass");
	ok(file_write_atomic(odd, "no session", 10, 0600, &err) == 0 && deferred_index_build(odd, on_step, &rest, &err) < 0 &&
	   !is_there(odd, "-lease"), "one that cannot be opened has nothing left beside it either: %s", err.text);
	values();
	return help_done();
}
