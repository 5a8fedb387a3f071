/* Without space no event is lost, no barrier runs, and recording resumes with new space. The same with locks. */
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/read/lease.h"
#include "record_help.h"

struct seen {
	bool stalled, recovered, dead;
	char why[200];
};

static void on_state(void *self, enum record_state state, const char *why)
{
	struct seen *s = self;
	if (state == RECORD_STALLED) {
		s->stalled = true;
		snprintf(s->why, sizeof(s->why), "%s", why);
	}
	s->recovered |= s->stalled && state == RECORD_OK;
	s->dead |= state == RECORD_DEAD;
	if (state == RECORD_DEAD)
		ok(false, "dead: %s", why);
}

static void set_flag(void *self)
{
	*(bool *)self = true;
}

static void turns(struct loop *l, int ms)
{
	for (int64_t until = clock_mono_us() + ms * 1000; clock_mono_us() < until;)
		loop_turn(l, 10);
}

static bool indexed(const char *path)
{
	struct err err = ERR_INIT;
	struct session *s = NULL;
	bool whole = session_open(&s, path, &err) == 0 && session_indexed(s) >= session_head(s);
	session_close(&s);
	return whole;
}

/* Waits until the writer has no background work left; at most a minute, after which the next check fails. */
static void settle(struct loop *l, const char *path)
{
	for (int64_t until = clock_mono_us() + 60000000; clock_mono_us() < until && !indexed(path);)
		turns(l, 50);
}

static uint64_t put_big(struct record *r)
{
	uint64_t seq = 0;
	char text[4000];
	for (int i = 0; i < 60; i++) {
		random_bytes(text, sizeof(text));
		json_t *b = json_object();
		json_put_bytes(b, "noise", text, sizeof(text));
		seq = record_append_json(r, 420, 0, 0, 0, 0, b);
	}
	return seq;
}

static const struct record_ops ops = { .on_state = on_state };

/* The file of the statement that writes many events at once may take one page more, as long as this is set. */
static atomic_bool tight;
static atomic_uint rows; /* that it had put in when it failed */

static void on_row(void *self, int op, const char *db, const char *table, sqlite3_int64 row)
{
	(void)op;
	(void)db;
	(void)table;
	(void)row;
	++*(unsigned *)self;
}

static int step_tight(int (*step)(sqlite3_stmt *), sqlite3_stmt *st, sqlite3 *db)
{
	sqlite3_stmt *pages = NULL;
	unsigned put = 0;
	char sql[64];
	sqlite3_prepare_v2(db, "PRAGMA page_count", -1, &pages, NULL);
	step(pages);
	snprintf(sql, sizeof(sql), "PRAGMA max_page_count = %d", sqlite3_column_int(pages, 0) + 1);
	sqlite3_finalize(pages);
	sqlite3_exec(db, sql, NULL, NULL, NULL);
	sqlite3_update_hook(db, on_row, &put);
	int rc = step(st);
	sqlite3_update_hook(db, NULL, NULL);
	sqlite3_exec(db, "PRAGMA max_page_count = 1073741823", NULL, NULL, NULL);
	if (rc == SQLITE_FULL)
		rows = put;
	return rc;
}

/* In place of the library's own, for the recorder too: on its thread, between two of its statements. */
int sqlite3_step(sqlite3_stmt *st)
{
	int (*step)(sqlite3_stmt *);
	void *real = dlsym(RTLD_NEXT, "sqlite3_step");
	memcpy(&step, &real, sizeof(step));
	const char *sql = tight ? sqlite3_sql(st) : NULL;
	return sql && !strncmp(sql, "INSERT OR FAIL INTO event", 25) ? step_tight(step, st, sqlite3_db_handle(st)) : step(st);
}

/* Space runs out after some rows of a statement. */
static void test_rows(void)
{
	struct err err = ERR_INIT;
	struct loop *l = NULL;
	struct record *r = NULL;
	struct session *s = NULL;
	struct seen seen = { 0 };
	struct arena arena = ARENA_INIT;
	struct event got;
	uint64_t wrong = 0, last = 0;
	bool done = false;
	enum { NR = 100, BEFORE = 1 }; /* session.start */
	ok(loop_new(&l, &err) == 0 && record_create(&r, l, help_dir(), "rows", NULL, &ops, &seen, &err) == 0, "a session: %s", err.text);
	CLEANUP(free_ptr) char *path = mem_strdup(record_path(r));
	record_barrier(r, record_head(r), set_flag, &done);
	help_wait(l, &done);
	tight = true;
	done = false;
	for (int i = 0; i < NR; i++) {
		CLEANUP(free_ptr) char *text = mem_printf("%d %0600d", i, 0);
		json_t *b = json_object();
		json_put_str(b, "text", text);
		last = record_append_json(r, 420, 0, 0, 0, 0, b);
	}
	record_barrier(r, last, set_flag, &done);
	help_wait(l, &seen.stalled);
	ok(seen.stalled && !done && !seen.dead, "no space in the middle of a statement: stalled: %s", seen.why);
	ok(rows > 0 && rows < 16, "after %u rows of sixteen", rows);
	ok(session_open(&s, path, &err) == 0, "it can be read: %s", err.text);
	is_int((int64_t)session_head(s), BEFORE, "as it was before");
	session_close(&s);
	tight = false;
	help_wait(l, &done);
	ok(done && seen.recovered, "with new space it resumes");
	ok(record_close(&r, NULL, &err) == 0 && session_open(&s, path, &err) == 0, "closed and opened: %s", err.text);
	is_int(help_verify(s, 0, "it verifies").events, BEFORE + NR + 1, "no event is lost or doubled");
	for (int i = 0; i < NR; i++) {
		CLEANUP(free_ptr) char *start = mem_printf("{\"text\":\"%d 0", i);
		wrong += session_event(s, last - NR + 1 + (uint64_t)i, &got, &arena, &err) < 0 || strncmp(got.body, start, strlen(start)) != 0;
	}
	is_int((int64_t)wrong, 0, "each in its place");
	arena_release(&arena);
	session_close(&s);
	loop_free(l);
}

