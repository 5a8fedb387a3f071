/* What a filter finds in a session, page by page.
 *
 * Words that every row must hold are looked up only as far as the page needs: a common word costs its first rows, not all of
 * them. A page is found in three steps: hits of the rarest words, in order, until they come to enough rows; what those rows
 * are asked else; and the actions of which an early request is met by a late step only (a word at the end of a long output). */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "query/filter_inner.h"
#include "record/read/session.h"

enum { HITS = 256, LATE = 4096 /* actions that are asked at once */ };

struct search {
	const struct filter *f;
	struct session *s;
	int64_t now_us;
	uint64_t after, to;
	size_t max;
	uint64_t *seqs; /* ascending, each once */
	size_t nr, cap;
};

/* --- rows ----------------------------------------------------------------------------------------------------------- */

static int by_seq(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* After rows were added. */
static void put_in_order(struct search *q)
{
	size_t kept = 0;
	if (q->nr)
		qsort(q->seqs, q->nr, sizeof(*q->seqs), by_seq);
	for (size_t i = 0; i < q->nr; i++)
		if (!kept || q->seqs[kept - 1] != q->seqs[i])
			q->seqs[kept++] = q->seqs[i];
	q->nr = kept;
}

static int failed(struct search *q, struct err *err)
{
	return err_set(err, ERR_DAMAGED, "search: %s", sqlite3_errmsg(session_handle(q->s)));
}

/* Adds rows of @st, at most @max. */
static int take_rows(struct search *q, sqlite3_stmt *st, size_t max, struct err *err)
{
	int rc = SQLITE_ROW;
	for (size_t i = 0; i < max && (rc = sqlite3_step(st)) == SQLITE_ROW; i++) {
		GROW(q->seqs, q->nr, q->cap);
		q->seqs[q->nr++] = (uint64_t)sqlite3_column_int64(st, 0);
	}
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : failed(q, err);
}

/* Rows behind @after that match, up to @most: of all events, or of those in which or in whose steps the events @among stand. */
static int find(struct search *q, const struct words *w, const struct buf *among, size_t most, struct err *err)
{
	sqlite3_stmt *st = NULL;
	CLEANUP(buf_release) struct buf sql = BUF_INIT;
	buf_puts(&sql, "SELECT r.seq FROM event r WHERE r.seq>?1 AND r.seq<=?2 AND ");
	if (among)
		buf_puts(&sql, "r.seq IN (SELECT CASE WHEN h.action>0 AND (h.kind BETWEEN 101 AND 109 OR h.kind IN (10,11)) THEN h.action "
			       "ELSE h.seq END FROM json_each(?3) l JOIN event h ON h.seq=l.value) AND ");
	filter_sql_words(q->f, w, &sql);
	buf_puts(&sql, " ORDER BY r.seq LIMIT ?");
	if (sqlite3_prepare_v2(session_handle(q->s), buf_cstr(&sql), -1, &st, NULL) != SQLITE_OK)
		return failed(q, err);
	sqlite3_bind_int64(st, 1, (sqlite3_int64)q->after);
	sqlite3_bind_int64(st, 2, q->to > INT64_MAX ? INT64_MAX : (sqlite3_int64)q->to);
	if (among)
		sqlite3_bind_text(st, 3, among->data, (int)among->len, SQLITE_STATIC);
	int next = filter_bind_words(q->f, w, q->s, st, among ? 4 : 3, q->now_us, err), rc = -1;
	if (next > 0) {
		sqlite3_bind_int64(st, next, (sqlite3_int64)most);
		rc = take_rows(q, st, most, err);
	}
	sqlite3_finalize(st);
	return rc;
}

static void put_list(const uint64_t *seqs, size_t nr, struct buf *out)
{
	buf_reset(out);
	for (size_t i = 0; i < nr; i++)
		buf_printf(out, "%c%llu", i ? ',' : '[', (unsigned long long)seqs[i]);
	buf_puts(out, nr ? "]" : "[]");
}

/* --- words ---------------------------------------------------------------------------------------------------------- */

static void words_of(const struct node *n, struct words *w)
{
	if (n->type == NODE_AND) {
		words_of(n->left, w);
		words_of(n->right, w);
	} else if (n->type == NODE_WORDS && w->nr < WORDS_MOST) {
		w->node[w->nr++] = n;
	}
}

static void words_release(struct words *w)
{
	for (size_t i = 0; i < w->nr; i++)
		look_free(&w->look[i]);
}

static int hits_of(struct search *q, const struct node *n, uint64_t after, uint64_t *hit, size_t *nr, struct err *err)
{
	CLEANUP(buf_release) struct buf match = BUF_INIT;
	filter_match_text(n, &match);
	return session_search(q->s, buf_cstr(&match), after, HITS, hit, nr, err);
}

/* The words whose hits are fewest, or lie farthest apart; @hit: the first of them. */
static int choose(struct search *q, struct words *w, uint64_t *hit, size_t *nr, struct err *err)
{
	uint64_t other[HITS];
	size_t n;
	for (size_t i = 0; i < w->nr; i++) {
		if (hits_of(q, w->node[i], q->after, other, &n, err) < 0)
			return -1;
		if (w->given && (n > *nr || (n == *nr && (n < HITS || other[n - 1] <= hit[n - 1]))))
			continue;
		w->given = w->node[i];
		*nr = n;
		memcpy(hit, other, n * sizeof(*hit));
		if (!n)
			break;
	}
	return 0;
}

/* Actions up to the last row of the page that went on behind @seen: no hit was looked for there. */
static int find_stragglers(struct search *q, struct words *w, uint64_t seen, struct err *err)
{
	static const char sql[] = "SELECT r.seq FROM event r WHERE r.seq>?1 AND r.seq<=?2 AND r.kind=100 AND "
				  "EXISTS(SELECT 1 FROM event x WHERE x.action=r.seq AND x.action>0 AND x.seq>?3)";
	struct search late = { .s = q->s, .after = q->after };
	CLEANUP(buf_release) struct buf list = BUF_INIT;
	sqlite3_stmt *st = NULL;
	if (sqlite3_prepare_v2(session_handle(q->s), sql, -1, &st, NULL) != SQLITE_OK)
		return failed(q, err);
	sqlite3_bind_int64(st, 1, (sqlite3_int64)q->after);
	sqlite3_bind_int64(st, 2, (sqlite3_int64)(q->nr >= q->max ? q->seqs[q->max - 1] : q->to));
	sqlite3_bind_int64(st, 3, (sqlite3_int64)seen);
	w->given = NULL; /* of these nothing is known */
	int rc;
	do {
		late.nr = 0;
		rc = take_rows(&late, st, LATE, err);
		put_list(late.seqs, late.nr, &list);
		if (rc == 0 && late.nr)
			rc = find(q, w, &list, late.nr, err);
	} while (rc == 0 && late.nr == LATE);
	sqlite3_finalize(st);
	free(late.seqs);
	put_in_order(q);
	return rc;
}

static int find_words(struct search *q, struct words *w, struct err *err)
{
	CLEANUP(buf_release) struct buf list = BUF_INIT, match = BUF_INIT;
	uint64_t hit[HITS], seen = q->after;
	size_t nr = 0;
	for (size_t i = 0; i < w->nr; i++) {
		buf_reset(&match);
		filter_match_text(w->node[i], &match);
		w->look[i] = look_new(q->s, buf_cstr(&match));
	}
	int rc = choose(q, w, hit, &nr, err);
	while (rc == 0 && nr) {
		put_list(hit, nr, &list);
		rc = find(q, w, &list, HITS, err);
		put_in_order(q);
		seen = hit[nr - 1];
		if (rc < 0 || nr < HITS)
			return rc;
		if (q->nr >= q->max || seen >= q->to)
			return find_stragglers(q, w, seen, err);
		rc = hits_of(q, w->given, seen, hit, &nr, err);
	}
	return rc;
}

/* --- the two calls -------------------------------------------------------------------------------------------------- */

int filter_search_to(const struct filter *f, struct session *s, int64_t now_us, uint64_t after_seq, uint64_t to_seq,
		     size_t max, uint64_t *seqs, size_t *nr_out, struct err *err)
{
	struct search q = { .f = f, .s = s, .now_us = now_us, .after = after_seq, .to = to_seq, .max = max };
	struct words w = { .nr = 0 };
	if (filter_functions(session_handle(s), err) < 0)
		return -1;
	words_of(f->root, &w);
	int rc = !max ? 0 : w.nr ? find_words(&q, &w, err) : find(&q, NULL, NULL, max, err);
	words_release(&w);
	size_t nr = q.nr < max ? q.nr : max;
	if (rc == 0 && nr)
		memcpy(seqs, q.seqs, nr * sizeof(*seqs));
	if (rc == 0)
		*nr_out = nr;
	free(q.seqs);
	return rc;
}

int filter_search(const struct filter *f, struct session *s, int64_t now_us, uint64_t after_seq, size_t max, uint64_t *seqs,
		  size_t *nr_out, struct err *err)
{
	return filter_search_to(f, s, now_us, after_seq, INT64_MAX, max, seqs, nr_out, err);
}
