/* What a filter finds in a session, page by page.
 *
 * Words are asked for in stretches of the session, small ones first, so that a common word costs its first rows and not all
 * of them. In a stretch the index says of each word which events may hold it; these lead to rows, and the sets of rows are
 * joined as the filter joins the words. Only the rows that are left are read and asked the whole filter: words that are
 * common and never meet cost what the index costs. What the index does not reach is asked row by row.
 *
 * A value of a field that is a text of the body stands in the index as words do: the pieces of it that JSON writes as they are
 * lead to the rows where all of them stand, and so does every body that writes characters as \u00.., where a piece may hide.
 * So do an exit status, a kind, a verdict, a risk (filter_texts.c).
 * An agent's and a box's rows have an index of their own. */
#include <ctype.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "query/filter_inner.h"
#include "query/listed.h"
#include "record/read/session.h"
#include "record/read/steps.h"

enum {
	STRETCH_LEAST = 4 * STEPS_BLOCK, /* events; the next one is four times as long */
	STRETCH_MOST = 1 << 20,
	STRETCH_READ = 500, /* where no index helps */
	AT_ONCE = 256,	    /* rows that are asked by one statement */
	ALL_LEAST = 1 << 9, /* ... where each of them is: as many as HOLD_US allows */
	BITS = 64,
	PIECE_LEAST = 3, /* letters: a trigram */
	COARSE_MOST = 2000, /* rows of a stretch that are read sooner than the index is asked for all that it knows */
	HOLD_US = 50000, /* a transaction keeps a writer from emptying its WAL */
};
_Static_assert(STRETCH_MOST / STEPS_BLOCK <= STEPS_KEPT, "each block of a stretch is read once");

/* A term on the agent or the box: those that it means, ascending uint64_t. Or a term whose rows an index lists: these. */
struct place {
	const struct node *node;
	struct buf ids;
	bool rows;
};

/* Rows of a stretch: bit i stands for the event after + 1 + i. */
struct rows {
	bool all;
	uint64_t *bits; /* owned; NULL with all */
};

struct search {
	const struct filter *f;
	struct session *s;
	int64_t now_us;
	size_t max;
	uint64_t *seqs; /* ascending; borrowed */
	size_t nr;
	struct words words; /* those of a term beside those of the words: one for each value, and one more */
	struct place *place; /* owned */
	size_t places, place_cap;
	struct steps steps;
	uint64_t indexed;
	bool coarse; /* the looks are asked so; once one stretch has too many rows, the rest are asked in full */
	bool ours; /* a transaction; since: */
	int64_t begun_us;
	uint64_t piece; /* so many rows of which each is asked */
	/* of the stretch */
	uint64_t after, upto, reach;
	struct buf open; /* actions that go on behind reach: uint64_t, ascending */
};

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int failed(struct search *q, struct err *err)
{
	return err_set(err, ERR_DAMAGED, "search: %s", sqlite3_errmsg(session_handle(q->s)));
}

/* --- rows that are asked -------------------------------------------------------------------------------------------- */

/* Adds the rows that match: of all behind @after up to @upto, or of those of the JSON list @among. */
static int find(struct search *q, const struct buf *among, uint64_t after, uint64_t upto, struct err *err)
{
	sqlite3_stmt *st = NULL;
	CLEANUP(buf_release) struct buf sql = BUF_INIT;
	buf_printf(&sql, "SELECT r.seq FROM %s r%s WHERE r.seq>?1 AND r.seq<=?2 AND ", among ? "json_each(?3) l CROSS JOIN event" : "event",
		   among ? " ON r.seq=l.value" : "");
	filter_sql(q->f, &sql);
	buf_puts(&sql, " ORDER BY r.seq LIMIT ?");
	if (sqlite3_prepare_v2(session_handle(q->s), buf_cstr(&sql), -1, &st, NULL) != SQLITE_OK)
		return failed(q, err);
	sqlite3_bind_int64(st, 1, (sqlite3_int64)after);
	sqlite3_bind_int64(st, 2, upto > INT64_MAX ? INT64_MAX : (sqlite3_int64)upto);
	if (among)
		sqlite3_bind_text(st, 3, among->data, (int)among->len, SQLITE_STATIC);
	int last = filter_bind_words(q->f, &q->words, st, among ? 4 : 3, q->now_us);
	sqlite3_bind_int64(st, last, (sqlite3_int64)(q->max - q->nr));
	int rc;
	while ((rc = sqlite3_step(st)) == SQLITE_ROW && q->nr < q->max)
		q->seqs[q->nr++] = (uint64_t)sqlite3_column_int64(st, 0);
	int result = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : failed(q, err);
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
	q->ours = sqlite3_get_autocommit(db) && sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK;
	q->begun_us = clock_mono_us();
}

