/* The results of a filter in a session, page by page.
 *
 * Words are looked up in stretches of the session, small ones first, so that a common word costs
 * its first rows and not all of them. In a stretch the index names the events that may hold each
 * word; these lead to rows, and the sets of rows are joined as the filter joins the words. Only the
 * remaining rows are read and checked against the whole filter: common words that never meet cost
 * only the index. Events outside of the index are checked row by row.
 *
 * A value of a text field of the body is indexed as words are: the pieces of it that JSON writes
 * unchanged lead to the rows that hold all of them, and so does every body that writes characters
 * as \u00.., where a piece may hide. Rows of an agent and of a sandbox have an index of their own.
 * Values that words can't find, as times, durations, and kinds, are in blocks of values
 * (filter_values.c). */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "query/filter_search.h"

enum {
	STRETCH_LEAST = 4 * STEPS_BLOCK, /* events; the next one is four times as long */
	STRETCH_MOST = 1 << 20,
	STRETCH_READ = 500, /* where no index helps */
	AT_ONCE = 256,	    /* rows that are asked by one statement */
	ALL_LEAST = 1 << 9, /* ... where each of them is: as many as HOLD_US allows */
	BITS = 64,
	/* rows of a stretch that are read sooner than the index is asked for all that it knows */
	COARSE_MOST = 2000,
	HOLD_US = 50000, /* a transaction keeps a writer from emptying its WAL */
};
_Static_assert(STRETCH_MOST / STEPS_BLOCK <= STEPS_KEPT, "each block of a stretch is read once");

/* Rows of a stretch: bit i stands for the event after + 1 + i. */
struct rows {
	bool all;
	uint64_t *bits; /* owned; NULL with all */
};

static uint64_t filter_search_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

int filter_search_failed(struct search *q, struct err *err)
{
	return err_set(err, ERR_DAMAGED, "search: %s", sqlite3_errmsg(session_handle(q->s)));
}

/* --- rows that are asked ---------------------------------------------------------------------- */

/* Adds the rows that match: of all behind @after up to @upto, or of those of the JSON list
 * @among. */
static int filter_search_find(struct search *q, const struct buf *among, uint64_t after,
			      uint64_t upto, struct err *err)
{
	sqlite3_stmt *st = NULL;
	CLEANUP(buf_release) struct buf sql = BUF_INIT;
	buf_printf(&sql, "SELECT r.seq FROM %s r%s WHERE r.seq>?1 AND r.seq<=?2 AND ",
		   among ? "json_each(?3) l CROSS JOIN event" : "event",
		   among ? " ON r.seq=l.value" : "");
	filter_sql(q->f, &sql);
	buf_puts(&sql, " ORDER BY r.seq LIMIT ?");
	if (sqlite3_prepare_v2(session_handle(q->s), buf_cstr(&sql), -1, &st, NULL) != SQLITE_OK)
		return filter_search_failed(q, err);
	sqlite3_bind_int64(st, 1, (sqlite3_int64)after);
	sqlite3_bind_int64(st, 2, upto > INT64_MAX ? INT64_MAX : (sqlite3_int64)upto);
	if (among)
		sqlite3_bind_text(st, 3, among->data, (int)among->len, SQLITE_STATIC);
	int last = filter_bind_words(q->f, &q->words, st, among ? 4 : 3, q->now_us);
	sqlite3_bind_int64(st, last, (sqlite3_int64)(q->max - q->nr));
	int rc;
	while ((rc = sqlite3_step(st)) == SQLITE_ROW && q->nr < q->max)
		q->seqs[q->nr++] = (uint64_t)sqlite3_column_int64(st, 0);
	int result = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : filter_search_failed(q, err);
	sqlite3_finalize(st);
	return result;
}

static uint64_t next_bit(const uint64_t *bits, uint64_t at, uint64_t nr)
{
	while (at < nr) {
		uint64_t left = bits[at / BITS] >> at % BITS;
		if (left)
			return at + (uint64_t)__builtin_ctzll(left);
		at += BITS - at % BITS;
	}
	return nr;
}

static void begin_reading(struct search *q)
{
	sqlite3 *db = session_handle(q->s);
	q->ours = sqlite3_get_autocommit(db) &&
		  sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK;
	q->begun_us = clock_mono_us();
}

static void filter_search_end_reading(struct search *q)
{
	sqlite3 *db = session_handle(q->s);
	if (q->ours && sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK &&
	    !sqlite3_get_autocommit(db))
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	q->ours = false;
}

