#include "check/past.h"

#include <stdlib.h>
#include <string.h>

#include "cli/lib/cmd_priv.h"
#include "sessions/sessions.h"
#include "base/clock.h"
#include "base/mem.h"
#include "query/row.h"
#include "query/sql.h"

/* actions found at once; of them read in one transaction: some milliseconds */
enum { PAGE = 512, TOGETHER = 128 };

int past_sessions(struct cmd_ctx *ctx, size_t from, struct past *out, struct err *err)
{
	struct session_files files = SESSION_FILES_INIT;
	*out = (struct past){ .paths = STRV_INIT, .working = { .ctx = ctx } };
	for (size_t i = from; cmd_word(ctx, i); i++) {
		CLEANUP(free_ptr) char *path = NULL;
		if (session_find(ctx->sessions, cmd_word(ctx, i), &path, err) < 0) {
			past_release(out);
			return -1;
		}
		strv_push(&out->paths, path);
	}
	if (cmd_word(ctx, from))
		return 0;
	if (session_files_list(&files, ctx->sessions, err) < 0)
		return -1;
	out->file = mem_calloc(files.nr + 1, sizeof(*out->file));
	for (size_t i = files.nr; i-- > 0;) {
		strv_push(&out->paths, files.item[i].path);
		out->file[out->nr_files++] = files.item[i];
	}
	free(files.item);
	return out->paths.nr
		       ? 0
		       : err_set(err, ERR_NOENT,
				 "no sessions found in '%s'\nRecord one with 'sandglass demo'.",
				 ctx->sessions);
}

void past_release(struct past *p)
{
	struct session_files files = { .item = p->file, .nr = p->nr_files };
	strv_release(&p->paths);
	session_files_release(&files);
	p->file = NULL;
	p->nr_files = 0;
}

bool session_of_suite(struct session *s)
{
	struct arena arena = ARENA_INIT;
	struct err none = ERR_INIT;
	struct event ev;
	bool suite = false;
	if (session_event(s, 1, &ev, &arena, &none) == 0 && ev.kind == EV_SESSION_START &&
	    ev.body) {
		CLEANUP(json_release) json_t *body = json_parse(ev.body, ev.len, "event", &none);
		suite = json_str(body, "suite", NULL) != NULL;
	}
	arena_release(&arena);
	return suite;
}

struct lived {
	uint64_t id;
	json_t *requested, *row; /* owned; row is NULL for other events */
};

static int read_one(struct session *s, uint64_t seq, struct lived *out, struct err *err)
{
	struct arena arena = ARENA_INIT;
	struct event ev;
	*out = (struct lived){ .id = seq };
	int rc = session_event(s, seq, &ev, &arena, err);
	if (rc == 0 && ev.kind == EV_ACTION_REQUESTED) {
		out->requested = ev.body ? json_parse(ev.body, ev.len, "event", err) : NULL;
		rc = (out->requested || !ev.body) && row_of(s, seq, &out->row, err) == 0 ? 0 : -1;
	}
	arena_release(&arena);
	return rc;
}

/* Those of @seqs, in their order. They are read together, so that one look at
 * the WAL serves all. @fn gets them afterwards: it may take its time. */
static int past_several(struct session *s, const uint64_t *seqs, size_t nr, struct working *w,
			past_fn *fn, void *self, struct err *err)
{
	struct lived read[TOGETHER];
	int rc = 0;
	uint64_t head = session_head(s);
	bool suite = session_of_suite(s);
	for (size_t i = 0, got = 0; rc == 0 && i < nr; i += got) {
		if (w)
			progress_at(w, session_id(s), seqs[i], head, "events");
		session_hold(s);
		for (got = 0; rc == 0 && got < TOGETHER && i + got < nr; got++)
			rc = read_one(s, seqs[i + got], &read[got], err);
		session_let_go(s);
		for (size_t k = 0; k < got; k++) {
			if (rc == 0 && read[k].row)
				rc = fn(self,
					&(struct past_action){ .s = s,
							       .id = read[k].id,
							       .requested = read[k].requested,
							       .row = read[k].row,
							       .suite = suite },
					err);
			json_decref(read[k].requested);
			json_decref(read[k].row);
		}
	}
	return rc;
}

int past_some(struct session *s, const uint64_t *ids, size_t nr, past_fn *fn, void *self,
	      struct err *err)
{
	return past_several(s, ids, nr, NULL, fn, self, err);
}

