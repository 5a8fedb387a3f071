/* Finds the rows where a term may be true: words of the index, blocks of values, the indexes of
 * agents and sandboxes. */
#include <ctype.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "query/filter_search.h"

enum {
	PIECE_LEAST = 3, /* letters: a trigram */
	/* turns, and rows of them, that are listed: behind those each row is asked */
	TURNS_MOST = 500,
	TURN_ROWS_MOST = 1 << 18,
};

/* --- words ------------------------------------------------------------------------------------ */

static void add_look(struct search *q, const struct node *n, const char *match)
{
	struct words *w = &q->words;
	GROW(w->item, w->nr, w->cap);
	w->item[w->nr].node = n;
	w->item[w->nr++].look = look_new(q->s, match);
}

static void filter_terms_add_text(struct search *q, const struct node *n, const char *text)
{
	struct words *w = &q->words;
	GROW(w->item, w->nr, w->cap);
	w->item[w->nr].node = n;
	w->item[w->nr++].look = look_new_text(q->s, text);
}

/* The runs of letters and digits of @text that have a letter (numbers have several forms) and can
 * be looked up, as what look_new takes. */
static void filter_terms_pieces_of(const char *text, struct buf *out)
{
	for (const char *c = text; *c;) {
		size_t len = 0;
		bool letter = false;
		for (; isascii((unsigned char)c[len]) &&
		       (isalnum((unsigned char)c[len]) || c[len] == '_');
		     len++)
			letter = letter || isalpha((unsigned char)c[len]);
		if (letter && len >= PIECE_LEAST)
			buf_printf(out, "\"%.*s\" ", (int)len, c);
		c += len ? len : 1;
	}
}

/* The entry to look up for one of the values of a term. */
struct matches {
	struct strv list;
	bool of_body;
};

/* False: nothing tells. */
static bool on_pieces(void *self, const struct strv *pieces)
{
	struct matches *m = self;
	CLEANUP(buf_release) struct buf match = BUF_INIT;
	bool tells = m->of_body && filter_match_body(pieces, &match);
	for (size_t i = 0; i < pieces->nr && !m->of_body; i++)
		filter_terms_pieces_of(pieces->item[i], &match);
	if (m->of_body ? !tells : !match.len)
		return false;
	strv_push(&m->list, buf_cstr(&match));
	return true;
}

/* Adds looks for each value, or for none. */
static bool looks_of_pieces(struct search *q, const struct node *n, bool of_body)
{
	struct matches m = { STRV_INIT, of_body };
	bool all = filter_pieces(n, on_pieces, &m);
	for (size_t i = 0; all && i < m.list.nr; i++)
		add_look(q, n, m.list.item[i]);
	strv_release(&m.list);
	return all;
}

/* A text of the body, which may also be written with \u00. */
static void looks_of_field(struct search *q, const struct node *n)
{
	if (looks_of_pieces(q, n, false))
		add_look(q, n, "\"\\u00\"");
}

static void looks_of_texts(struct search *q, const struct node *n)
{
	CLEANUP(strv_release) struct strv texts = STRV_INIT;
	if (!filter_texts(n, &texts))
		return;
	strv_push(&texts, "\\u00");
	for (size_t i = 0; i < texts.nr; i++)
		filter_terms_add_text(q, n, texts.item[i]);
}

/* --- places ----------------------------------------------------------------------------------- */

static struct place *add_place(struct search *q, const struct node *n, enum place_how how)
{
	GROW(q->place, q->places, q->place_cap);
	q->place[q->places] = (struct place){ n, how, BUF_INIT, INT64_MAX };
	return &q->place[q->places++];
}

/* Which agents (boxes) a term means: it is asked of the first row of each. The index, of rows that
 * have one, is sought by the first of two bounds, so that must be the one that skips the rows of
 * the agent before. */