static void end_reading(struct search *q)
{
	sqlite3 *db = session_handle(q->s);
	if (q->ours && sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK && !sqlite3_get_autocommit(db))
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	q->ours = false;
}

/* Between two statements: events do not change, so the rows of a stretch are true of any moment. */
static void let_others(struct search *q)
{
	if (!q->ours || clock_mono_us() - q->begun_us < HOLD_US / 2)
		return;
	end_reading(q);
	begin_reading(q);
}

/* Some rows cost a microsecond and some a hundred, and how many of them there are is not known before. */
static void adapt(struct search *q, int64_t took_us)
{
	if (took_us > HOLD_US / 2)
		q->piece = q->piece / 4 > ALL_LEAST ? q->piece / 4 : ALL_LEAST;
	else if (took_us < HOLD_US / 10)
		q->piece = least(q->piece * 2, STRETCH_MOST);
}

/* Every row behind @after up to @to is asked. */
static int find_all(struct search *q, uint64_t after, uint64_t to, struct err *err)
{
	uint64_t next;
	int rc = 0;
	for (uint64_t at = after; rc == 0 && at < to && q->nr < q->max;) {
		if ((rc = session_next(q->s, at, &next, err)) < 0 || !next || next > to)
			break;
		int64_t begun_us = clock_mono_us();
		at = next - 1; /* numbers that a foreign file leaves out are not walked through */
		uint64_t upto = to - at > q->piece ? at + q->piece : to;
		rc = find(q, NULL, at, upto, err);
		at = upto;
		adapt(q, clock_mono_us() - begun_us);
		let_others(q);
	}
	return rc;
}

static int find_bits(struct search *q, const uint64_t *bits, struct err *err)
{
	CLEANUP(buf_release) struct buf list = BUF_INIT;
	uint64_t nr = q->upto - q->after, at = next_bit(bits, 0, nr);
	int rc = 0;
	while (rc == 0 && at < nr && q->nr < q->max) {
		buf_reset(&list);
		for (size_t i = 0; i < AT_ONCE && at < nr; i++, at = next_bit(bits, at + 1, nr))
			buf_printf(&list, "%c%llu", i ? ',' : '[', (unsigned long long)(q->after + 1 + at));
		buf_putc(&list, ']');
		rc = find(q, &list, q->after, q->upto, err);
		let_others(q);
	}
	return rc;
}

/* --- rows that may match, by the index ------------------------------------------------------------------------------- */

static void set(struct search *q, uint64_t *bits, uint64_t seq)
{
	uint64_t i = seq - q->after - 1;
	if (seq > q->after && seq <= q->upto)
		bits[i / BITS] |= (uint64_t)1 << i % BITS;
}

static void begin(struct search *q, struct rows *out)
{
	out->all = false;
	out->bits = xcalloc((size_t)(q->upto - q->after) / BITS + 1, sizeof(*out->bits));
}

/* Of words, or of a term: those of each of its looks. With none of them every row may match. */
static int rows_of_looks(struct search *q, const struct node *n, struct rows *out, struct err *err)
{
	for (size_t w = 0; w < q->words.nr; w++) {
		struct look *look = q->words.item[w].look;
		if (q->words.item[w].node != n)
			continue;
		if (look_range(look, q->after, q->reach, err) < 0)
			return -1;
		if (!out->bits)
			begin(q, out);
		for (uint64_t seq = q->after; (seq = look_next(look, seq));) {
			set(q, out->bits, seq);
			set(q, out->bits, steps_owner(&q->steps, seq));
		}
	}
	for (size_t at = 0; out->bits && at < q->open.len; at += sizeof(uint64_t)) {
		uint64_t action;
		memcpy(&action, q->open.data + at, sizeof(action));
		set(q, out->bits, action);
	}
	return 0;
}