/* Every action: the numbers of a page are read in one scan of the events. */
static int past_every(struct session *s, struct working *w, past_fn *fn, void *self,
		      struct err *err)
{
	uint64_t seqs[PAGE], at = 0;
	size_t nr = PAGE;
	int rc = 0;
	while (rc == 0 && nr == PAGE) {
		CLEANUP(free_ptr)
		char *sql =
			mem_printf("SELECT seq FROM event NOT INDEXED WHERE kind=%d AND seq>%llu "
				   "ORDER BY seq LIMIT %d",
				   EV_ACTION_REQUESTED, (unsigned long long)at, PAGE);
		struct sql_table t;
		rc = sql_own(s, sql, PAGE, &t, err);
		if (rc < 0)
			break;
		for (nr = 0; nr < t.rows; nr++)
			at = seqs[nr] = strtoull(t.cell[nr], NULL, 10);
		sql_table_release(&t);
		rc = past_several(s, seqs, nr, w, fn, self, err);
	}
	return rc;
}

int past_each(struct session *s, const char *text, struct working *w, past_fn *fn, void *self,
	      struct err *err)
{
	struct filter *f = NULL;
	uint64_t seqs[PAGE], at = 0;
	size_t nr = PAGE;
	if (!text || !*text)
		return past_every(s, w, fn, self, err);
	if (cmd_filter_text(text, &f, err) < 0)
		return -1;
	int rc = 0;
	while (rc == 0 && nr == PAGE) {
		rc = filter_search(f, s, clock_wall_us(), at, PAGE, seqs, &nr, err);
		if (rc == 0 && nr) {
			rc = past_several(s, seqs, nr, w, fn, self, err);
			at = seqs[nr - 1];
		}
	}
	filter_free(&f);
	return rc;
}

/* The actions of @s with an event that @where chooses; their rows only. */
static int past_with_event(struct session *s, const char *where, struct working *w, past_fn *fn,
			   void *self, struct err *err)
{
	CLEANUP(free_ptr)
	char *sql = mem_printf(
		"SELECT DISTINCT action FROM event NOT INDEXED WHERE %s AND action>0 ORDER BY action",
		where);
	struct sql_table t;
	if (sql_own(s, sql, SIZE_MAX, &t, err) < 0)
		return -1;
	uint64_t *seqs = mem_calloc(t.rows + 1, sizeof(*seqs));
	for (size_t i = 0; i < t.rows; i++)
		seqs[i] = strtoull(t.cell[i], NULL, 10);
	int rc = past_several(s, seqs, t.rows, w, fn, self, err);
	free(seqs);
	sql_table_release(&t);
	return rc;
}

int past_held(struct session *s, struct working *w, past_fn *fn, void *self, struct err *err)
{
	return past_with_event(s, "kind=102", w, fn, self, err);
}

void past_left_out(struct past *p, const struct err *why)
{
	p->unread++;
	progress_clear(&p->working);
	cmd_tell_error(p->working.ctx, "left out", why);
}

/* Hands every session of @p to @each; one that fails is named, counted and left out. */
static void past_sessions_each(struct past *p, const char *filter,
			       int (*each)(struct session *, const char *, struct working *,
					   past_fn *, void *, struct err *),
			       past_fn *fn, void *self)
{
	for (size_t i = 0; i < p->paths.nr; i++) {
		struct session *s = NULL;
		struct err why = ERR_INIT;
		if (p->paths.nr > 1)
			progress_at(&p->working, "all sessions", i, p->paths.nr, "sessions");
		if (p->known && p->nr_files && p->known(self, &p->file[i]))
			continue;
		if (session_open(&s, p->paths.item[i], &why) < 0 ||
		    each(s, filter, p->paths.nr > 1 ? NULL : &p->working, fn, self, &why) < 0)
			past_left_out(p, &why);
		session_close(&s);
	}
	progress_clear(&p->working);
}

int past_decided_in(struct session *s, past_fn *fn, void *self, struct err *err)
{
	return past_with_event(s, "kind=103", NULL, fn, self, err);
}

static int past_decided_of(struct session *s, const char *filter, struct working *w, past_fn *fn,
			   void *self, struct err *err)
{
	return filter ? past_each(s, filter, w, fn, self, err)
		      : past_with_event(s, "kind=103", w, fn, self, err);
}

int past_all(struct past *p, const char *filter, past_fn *fn, void *self, struct err *err)
{
	struct filter *f = NULL;
	if (filter && cmd_filter_text(filter, &f, err) < 0) /* said once, not for each file */
		return -1;
	filter_free(&f);
	past_sessions_each(p, filter, past_each, fn, self);
	return 0;
}

int past_decided(struct past *p, const char *filter, past_fn *fn, void *self, struct err *err)
{
	struct filter *f = NULL;
	if (filter && cmd_filter_text(filter, &f, err) < 0)
		return -1;
	filter_free(&f);
	past_sessions_each(p, filter, past_decided_of, fn, self);
	return 0;
}
