/* No query of a session file may run for as long as its maker likes: pages of a damaged or made-up
 * file can lead to one another so that a small table has rows without end. A query gets as many
 * steps of SQLite's machine as any honest one of a file of that size needs. */
#include <sys/stat.h>

#include "base/mem.h"
#include "record/read/read_priv.h"

/* An event of 150 bytes is worth 10,000 steps, a hundred times what reading it takes; the least is
 * about two seconds. */
enum { LOOK_STEPS = 2000, STOP_STEPS = 200, LEAST_STEPS = 100000000, STEPS_PER_BYTE = 64 };

/* A statement that begins while another one is under way belongs to that one's query. */
static int bound_begins(unsigned what, void *self, void *stmt, void *text)
{
	struct session *s = self;
	sqlite3 *db = sqlite3_db_handle(stmt);
	(void)what;
	(void)text;
	for (sqlite3_stmt *st = sqlite3_next_stmt(db, NULL); st; st = sqlite3_next_stmt(db, st))
		if (st != stmt && sqlite3_stmt_busy(st))
			return 0;
	s->steps = 0;
	s->endless = false;
	return 0;
}

static uint64_t bound_size(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static uint64_t bound_most(const struct session *s)
{
	CLEANUP(free_ptr) char *wal = mem_printf("%s-wal", s->path);
	return LEAST_STEPS + (bound_size(s->path) + bound_size(wal)) * STEPS_PER_BYTE;
}

static int bound_passed(void *self)
{
	struct session *s = self;
	s->steps += s->stop ? STOP_STEPS : LOOK_STEPS;
	if (s->steps > s->most_steps) /* a running session's file has grown meanwhile */
		s->most_steps = bound_most(s);
	if (s->steps > s->most_steps)
		s->endless = true;
	return session_stopped(s) || s->endless;
}

void session_bound_db(struct session *s, sqlite3 *db)
{
	s->most_steps = bound_most(s);
	sqlite3_trace_v2(db, SQLITE_TRACE_STMT, bound_begins, s);
	sqlite3_progress_handler(db, s->stop ? STOP_STEPS : LOOK_STEPS, bound_passed, s);
}

void session_bound(struct session *s)
{
	session_bound_db(s, s->db);
}