static void rows_of_list(struct search *q, const struct place *p, struct rows *out)
{
	begin(q, out);
	for (size_t at = 0; at < p->ids.len; at += sizeof(uint64_t)) {
		uint64_t seq;
		memcpy(&seq, p->ids.data + at, sizeof(seq));
		set(q, out->bits, seq);
	}
}

static int rows_of_place(struct search *q, const struct place *p, struct rows *out, struct err *err)
{
	static const char of_agent[] = "SELECT seq FROM event WHERE agent=?1 AND agent>0 AND seq>?2 AND seq<=?3";
	static const char of_box[] = "SELECT seq FROM event WHERE box=?1 AND box>0 AND seq>?2 AND seq<=?3";
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(session_handle(q->s), p->node->field == FIELD_BOX ? of_box : of_agent, -1, &st, NULL);
	begin(q, out);
	for (size_t at = 0; rc == SQLITE_OK && at < p->ids.len; at += sizeof(uint64_t)) {
		uint64_t id;
		memcpy(&id, p->ids.data + at, sizeof(id));
		sqlite3_bind_int64(st, 1, (sqlite3_int64)id);
		sqlite3_bind_int64(st, 2, (sqlite3_int64)q->after);
		sqlite3_bind_int64(st, 3, (sqlite3_int64)q->upto);
		while ((rc = sqlite3_step(st)) == SQLITE_ROW)
			set(q, out->bits, (uint64_t)sqlite3_column_int64(st, 0));
		rc = rc == SQLITE_DONE ? sqlite3_reset(st) : rc;
	}
	int result = rc == SQLITE_OK ? 0 : failed(q, err);
	sqlite3_finalize(st);
	return result;
}

static const struct place *place_of(const struct search *q, const struct node *n)
{
	for (size_t i = 0; i < q->places; i++)
		if (q->place[i].node == n)
			return &q->place[i];
	return NULL;
}