static int find_places(struct search *q, struct node *n, struct err *err)
{
	const char *what = n->field == FIELD_BOX ? "box" : "agent";
	const struct filter one = { n };
	CLEANUP(buf_release) struct buf sql = BUF_INIT;
	sqlite3_stmt *st = NULL;
	struct place *p = add_place(q, n, PLACE_OF);
	buf_printf(
		&sql,
		"WITH RECURSIVE a(id) AS (SELECT min(%s) FROM event WHERE %s>0 UNION ALL SELECT (SELECT min(%s) FROM event "
		"WHERE %s>a.id AND %s>0) FROM a WHERE id>0) SELECT a.id FROM a CROSS JOIN event r ON r.seq=(SELECT min(seq) FROM "
		"event WHERE %s=a.id AND %s>0) WHERE ",
		what, what, what, what, what, what, what);
	filter_node_sql(n, &sql);
	if (sqlite3_prepare_v2(session_handle(q->s), buf_cstr(&sql), -1, &st, NULL) != SQLITE_OK)
		return filter_search_failed(q, err);
	filter_bind_words(&one, &q->words, st, 1, q->now_us);
	int rc;
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		int64_t id = sqlite3_column_int64(st, 0);
		buf_append(&p->ids, &id, sizeof(id));
	}
	int result = rc == SQLITE_DONE ? 0 : filter_search_failed(q, err);
	sqlite3_finalize(st);
	return result;
}

static void add_id(struct buf *ids, uint64_t seq)
{
	buf_append(ids, &seq, sizeof(seq));
}

/* --- notes and turns -------------------------------------------------------------------------- */

struct notes {
	struct buf *ids;
	bool marked;
};

static void on_note(void *self, uint64_t on, bool mark)
{
	const struct notes *n = self;
	if (mark || !n->marked)
		add_id(n->ids, on);
}

/* The events that have a note (or a bookmark: marked). */
static int find_noted(struct search *q, const struct node *n, bool marked, struct err *err)
{
	struct place *p = add_place(q, n, PLACE_ROWS);
	struct notes notes = { &p->ids, marked };
	return filter_notes(session_handle(q->s), on_note, &notes) ? 0
								   : filter_search_failed(q, err);
}

struct turns {
	uint64_t after;
	struct buf list; /* events of turns: uint64_t, ascending */
	size_t nr;
	uint64_t next; /* the first one that is not listed; 0 none */
};

static void on_turn(void *self, uint64_t seq, int64_t value, bool odd)
{
	struct turns *t = self;
	(void)value, (void)odd;
	if (seq <= t->after || (t->next && seq >= t->next))
		return;
	if (t->nr == TURNS_MOST) {
		t->next = seq;
		return;
	}
	add_id(&t->list, seq);
	t->nr++;
}

static int filter_terms_by_number(const void *a, const void *b)
{
	uint64_t x, y;
	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

/* Lists the rows of @agent from @from on until it has another turn. Behind p->whole nothing need be
 * known. */
static int rows_of_turn(struct search *q, struct place *p, sqlite3_stmt *rows, int64_t agent,
			uint64_t from)
{
	int rc;
	bool first = true;
	sqlite3_bind_int64(rows, 1, agent);
	sqlite3_bind_int64(rows, 2, (sqlite3_int64)from);
	while ((rc = sqlite3_step(rows)) == SQLITE_ROW &&
	       (first || sqlite3_column_int(rows, 1) != 401)) {
		uint64_t seq = (uint64_t)sqlite3_column_int64(rows, 0);
		first = false;
		if (seq > p->whole || seq > q->to)
			break;
		if (p->ids.len / sizeof(seq) >= TURN_ROWS_MOST)
			p->whole = seq - 1;
		else
			add_id(&p->ids, seq);
	}
	sqlite3_reset(rows);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : -1;
}

static int rows_of_turns(struct search *q, struct place *p, sqlite3_stmt *rows,
			 const struct turns *t)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(session_handle(q->s), "SELECT agent FROM event WHERE seq=?1",
				    -1, &st, NULL) == SQLITE_OK
			 ? 0
			 : -1;
	for (size_t at = 0; rc == 0 && at < t->list.len; at += sizeof(uint64_t)) {
		uint64_t seq;
		memcpy(&seq, t->list.data + at, sizeof(seq));
		sqlite3_bind_int64(st, 1, (sqlite3_int64)seq);
		int got = sqlite3_step(st);
		int64_t agent = got == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
		sqlite3_reset(st);
		rc = got != SQLITE_ROW && got != SQLITE_DONE ? -1
		     : agent > 0			     ? rows_of_turn(q, p, rows, agent, seq)
							     : 0;
	}
	sqlite3_finalize(st);
	return rc;
}