/* Between two statements: events do not change, so the rows of a stretch are true of any moment. */
static void let_others(struct search *q)
{
	if (!q->ours || clock_mono_us() - q->begun_us < HOLD_US / 2)
		return;
	filter_search_end_reading(q);
	begin_reading(q);
}

/* Some rows cost a microsecond and some a hundred, and how many of them there are is not known
 * before. */
static void filter_search_adapt(struct search *q, int64_t took_us)
{
	if (took_us > HOLD_US / 2)
		q->piece = q->piece / 4 > ALL_LEAST ? q->piece / 4 : ALL_LEAST;
	else if (took_us < HOLD_US / 10)
		q->piece = filter_search_least(q->piece * 2, STRETCH_MOST);
}

/* True if the found rows are to be shown now. */
static bool filter_search_enough(const struct search *q)
{
	return q->nr >= q->max || (q->soon_us && q->nr && clock_mono_us() > q->soon_us);
}

/* Every row behind @after up to @to is asked. */
static int filter_search_find_all(struct search *q, uint64_t after, uint64_t to, struct err *err)
{
	uint64_t next;
	int rc = 0;
	for (uint64_t at = after; rc == 0 && at < to && !filter_search_enough(q);) {
		if ((rc = session_next(q->s, at, &next, err)) < 0 || !next || next > to)
			break;
		int64_t begun_us = clock_mono_us();
		at = next - 1; /* numbers that a foreign file leaves out are not walked through */
		uint64_t upto = to - at > q->piece ? at + q->piece : to;
		rc = filter_search_find(q, NULL, at, upto, err);
		q->at = at = upto;
		filter_search_adapt(q, clock_mono_us() - begun_us);
		let_others(q);
		session_reading(q->s, at);
	}
	return rc;
}

static int find_bits(struct search *q, const uint64_t *bits, struct err *err)
{
	CLEANUP(buf_release) struct buf list = BUF_INIT;
	uint64_t nr = q->upto - q->after, at = next_bit(bits, 0, nr);
	int rc = 0;
	while (rc == 0 && at < nr && !filter_search_enough(q)) {
		buf_reset(&list);
		for (size_t i = 0; i < AT_ONCE && at < nr; i++, at = next_bit(bits, at + 1, nr))
			buf_printf(&list, "%c%llu", i ? ',' : '[',
				   (unsigned long long)(q->after + 1 + at));
		buf_putc(&list, ']');
		rc = filter_search_find(q, &list, q->after, q->upto, err);
		q->at = q->after + at;
		let_others(q);
		session_reading(q->s, q->at);
	}
	return rc;
}

/* --- rows that may match, by the index -------------------------------------------------------- */

static void filter_search_set(struct search *q, uint64_t *bits, uint64_t seq)
{
	uint64_t i = seq - q->after - 1;
	if (seq > q->after && seq <= q->upto)
		bits[i / BITS] |= (uint64_t)1 << i % BITS;
}

static void filter_search_begin(struct search *q, struct rows *out)
{
	out->all = false;
	if (!out->bits)
		out->bits = mem_calloc((size_t)(q->upto - q->after) / BITS + 1, sizeof(*out->bits));
}

static void filter_search_all(struct rows *out)
{
	free(out->bits);
	*out = (struct rows){ .all = true };
}

static void set_open(struct search *q, uint64_t *bits)
{
	for (size_t at = 0; at < q->open.len; at += sizeof(uint64_t)) {
		uint64_t action;
		memcpy(&action, q->open.data + at, sizeof(action));
		filter_search_set(q, bits, action);
	}
}

/* Of words, or of a term: those of each of its looks. With none of them every row may match. */
static int rows_of_looks(struct search *q, const struct node *n, struct rows *out, struct err *err)
{
	for (size_t w = 0; w < q->words.nr; w++) {
		struct look *look = q->words.item[w].look;
		if (q->words.item[w].node != n)
			continue;
		if (q->blind) {
			filter_search_all(out);
			return 0;
		}
		if (look_range(look, q->after, q->reach, err) < 0)
			return -1;
		filter_search_begin(q, out);
		for (uint64_t seq = q->after; (seq = look_next(look, seq));) {
			filter_search_set(q, out->bits, seq);
			filter_search_set(q, out->bits, steps_owner(&q->steps, seq));
		}
	}
	if (out->bits)
		set_open(q, out->bits);
	return 0;
}