static void test_limit(void)
{
	struct err err = ERR_INIT;
	struct loop *l = NULL;
	struct record *r = NULL;
	struct session *s = NULL;
	struct seen seen = { 0 };
	bool done = false;
	ok(loop_new(&l, &err) == 0 && record_create(&r, l, help_dir(), "full", NULL, &ops, &seen, &err) == 0, "a session: %s",
	   err.text);
	char *path = mem_strdup(record_path(r));
	record_barrier(r, record_head(r), set_flag, &done);
	help_wait(l, &done);
	struct rlimit old, small;
	getrlimit(RLIMIT_FSIZE, &old);
	small = old;
	small.rlim_cur = 120 << 10;
	setrlimit(RLIMIT_FSIZE, &small);
	done = false;
	uint64_t seq = put_big(r);
	record_barrier(r, seq, set_flag, &done);
	help_wait(l, &seen.stalled);
	turns(l, 500);
	ok(seen.stalled && record_state(r) == RECORD_STALLED, "it says that it is stalled: %s", seen.why);
	ok(!done && !seen.dead, "the barrier does not run");
	uint64_t more = put_big(r);
	ok(more == seq + 60, "seqs are still given");
	turns(l, 300);
	ok(!done, "nor later");
	setrlimit(RLIMIT_FSIZE, &old);
	help_wait(l, &done);
	ok(done && seen.recovered && record_state(r) == RECORD_OK, "with new space it resumes");
	ok(record_close(&r, NULL, &err) == 0, "closed: %s", err.text);
	ok(session_open(&s, path, &err) == 0, "opened");
	is_int((int64_t)session_head(s), (int64_t)more + 1, "nothing is missing");
	help_verify(s, 0, "it verifies");
	session_close(&s);
	loop_free(l);
	free(path);
}

static void test_lock(void)
{
	struct err err = ERR_INIT;
	struct loop *l = NULL;
	struct record *r = NULL;
	struct seen seen = { 0 };
	bool done = false;
	ok(loop_new(&l, &err) == 0 && record_create(&r, l, help_dir(), "lock", NULL, &ops, &seen, &err) == 0, "a session");
	record_barrier(r, record_head(r), set_flag, &done);
	help_wait(l, &done);
	sqlite3 *db;
	ok(sqlite3_open(record_path(r), &db) == SQLITE_OK && sqlite3_busy_timeout(db, 10000) == SQLITE_OK &&
	   sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK,
	   "another program locks it");
	done = false;
	struct event ev = { .kind = 420, .body = "{}", .len = 2 };
	record_barrier(r, record_append(r, &ev), set_flag, &done);
	help_wait(l, &seen.stalled);
	ok(seen.stalled && !done, "stalled: %s", seen.why);
	sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	sqlite3_close(db);
	help_wait(l, &done);
	ok(done && seen.recovered, "and resumes after the lock is released");
	ok(record_close(&r, NULL, &err) == 0, "closed: %s", err.text);
	loop_free(l);
}

static bool moved(const char *path)
{
	sqlite3 *db = NULL;
	bool good = sqlite3_open(path, &db) == SQLITE_OK &&
		    sqlite3_exec(db, "SELECT count(*) FROM event; PRAGMA wal_checkpoint(PASSIVE)", NULL, NULL, NULL) == SQLITE_OK;
	sqlite3_close(db);
	return good;
}

static void verifies_live(const char *path, const char *what)
{
	struct err err = ERR_INIT;
	struct session *s = NULL;
	if (!ok(session_open(&s, path, &err) == 0, "%s: opens %s", what, err.text))
		return;
	help_verify(s, 0, what);
	session_close(&s);
}