/* At the start of the search each agent is inside a turn. */
static int rows_of_first_turns(struct search *q, struct place *p, sqlite3_stmt *rows)
{
	static const char agents[] =
		"WITH RECURSIVE a(id) AS (SELECT min(agent) FROM event WHERE agent>0 UNION ALL SELECT (SELECT "
		"min(agent) FROM event WHERE agent>a.id AND agent>0) FROM a WHERE id>0) SELECT id FROM a WHERE "
		"id>0 AND id<=?1";
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(session_handle(q->s), agents, -1, &st, NULL), more = 0;
	if (rc == SQLITE_OK)
		sqlite3_bind_int64(st, 1, (sqlite3_int64)q->from);
	while (rc == SQLITE_OK && more == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		more = rows_of_turn(q, p, rows, sqlite3_column_int64(st, 0), q->from + 1);
		rc = SQLITE_OK;
	}
	sqlite3_finalize(st);
	return rc == SQLITE_DONE && more == 0 ? 0 : -1;
}

/* The rows of the turns that are meant: of the first ones, where they are many. */
static int find_turns(struct search *q, const struct node *n, struct err *err)
{
	static const char of_agent[] =
		"SELECT seq, kind FROM event WHERE agent=?1 AND agent>0 AND seq>=?2 ORDER BY seq";
	CLEANUP(buf_release) struct buf ranges = BUF_INIT;
	struct turns t = { .after = q->from };
	struct place *p = add_place(q, n, PLACE_ROWS);
	sqlite3_stmt *rows = NULL;
	int rc = 0;
	filter_turn_ranges(n, &ranges);
	for (size_t at = 0; rc == 0 && at < ranges.len; at += sizeof(struct value_ask)) {
		struct value_ask a;
		struct turns one = { .after = q->from, .next = t.next };
		memcpy(&a, ranges.data + at, sizeof(a));
		rc = values_each(&q->values, a.field, q->from, q->to, a.low, a.high, on_turn, &one,
				 err);
		if (one.list.len)
			buf_append(&t.list, one.list.data, one.list.len);
		t.next = one.next;
		buf_release(&one.list);
	}
	if (t.list.len)
		qsort(t.list.data, t.list.len / sizeof(uint64_t), sizeof(uint64_t),
		      filter_terms_by_number);
	p->whole = t.next && t.next <= q->values.covered ? t.next - 1 : q->values.covered;
	if (rc == 0 &&
	    sqlite3_prepare_v2(session_handle(q->s), of_agent, -1, &rows, NULL) != SQLITE_OK)
		rc = filter_search_failed(q, err);
	if (rc == 0 &&
	    ((q->from && rows_of_first_turns(q, p, rows) < 0) || rows_of_turns(q, p, rows, &t) < 0))
		rc = filter_search_failed(q, err);
	sqlite3_finalize(rows);
	buf_release(&t.list);
	return rc;
}

/* --- terms ------------------------------------------------------------------------------------ */

static bool filter_terms_add_values(struct search *q, const struct node *n)
{
	CLEANUP(buf_release) struct buf asks = BUF_INIT;
	if (!q->values.covered || !filter_value_asks(session_handle(q->s), n, q->now_us, &asks))
		return false;
	struct buf *ids = &add_place(q, n, PLACE_VALUES)->ids;
	if (asks.len)
		buf_append(ids, asks.data, asks.len);
	return true;
}