static void join(struct search *q, enum node_type how, struct rows *to, struct rows *from)
{
	if (how == NODE_AND ? to->all : from->all) {
		struct rows swap = *to;
		*to = *from;
		*from = swap;
	}
	for (size_t i = 0; !to->all && !from->all && i <= (q->upto - q->after) / BITS; i++)
		to->bits[i] = how == NODE_AND ? to->bits[i] & from->bits[i] : to->bits[i] | from->bits[i];
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

/* Which events may hold the words below a "not": it leaves no row out (what may hold them may also not), but a row that the
 * index says does not hold them need not be read for them. */
static int look_below(struct search *q, const struct node *n, struct err *err)
{
	int rc = 0;
	for (size_t w = 0; n && rc == 0 && w < q->words.nr; w++)
		if (q->words.item[w].node == n)
			rc = look_range(q->words.item[w].look, q->after, q->reach, err);
	if (n && rc == 0)
		rc = look_below(q, n->left, err);
	return n && rc == 0 ? look_below(q, n->right, err) : rc;
}

/* Rows outside of @out do not match @n. */
static int rows_of(struct search *q, const struct node *n, struct rows *out, struct err *err)
{
	struct rows right = { .all = true };
	const struct node *first;
	const struct place *place;
	int rc = 0;
	*out = right;
	switch (n->type) {
	case NODE_ALL:
		return 0;
	case NODE_TERM:
	case NODE_WORDS:
		place = place_of(q, n);
		if (place && !place->rows)
			return rows_of_place(q, place, out, err);
		if (place)
			rows_of_list(q, place, out);
		return rows_of_looks(q, n, out, err);
	case NODE_NOT:
		return look_below(q, n->left, err);
	case NODE_AND:
	case NODE_OR:
		place = place_of(q, n->left);
		first = place && !place->rows ? n->right : n->left; /* an agent has many rows, and all are listed */
		rc = rows_of(q, first, out, err);
		if (rc == 0 && !(n->type == NODE_AND && is_empty(q, out)))
			rc = rows_of(q, first == n->left ? n->right : n->left, &right, err);
		if (rc == 0)
			join(q, n->type, out, &right);
		break;
	}
	free(right.bits);
	return rc;
}

/* --- stretches ------------------------------------------------------------------------------------------------------ */

static int find_indexed(struct search *q, struct err *err)
{
	struct rows rows = { .all = true };
	bool covered = q->upto <= q->steps.covered;
	q->reach = covered ? steps_reach(&q->steps, q->after, q->upto) : q->upto;
	int rc = steps_open(&q->steps, q->after, q->upto, covered ? q->steps.covered : q->upto, &q->open, err);
	if (rc == 0)
		rc = rows_of(q, q->f->root, &rows, err);
	if (rc == 0 && q->coarse && was_sampled(q) && are_many(q, &rows)) { /* the index knows of fewer */
		ask_coarsely(q, false);
		free(rows.bits);
		rc = rows_of(q, q->f->root, &rows, err);
	}
	if (rc == 0)
		rc = rows.all ? find_all(q, q->after, q->upto, err) : find_bits(q, rows.bits, err);
	free(rows.bits);
	return rc;
}

/* In a transaction: each of its many statements would look for the end of the WAL by itself. */
static int find_stretch(struct search *q, struct err *err)
{
	begin_reading(q);
	int rc = find_indexed(q, err);
	end_reading(q);
	return rc;
}

static int find_words(struct search *q, uint64_t after, uint64_t to, struct err *err)
{
	uint64_t head = least(to, session_head(q->s)), length = STRETCH_LEAST;
	int rc = 0;
	steps_init(&q->steps, session_handle(q->s)); /* first: the index reaches at least as far as the blocks */
	q->indexed = session_indexed(q->s);
	ask_coarsely(q, true);
	for (q->after = after; rc == 0 && q->nr < q->max && q->after < head; q->after = q->upto) {
		uint64_t next;
		if ((rc = session_next(q->s, q->after, &next, err)) < 0 || !next || next > head)
			break;
		q->after = next - 1; /* numbers that a foreign file leaves out are not walked through */
		uint64_t end = q->after < q->steps.covered ? q->steps.covered : q->indexed;
		if (q->after < q->indexed) {
			q->upto = least(head, least(end, (q->after + length) / STEPS_BLOCK * STEPS_BLOCK));
			length = least(length * 4, STRETCH_MOST);
			rc = find_stretch(q, err);
		} else {
			q->upto = least(head, q->after + STRETCH_READ);
			rc = find(q, NULL, q->after, q->upto, err);
			session_reading(q->s, q->upto);
		}
	}
	steps_release(&q->steps);
	buf_release(&q->open);
	return rc;
}

/* --- the two calls -------------------------------------------------------------------------------------------------- */

static void add_look(struct search *q, const struct node *n, const char *match)
{
	struct words *w = &q->words;
	GROW(w->item, w->nr, w->cap);
	w->item[w->nr].node = n;
	w->item[w->nr++].look = look_new(q->s, match);
}

/* The runs of letters and digits of @text that have a letter (numbers have several forms) and can be looked up, as what look_new
 * takes. False if there is none. */
static bool pieces_of(const char *text, struct buf *out)
{
	buf_reset(out);
	for (const char *c = text; *c;) {
		size_t len = 0;
		bool letter = false;
		for (; isascii((unsigned char)c[len]) && (isalnum((unsigned char)c[len]) || c[len] == '_'); len++)
			letter = letter || isalpha((unsigned char)c[len]);
		if (letter && len >= PIECE_LEAST)
			buf_printf(out, "\"%.*s\" ", (int)len, c);
		c += len ? len : 1;
	}
	return out->len > 0;
}

static void looks_of_term(struct search *q, const struct node *n)
{
	CLEANUP(buf_release) struct buf match = BUF_INIT;
	for (size_t i = 0; i < n->nr; i++)
		if (!pieces_of(n->value[i].text, &match))
			return;
	for (size_t i = 0; i < n->nr; i++) {
		pieces_of(n->value[i].text, &match);
		add_look(q, n, buf_cstr(&match));
	}
	add_look(q, n, "\"\\u00\"");
}

static void add_text(struct search *q, const struct node *n, const char *text)
{
	struct words *w = &q->words;
	GROW(w->item, w->nr, w->cap);
	w->item[w->nr].node = n;
	w->item[w->nr++].look = look_new_text(q->s, text);
}

static void looks_of_texts(struct search *q, const struct node *n)
{
	CLEANUP(strv_release) struct strv texts = STRV_INIT;
	if (!filter_texts(session_handle(q->s), n, &texts))
		return;
	strv_push(&texts, "\\u00");
	for (size_t i = 0; i < texts.nr; i++)
		add_text(q, n, texts.item[i]);
}

static struct place *add_place(struct search *q, const struct node *n, bool rows)
{
	GROW(q->place, q->places, q->place_cap);
	q->place[q->places] = (struct place){ n, BUF_INIT, rows };
	return &q->place[q->places++];
}

/* Adds the rows of one value of a term that an index lists; false: there is no such index, or it has not all of them. */
static bool list_value(struct search *q, const struct node *n, const struct value *v, struct buf *out)
{
	/* the name of a kind of event; where it is one of the common kinds there is no row, not even this one of 0 */
	static const char of_kind[] = "WITH k AS (SELECT number FROM kind WHERE name=?1 COLLATE NOCASE AND " IS_RARE("number")
				      ") SELECT 0 FROM k UNION ALL SELECT seq FROM " LISTED_RARE " AND kind=(SELECT number FROM k)";
	bool edited = n->field == FIELD_IS && !strcmp(v->text, "edited"), marked = n->field == FIELD_IS && !strcmp(v->text, "marked");
	bool note = n->field == FIELD_HAS && !strcmp(v->text, "note"), kind = n->field == FIELD_KIND && !v->glob && strchr(v->text, '.');
	const char *sql = edited   ? "SELECT 0 UNION ALL SELECT action FROM " LISTED_EDITED
			  : marked ? "SELECT 0 UNION ALL SELECT DISTINCT cause FROM " LISTED_MARKED
			  : note   ? "SELECT 0 UNION ALL SELECT DISTINCT cause FROM " LISTED_NOTED
			  : kind   ? of_kind
				   : NULL;
	sqlite3_stmt *st = NULL;
	size_t had = out->len;
	int rc = sql ? sqlite3_prepare_v2(session_handle(q->s), sql, -1, &st, NULL) : SQLITE_ERROR;
	if (rc == SQLITE_OK && kind)
		rc = sqlite3_bind_text(st, 1, v->text, -1, SQLITE_STATIC);
	while (rc == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW) {
		int64_t seq = sqlite3_column_int64(st, 0);
		buf_append(out, &seq, sizeof(seq));
	}
	return sqlite3_finalize(st) == SQLITE_OK && rc == SQLITE_OK && out->len > had;
}

static bool list_term(struct search *q, const struct node *n)
{
	struct buf rows = BUF_INIT;
	bool listed = n->nr > 0 && (n->field == FIELD_IS || n->field == FIELD_HAS || n->field == FIELD_KIND);
	for (size_t i = 0; listed && i < n->nr; i++)
		listed = list_value(q, n, &n->value[i], &rows);
	if (!listed) {
		buf_release(&rows);
		return false;
	}
	add_place(q, n, true)->ids = rows;
	for (size_t i = 0; n->field == FIELD_KIND && i < n->nr; i++) { /* an action of somebody else's may be called so, too */
		CLEANUP(free_ptr) char *text = xasprintf("\"kind\":\"%s\"", n->value[i].text);
		add_text(q, n, text);
		add_text(q, n, "\\u00");
	}
	return true;
}

/* Which agents (boxes) a term means: it is asked of the first row of each. The index, of rows that have one, is sought by the
 * first of two bounds, so that must be the one that skips the rows of the agent before. */
static int find_places(struct search *q, struct node *n, struct err *err)
{
	const char *what = n->field == FIELD_BOX ? "box" : "agent";
	const struct filter one = { n };
	CLEANUP(buf_release) struct buf sql = BUF_INIT;
	sqlite3_stmt *st = NULL;
	struct place *p = add_place(q, n, false);
	buf_printf(&sql, "WITH RECURSIVE a(id) AS (SELECT min(%s) FROM event WHERE %s>0 UNION ALL SELECT (SELECT min(%s) FROM event "
		   "WHERE %s>a.id AND %s>0) FROM a WHERE id>0) SELECT a.id FROM a CROSS JOIN event r ON r.seq=(SELECT min(seq) FROM "
		   "event WHERE %s=a.id AND %s>0) WHERE ", what, what, what, what, what, what, what);
	filter_node_sql(n, &sql);
	if (sqlite3_prepare_v2(session_handle(q->s), buf_cstr(&sql), -1, &st, NULL) != SQLITE_OK)
		return failed(q, err);
	filter_bind_words(&one, &q->words, st, 1, q->now_us);
	int rc;
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		int64_t id = sqlite3_column_int64(st, 0);
		buf_append(&p->ids, &id, sizeof(id));
	}
	int result = rc == SQLITE_DONE ? 0 : failed(q, err);
	sqlite3_finalize(st);
	return result;
}