/* A transaction is rolled back halfway, and another program checkpoints the log's earlier content: not damage. */
static void test_moved_while_stalled(void)
{
	struct err err = ERR_INIT;
	struct loop *l = NULL;
	struct record *r = NULL;
	struct seen seen = { 0 };
	struct lease_note noted = { 0 };
	bool done = false;
	ok(loop_new(&l, &err) == 0 && record_create(&r, l, help_dir(), "moved", NULL, &ops, &seen, &err) == 0, "a session");
	CLEANUP(free_ptr) char *path = mem_strdup(record_path(r));
	record_barrier(r, put_big(r), set_flag, &done);
	help_wait(l, &done);
	settle(l, path);
	ok(lease_noted(path, &noted) && noted.end, "a log");
	struct rlimit old, small;
	getrlimit(RLIMIT_FSIZE, &old);
	small = old;
	small.rlim_cur = (rlim_t)noted.end + 30 * 4120;
	setrlimit(RLIMIT_FSIZE, &small);
	done = false;
	record_barrier(r, put_big(r), set_flag, &done);
	help_wait(l, &seen.stalled);
	ok(seen.stalled && !done, "stalled: %s", seen.why);
	ok(moved(path), "another program moves what is committed");
	verifies_live(path, "while it is stalled");
	setrlimit(RLIMIT_FSIZE, &old);
	help_wait(l, &done);
	ok(done && seen.recovered, "it resumes");
	verifies_live(path, "resumed");
	ok(record_close(&r, NULL, &err) == 0, "closed: %s", err.text);
	verifies_live(path, "ended");
	loop_free(l);
}

static void note_death(void *self, enum record_state state, const char *why)
{
	printf("# %s\n", why);
	if (state == RECORD_DEAD)
		*(bool *)self = true;
}

/* Another program takes a table away: the end, and nobody waits for room that never comes. */
static void test_death(void)
{
	static const struct record_ops dying = { .on_state = note_death };
	struct err err = ERR_INIT;
	struct loop *l = NULL;
	struct record *r = NULL;
	sqlite3 *db = NULL;
	bool done = false, dead = false;
	ok(loop_new(&l, &err) == 0 && record_create(&r, l, help_dir(), "dies", NULL, &dying, &dead, &err) == 0, "a session");
	record_barrier(r, record_head(r), set_flag, &done);
	help_wait(l, &done);
	ok(sqlite3_open(record_path(r), &db) == SQLITE_OK && sqlite3_busy_timeout(db, 10000) == SQLITE_OK &&
	   sqlite3_exec(db, "DROP TABLE event", NULL, NULL, NULL) == SQLITE_OK,
	   "a table is taken away: %s", sqlite3_errmsg(db));
	sqlite3_close(db);
	done = false;
	record_barrier(r, put_big(r), set_flag, &done);
	help_wait(l, &dead);
	ok(dead && !done, "the record is dead, its barrier does not run");
	for (int i = 0; i < 1000 && record_backlog(r); i++)
		loop_turn(l, 10);
	is_int((int64_t)record_backlog(r), 0, "nothing is waited for");
	put_big(r);
	for (int i = 0; i < 1000 && record_backlog(r); i++)
		loop_turn(l, 10);
	is_int((int64_t)record_backlog(r), 0, "nor what comes later");
	record_abandon(&r);
	loop_free(l);
}

/* In a namespace of its own: a disk of 20 MB with the reserve on it is filled up. 0 good, 77 cannot mount. */
static int on_small_disk(void)
{
	struct err err = ERR_INIT;
	struct loop *l = NULL;
	struct record *r = NULL;
	struct session *s = NULL;
	struct seen seen = { 0 };
	CLEANUP(free_ptr) char *dir = mem_printf("%s/disk", help_root);
	if (unshare(CLONE_NEWNS) < 0 || mkdir(dir, 0700) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", dir, "tmpfs", 0, "size=20m") < 0)
		return 77;
	if (loop_new(&l, &err) < 0 || record_create(&r, l, dir, "disk", NULL, &ops, &seen, &err) < 0)
		return 1;
	char *path = mem_strdup(record_path(r));
	for (int i = 0; i < 200 && !seen.stalled; i++) {
		put_big(r);
		turns(l, 20);
	}
	if (!seen.stalled || seen.dead)
		return 2;
	/* the disk stays full, but the end can be written: that is what the reserve is for */
	uint64_t head = record_head(r);
	if (record_close(&r, NULL, &err) < 0) {
		printf("# %s\n", err.text);
		fflush(stdout);
		if (err.code != ERR_BUSY) /* what was waiting may fill the log so that it has no room in the file: it stays beside it */
			return 3;
	}
	struct verify_totals t;
	if (session_open(&s, path, &err) < 0)
		return 4;
	int rc = session_head(s) == head + 1 && verify_session(s, NULL, NULL, NULL, &t, &err) == 0 && !t.failed ? 0 : 5;
	session_close(&s);
	loop_free(l);
	free(path);
	return rc;
}

int main(void)
{
	help_init();
	signal(SIGXFSZ, SIG_IGN);
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		alarm(60);
		_exit(on_small_disk());
	}
	int status = 0;
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip(1, "a full disk: mounting is refused here");
	else
		is_int(status >> 8, 0, "a full disk: the reserve lets the end be written");
	test_limit();
	test_rows();
	test_lock();
	test_moved_while_stalled();
	test_death();
	return help_done();
}