static bool can_be_kinds(const struct node *n)
{
	if (n->op == OP_REGEX)
		return false;
	for (size_t i = 0; i < n->nr; i++)
		if (strpbrk(n->value[i].text, "\"\\") ||
		    (n->value[i].glob && strchr("*?", n->value[i].text[0])))
			return false;
	return true;
}

/* An action's kind is a text of its body: beside the kinds of events, those that it may be
 * called. */
static void kinds_of_actions(struct search *q, const struct node *n)
{
	for (size_t i = 0; i < n->nr; i++) {
		const char *text = n->value[i].text;
		bool glob = n->value[i].glob;
		CLEANUP(free_ptr)
		char *said = mem_printf("\"kind\":\"%.*s%s",
					(int)(glob ? strcspn(text, "*?") : strlen(text)), text,
					glob ? "" : "\"");
		filter_terms_add_text(q, n, said);
	}
	filter_terms_add_text(q, n, "\\u00");
}

/* The event kinds to search in the notes (*marked: bookmarks only); *others: and in more. */
static bool by_notes(const struct node *n, bool *marked, bool *others)
{
	bool any = false;
	*marked = true;
	*others = false;
	for (size_t i = 0; i < n->nr; i++) {
		bool note = n->field == FIELD_HAS && !strcmp(n->value[i].text, "note");
		bool mark = n->field == FIELD_IS && !strcmp(n->value[i].text, "marked");
		any = any || note || mark;
		*marked = *marked && !note;
		*others = *others || !(note || mark);
	}
	return any;
}

static int of_states(struct search *q, const struct node *n, struct err *err)
{
	bool marked, others, noted = by_notes(n, &marked, &others);
	if (others && !filter_terms_add_values(q, n))
		return 0;
	return noted ? find_noted(q, n, marked, err) : 0;
}

/* Events after the blocks are read one by one; so is output, if a term may match a body that the
 * recorder writes for it. */
static void of_bodies(struct search *q, const struct node *n)
{
	const struct value_ask odd = { VALUE_ODD_OUTPUT, WHOSE_BOTH, 0, 0 };
	if (q->values.covered && looks_of_pieces(q, n, true))
		buf_append(&add_place(q, n, PLACE_VALUES)->ids, &odd, sizeof(odd));
}

static int words_of_term(struct search *q, struct node *n, struct err *err)
{
	static const bool of_body[FIELD_NR] = { [FIELD_TOOL] = true,
						[FIELD_CMD] = true,
						[FIELD_PATH] = true,
						[FIELD_RULE] = true,
						[FIELD_BY] = true };
	if (n->op == OP_NOT)
		return 0;
	switch ((int)n->field) {
	case FIELD_AGENT:
	case FIELD_BOX:
		return n->op == OP_IS || n->op == OP_EXACT ? find_places(q, n, err) : 0;
	case FIELD_TURN:
		return q->values.covered ? find_turns(q, n, err) : 0;
	case FIELD_IS:
	case FIELD_HAS:
		return of_states(q, n, err);
	case FIELD_KIND:
		if (can_be_kinds(n) && filter_terms_add_values(q, n))
			kinds_of_actions(q, n);
		return 0;
	case FIELD_HOST:
		if (!filter_terms_add_values(q, n))
			looks_of_field(q, n);
		return 0;
	case FIELD_TEXT:
		of_bodies(q, n);
		return 0;
	default:
		if (of_body[n->field])
			looks_of_field(q, n);
		else if (!filter_terms_add_values(q, n) && (n->op == OP_IS || n->op == OP_EXACT))
			looks_of_texts(q, n); /* a verdict that most actions have */
		return 0;
	}
}

/* @below_not: only what the filter itself is asked with; nothing there leads to rows. */
static int filter_terms_words_of(struct search *q, struct node *n, bool below_not, struct err *err)
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
		rc = filter_terms_words_of(q, n->left, below_not, err);
	return rc == 0 ? filter_terms_words_of(q, n->right, below_not, err) : rc;
}

int filter_terms(struct search *q, struct err *err)
{
	return filter_terms_words_of(q, q->f->root, false, err);
}