static void rows_of_list(struct search *q, const struct place *p, struct rows *out)
{
	filter_search_begin(q, out);
	for (size_t at = 0; at < p->ids.len; at += sizeof(uint64_t)) {
		uint64_t seq;
		memcpy(&seq, p->ids.data + at, sizeof(seq));
		filter_search_set(q, out->bits, seq);
	}
	for (uint64_t seq = p->whole > q->after ? p->whole : q->after; seq < q->upto;)
		filter_search_set(q, out->bits, ++seq);
}

struct gather {
	struct search *q;
	uint64_t *bits;
	enum value_whose whose;
};

static void filter_search_on_value(void *self, uint64_t seq, int64_t value, bool odd)
{
	struct gather *g = self;
	(void)value;
	if (odd || g->whose != WHOSE_ITS)
		filter_search_set(g->q, g->bits, seq);
	if (odd || g->whose != WHOSE_OWN)
		filter_search_set(g->q, g->bits, steps_owner(&g->q->steps, seq));
}

/* Behind the blocks there may be any. */
static int rows_of_values(struct search *q, const struct place *p, struct rows *out,
			  struct err *err)
{
	int rc = 0;
	if (q->reach > q->values.covered) {
		filter_search_all(out);
		return 0;
	}
	filter_search_begin(q, out);
	for (size_t at = 0; rc == 0 && at < p->ids.len; at += sizeof(struct value_ask)) {
		struct value_ask a;
		memcpy(&a, p->ids.data + at, sizeof(a));
		struct gather g = { q, out->bits, a.whose };
		rc = values_each(&q->values, a.field, q->after,
				 a.whose == WHOSE_OWN ? q->upto : q->reach, a.low, a.high,
				 filter_search_on_value, &g, err);
	}
	set_open(q, out->bits);
	return rc;
}

static int rows_of_ids(struct search *q, const struct place *p, struct rows *out, struct err *err)
{
	static const char of_agent[] =
		"SELECT seq FROM event WHERE agent=?1 AND agent>0 AND seq>?2 AND seq<=?3";
	static const char of_box[] =
		"SELECT seq FROM event WHERE box=?1 AND box>0 AND seq>?2 AND seq<=?3";
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(session_handle(q->s),
				    p->node->field == FIELD_BOX ? of_box : of_agent, -1, &st, NULL);
	filter_search_begin(q, out);
	for (size_t at = 0; rc == SQLITE_OK && at < p->ids.len; at += sizeof(uint64_t)) {
		uint64_t id;
		memcpy(&id, p->ids.data + at, sizeof(id));
		sqlite3_bind_int64(st, 1, (sqlite3_int64)id);
		sqlite3_bind_int64(st, 2, (sqlite3_int64)q->after);
		sqlite3_bind_int64(st, 3, (sqlite3_int64)q->upto);
		while ((rc = sqlite3_step(st)) == SQLITE_ROW)
			filter_search_set(q, out->bits, (uint64_t)sqlite3_column_int64(st, 0));
		rc = rc == SQLITE_DONE ? sqlite3_reset(st) : rc;
	}
	int result = rc == SQLITE_OK ? 0 : filter_search_failed(q, err);
	sqlite3_finalize(st);
	return result;
}

static int rows_of_place(struct search *q, const struct place *p, struct rows *out, struct err *err)
{
	switch (p->how) {
	case PLACE_OF:
		return rows_of_ids(q, p, out, err);
	case PLACE_VALUES:
		return rows_of_values(q, p, out, err);
	case PLACE_ROWS:
		break;
	}
	rows_of_list(q, p, out);
	return 0;
}

static int rows_of_term(struct search *q, const struct node *n, struct rows *out, struct err *err)
{
	int rc = 0;
	bool any = false;
	for (size_t i = 0; rc == 0 && i < q->places && !(any && out->all); i++)
		if (q->place[i].node == n) {
			rc = rows_of_place(q, &q->place[i], out, err);
			any = true;
		}
	return rc < 0 || (any && out->all) ? rc : rows_of_looks(q, n, out, err);
}

/* The cost of listing rows: the fewest first, an agent's are many. */
static int filter_search_dear(const struct search *q, const struct node *n)
{
	int l = n->left ? filter_search_dear(q, n->left) : 0,
	    r = n->right ? filter_search_dear(q, n->right) : 0;
	if (n->type == NODE_AND || n->type == NODE_OR)
		return (n->type == NODE_AND) == (l < r) ? l : r;
	for (size_t i = 0; i < q->places; i++)
		if (q->place[i].node == n)
			return q->place[i].how == PLACE_OF ? 2 : 0;
	return n->type == NODE_NOT ? 3 : 1;
}