static int words_of_term(struct search *q, struct node *n, struct err *err)
{
	static const bool of_body[FIELD_NR] = { [FIELD_TOOL] = true, [FIELD_CMD] = true, [FIELD_PATH] = true, [FIELD_HOST] = true,
						[FIELD_RULE] = true, [FIELD_BY] = true };
	if (n->op != OP_IS && n->op != OP_EXACT)
		return 0;
	if (n->field == FIELD_AGENT || n->field == FIELD_BOX)
		return find_places(q, n, err);
	if (of_body[n->field])
		looks_of_term(q, n);
	else if (!list_term(q, n))
		looks_of_texts(q, n);
	return 0;
}

/* @below_not: only what the filter itself is asked with; nothing there leads to rows. */
static int words_of(struct search *q, struct node *n, bool below_not, struct err *err)
{
	CLEANUP(buf_release) struct buf match = BUF_INIT;
	int rc = 0;
	if (!n)
		return 0;
	if (n->type == NODE_WORDS) {
		filter_match_text(n, &match);
		add_look(q, n, buf_cstr(&match));
	} else if (n->type == NODE_TERM && !below_not) {
		rc = words_of_term(q, n, err);
	}
	below_not = below_not || n->type == NODE_NOT;
	if (rc == 0)
		rc = words_of(q, n->left, below_not, err);
	return rc == 0 ? words_of(q, n->right, below_not, err) : rc;
}

