#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "record/read/read_priv.h"

enum { PAGE = 64 };

/* A page of events in the direction of reading; bodies live in its own arena. */
struct page {
	struct event ev[PAGE];
	size_t nr, at;
	struct arena arena;
};

struct feed {
	struct session *s;
	struct feed *beside; /* the next one of the session */
	enum feed_where where;
	sqlite3_stmt *next, *prev;
	uint64_t id;
	uint64_t seq; /* the cursor: next is the first above it, prev the last below it */
	struct page ahead, behind;
};

static const char *const where_sql[] = {
	[FEED_ALL] = "",
	[FEED_AGENT] = "agent = ?3 AND agent > 0 AND ",
	[FEED_BOX] = "box = ?3 AND box > 0 AND ",
	[FEED_ACTION] = "action = ?3 AND action > 0 AND ",
};

static bool feed_prepare(struct feed *f)
{
	CLEANUP(free_ptr)
	char *next = mem_printf("SELECT " READ_EVENT_COLUMNS
				" FROM event WHERE %sseq > ?1 AND seq <= ?2 ORDER BY seq LIMIT %d",
				where_sql[f->where], PAGE);
	CLEANUP(free_ptr)
	char *prev =
		mem_printf("SELECT " READ_EVENT_COLUMNS
			   " FROM event WHERE %sseq < ?1 AND seq <= ?2 ORDER BY seq DESC LIMIT %d",
			   where_sql[f->where], PAGE);
	return sqlite3_prepare_v3(f->s->db, next, -1, SQLITE_PREPARE_PERSISTENT, &f->next, NULL) ==
		       SQLITE_OK &&
	       sqlite3_prepare_v3(f->s->db, prev, -1, SQLITE_PREPARE_PERSISTENT, &f->prev, NULL) ==
		       SQLITE_OK;
}

static void feed_unprepare(struct feed *f)
{
	sqlite3_finalize(f->next);
	sqlite3_finalize(f->prev);
	f->next = f->prev = NULL;
}

int feed_new(struct feed **out, struct session *s, enum feed_where where, uint64_t id,
	     struct err *err)
{
	struct feed *f = NEW(struct feed);
	*f = (struct feed){ .s = s, .where = where, .id = id, .beside = s->feeds };
	s->feeds = f;
	if (!feed_prepare(f)) {
		session_failed(s, err);
		feed_free(&f);
		return -1;
	}
	*out = f;
	return 0;
}

void feed_free(struct feed **fp)
{
	struct feed *f = *fp, **at;
	*fp = NULL;
	if (!f)
		return;
	for (at = &f->s->feeds; *at != f; at = &(*at)->beside)
		;
	*at = f->beside;
	feed_unprepare(f);
	arena_release(&f->ahead.arena);
	arena_release(&f->behind.arena);
	free(f);
}

void feeds_rejoin(struct session *s)
{
	for (struct feed *f = s->feeds; f; f = f->beside) {
		feed_unprepare(f);
		if (!feed_prepare(f))
			feed_unprepare(f); /* its next read reports the failure */
	}
}

void feed_seek(struct feed *f, uint64_t seq)
{
	f->seq = seq > INT64_MAX ? session_head(f->s) : seq;
	f->ahead.nr = f->ahead.at = 0;
	f->behind.nr = f->behind.at = 0;
}

uint64_t feed_seq(const struct feed *f)
{
	return f->seq;
}

static int feed_fill(struct feed *f, struct page *p, sqlite3_stmt *st, uint64_t from,
		     uint64_t limit, struct err *err)
{
	arena_reset(&p->arena);
	p->nr = p->at = 0;
	sqlite3_bind_int64(st, 1, from > INT64_MAX ? INT64_MAX : (int64_t)from);
	sqlite3_bind_int64(st, 2, limit > INT64_MAX ? INT64_MAX : (int64_t)limit);
	if (sqlite3_bind_parameter_count(st) > 2)
		sqlite3_bind_int64(st, 3, (int64_t)f->id);
	int rc;
	bool good = true;
	while (good && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		good = session_row(st, &p->ev[p->nr], &p->arena, err);
		p->nr += good;
	}
	sqlite3_reset(st);
	if (!good)
		return -1;
	return rc == SQLITE_DONE ? 0 : session_failed(f->s, err);
}

static void feed_give(const struct event *from, struct event *ev, struct arena *arena)
{
	*ev = *from;
	if (from->body)
		ev->body = arena_strndup(arena, from->body, from->len);
}

int feed_next(struct feed *f, struct event *ev, struct arena *arena, uint64_t limit_seq,
	      struct err *err)
{
	uint64_t limit = limit_seq ? limit_seq : UINT64_MAX;
	struct page *p = &f->ahead;
	if (p->at == p->nr && feed_fill(f, p, f->next, f->seq, limit, err) < 0)
		return -1;
	if (p->at == p->nr || p->ev[p->at].seq > limit)
		return 0;
	feed_give(&p->ev[p->at++], ev, arena);
	f->seq = ev->seq;
	f->behind.nr = f->behind.at = 0;
	return 1;
}

int feed_prev(struct feed *f, struct event *ev, struct arena *arena, struct err *err)
{
	struct page *p = &f->behind;
	if (p->at == p->nr && feed_fill(f, p, f->prev, f->seq, UINT64_MAX, err) < 0)
		return -1;
	if (p->at == p->nr)
		return 0;
	feed_give(&p->ev[p->at++], ev, arena);
	f->seq = ev->seq;
	f->ahead.nr = f->ahead.at = 0;
	return 1;
}