static void filter_search_join(struct search *q, enum node_type how, struct rows *to,
			       struct rows *from)
{
	if (how == NODE_AND ? to->all : from->all) {
		struct rows swap = *to;
		*to = *from;
		*from = swap;
	}
	for (size_t i = 0; !to->all && !from->all && i <= (q->upto - q->after) / BITS; i++)
		to->bits[i] =
			how == NODE_AND ? to->bits[i] & from->bits[i] : to->bits[i] | from->bits[i];
}

static bool is_empty(const struct search *q, const struct rows *r)
{
	return !r->all && next_bit(r->bits, 0, q->upto - q->after) == q->upto - q->after;
}

static bool was_sampled(const struct search *q)
{
	for (size_t i = 0; i < q->words.nr; i++)
		if (look_sampled(q->words.item[i].look))
			return true;
	return false;
}

static bool are_many(const struct search *q, const struct rows *r)
{
	uint64_t nr = 0;
	for (uint64_t i = 0; !r->all && i <= (q->upto - q->after) / BITS; i++)
		nr += (uint64_t)__builtin_popcountll(r->bits[i]);
	return r->all || nr > COARSE_MOST;
}

static void ask_coarsely(struct search *q, bool on)
{
	q->coarse = on;
	for (size_t i = 0; i < q->words.nr; i++)
		look_coarsely(q->words.item[i].look, on);
}

/* Events that may hold the words below a "not": they exclude no row (an event that may hold them
 * may also not), but a row without them in the index need not be read for them. */
static int look_below(struct search *q, const struct node *n, struct err *err)
{
	int rc = 0;
	for (size_t w = 0; n && rc == 0 && w < q->words.nr && !q->blind; w++)
		if (q->words.item[w].node == n)
			rc = look_range(q->words.item[w].look, q->after, q->reach, err);
	if (n && rc == 0)
		rc = look_below(q, n->left, err);
	return n && rc == 0 ? look_below(q, n->right, err) : rc;
}

/* Rows outside of @out do not match @n. */
static int filter_search_rows_of(struct search *q, const struct node *n, struct rows *out,
				 struct err *err)
{
	struct rows right = { .all = true };
	const struct node *first;
	int rc = 0;
	*out = right;
	switch (n->type) {
	case NODE_ALL:
		return 0;
	case NODE_TERM:
	case NODE_WORDS:
		return rows_of_term(q, n, out, err);
	case NODE_NOT:
		return look_below(q, n->left, err);
	case NODE_AND:
	case NODE_OR:
		first = filter_search_dear(q, n->left) <= filter_search_dear(q, n->right)
				? n->left
				: n->right;
		rc = filter_search_rows_of(q, first, out, err);
		if (rc == 0 && !(n->type == NODE_AND && is_empty(q, out)))
			rc = filter_search_rows_of(q, first == n->left ? n->right : n->left, &right,
						   err);
		if (rc == 0)
			filter_search_join(q, n->type, out, &right);
		break;
	}
	free(right.bits);
	return rc;
}

/* --- stretches -------------------------------------------------------------------------------- */

static int find_indexed(struct search *q, struct err *err)
{
	struct rows rows = { .all = true };
	bool covered = q->upto <= q->steps.covered;
	q->reach = covered ? steps_reach(&q->steps, q->after, q->upto) : q->upto;
	int rc = steps_open(&q->steps, q->after, q->upto, covered ? q->steps.covered : q->upto,
			    &q->open, err);
	if (rc == 0)
		rc = filter_search_rows_of(q, q->f->root, &rows, err);
	/* the index knows of fewer */
	if (rc == 0 && q->coarse && !q->blind && was_sampled(q) && are_many(q, &rows)) {
		ask_coarsely(q, false);
		free(rows.bits);
		rc = filter_search_rows_of(q, q->f->root, &rows, err);
	}
	if (rc == 0)
		rc = rows.all ? filter_search_find_all(q, q->after, q->upto, err)
			      : find_bits(q, rows.bits, err);
	free(rows.bits);
	return rc;
}

/* In a transaction: otherwise each of its many statements would look for the end of the WAL. */
static int find_stretch(struct search *q, struct err *err)
{
	begin_reading(q);
	int rc = find_indexed(q, err);
	filter_search_end_reading(q);
	return rc;
}