int filter_search_to(const struct filter *f, struct session *s, int64_t now_us, uint64_t after_seq, uint64_t to_seq,
		     size_t max, uint64_t *seqs, size_t *nr_out, struct err *err)
{
	struct search q = { .f = f, .s = s, .now_us = now_us, .max = max, .seqs = seqs, .piece = ALL_LEAST };
	int64_t low = 0, high = INT64_MAX;
	filter_bounds(f->root, &low, &high);
	uint64_t after = least(after_seq, INT64_MAX);
	to_seq = least(to_seq, (uint64_t)high);
	if (low > 0 && (uint64_t)low - 1 > after)
		after = (uint64_t)low - 1;
	if (filter_functions(session_handle(s), err) < 0)
		return -1;
	int rc = words_of(&q, f->root, false, err);
	if (rc == 0 && max)
		rc = q.words.nr || q.places ? find_words(&q, after, to_seq, err) : find_all(&q, after, to_seq, err);
	for (size_t i = 0; i < q.words.nr; i++) {
		rc = rc == 0 ? look_failed(q.words.item[i].look, err) : rc;
		look_free(&q.words.item[i].look);
	}
	for (size_t i = 0; i < q.places; i++)
		buf_release(&q.place[i].ids);
	free(q.words.item);
	free(q.place);
	if (rc == 0)
		*nr_out = q.nr;
	return rc;
}

int filter_search(const struct filter *f, struct session *s, int64_t now_us, uint64_t after_seq, size_t max, uint64_t *seqs,
		  size_t *nr_out, struct err *err)
{
	return filter_search_to(f, s, now_us, after_seq, INT64_MAX, max, seqs, nr_out, err);
}