static int find_words(struct search *q, uint64_t after, uint64_t to, struct err *err)
{
	uint64_t head = filter_search_least(to, session_head(q->s)), length = STRETCH_LEAST;
	int rc = 0;
	ask_coarsely(q, true);
	for (q->after = after; rc == 0 && !filter_search_enough(q) && q->after < head;
	     q->after = q->upto) {
		uint64_t next;
		if ((rc = session_next(q->s, q->after, &next, err)) < 0 || !next || next > head)
			break;
		/* numbers that a foreign file leaves out are not walked through */
		q->after = next - 1;
		if (q->after >= q->indexed && !q->blind) {
			q->blind = true;
			q->steps.covered = filter_search_least(q->steps.blocks, q->values.covered);
		}
		uint64_t end =
			q->after < q->steps.covered || q->blind ? q->steps.covered : q->indexed;
		if (q->after < end) {
			q->upto = filter_search_least(
				head, filter_search_least(end, (q->after + length) / STEPS_BLOCK *
								       STEPS_BLOCK));
			length = filter_search_least(length * 4, STRETCH_MOST);
			rc = find_stretch(q, err);
		} else {
			q->upto = filter_search_least(head, q->after + STRETCH_READ);
			rc = filter_search_find(q, NULL, q->after, q->upto, err);
			q->at = q->upto;
			session_reading(q->s, q->upto);
		}
		q->at = filter_search_enough(q) ? q->at : q->upto;
	}
	buf_release(&q->open);
	return rc;
}

/* --- the calls -------------------------------------------------------------------------------- */

static void filter_search_release(struct search *q)
{
	for (size_t i = 0; i < q->words.nr; i++)
		look_free(&q->words.item[i].look);
	for (size_t i = 0; i < q->places; i++)
		buf_release(&q->place[i].ids);
	free(q->words.item);
	free(q->place);
	steps_release(&q->steps);
	values_release(&q->values);
}

static int filter_search_text(struct search *q, struct err *err)
{
	int64_t low = 0, high = INT64_MAX;
	filter_bounds(q->f->root, &low, &high);
	q->to = filter_search_least(q->to, (uint64_t)high);
	if (low > 0 && (uint64_t)low - 1 > q->from)
		q->from = (uint64_t)low - 1;
	q->at = q->from;
	if (filter_functions(session_handle(q->s), err) < 0)
		return -1;
	/* first: the index reaches at least as far as the blocks */
	steps_init(&q->steps, session_handle(q->s));
	values_init(&q->values, session_handle(q->s));
	q->indexed = session_indexed(q->s);
	int rc = filter_terms(q, err);
	if (rc == 0 && q->max)
		rc = q->words.nr || q->places ? find_words(q, q->from, q->to, err)
					      : filter_search_find_all(q, q->from, q->to, err);
	for (size_t i = 0; rc == 0 && i < q->words.nr; i++)
		rc = look_failed(q->words.item[i].look, err);
	filter_search_release(q);
	return rc;
}

int filter_search_to(const struct filter *f, struct session *s, int64_t now_us, uint64_t after_seq,
		     uint64_t to_seq, size_t max, uint64_t *seqs, size_t *nr_out, struct err *err)
{
	struct search q = { .f = f,
			    .s = s,
			    .now_us = now_us,
			    .max = max,
			    .seqs = seqs,
			    .piece = ALL_LEAST,
			    .from = filter_search_least(after_seq, INT64_MAX),
			    .to = to_seq };
	int rc = filter_search_text(&q, err);
	if (rc == 0)
		*nr_out = q.nr;
	return rc;
}

int filter_search_soon(const struct filter *f, struct session *s, int64_t now_us,
		       uint64_t after_seq, int64_t wait_us, size_t max, uint64_t *seqs,
		       size_t *nr_out, uint64_t *upto_out, struct err *err)
{
	struct search q = { .f = f,
			    .s = s,
			    .now_us = now_us,
			    .max = max,
			    .seqs = seqs,
			    .piece = ALL_LEAST,
			    .from = filter_search_least(after_seq, INT64_MAX),
			    .to = INT64_MAX,
			    .soon_us = clock_mono_us() + wait_us };
	int rc = filter_search_text(&q, err);
	if (rc < 0)
		return -1;
	*nr_out = q.nr;
	*upto_out = q.nr >= max ? q.seqs[q.nr - 1] : filter_search_enough(&q) ? q.at : INT64_MAX;
	return 0;
}

int filter_search(const struct filter *f, struct session *s, int64_t now_us, uint64_t after_seq,
		  size_t max, uint64_t *seqs, size_t *nr_out, struct err *err)
{
	return filter_search_to(f, s, now_us, after_seq, INT64_MAX, max, seqs, nr_out, err);
}
