/* Full text search. The index (trigrams, no positions) says where it could stand; the text itself
 * says whether it does. What the index does not reach yet is read through, so that an answer is
 * complete at any moment. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "record/read/clauses.h"
#include "record/read/read_priv.h"
#include "record/read/text.h"
#include "record/read/values.h"

enum { TERMS = 32, BITS = 64, COARSE_LEAST = 16 * CLAUSES_SAMPLE };

struct look {
	struct session *s;
	struct text_reader reader;
	struct buf term[TERMS]; /* lower case */
	size_t terms;
	struct buf text, folded;
	struct clauses clauses;
	/* what the index is asked: empty: it can tell nothing, or few has not been chosen */
	struct buf all, few;
	bool compiled, coarse;
	bool sampled;	      /* the bits are of few, which is less than all */
	uint64_t after, upto; /* of which range the bits are */
	uint64_t *bits;	      /* bit i: event after + 1 + i may hold the words; owned */
	size_t cap;
	uint64_t gap, gap_end; /* none of the events behind gap, before gap_end, may hold them */
	struct err why;	       /* why a text could not be read, the first one */
};

static void add_term(struct look *q, const char *bytes, size_t len)
{
	/* a prefix: words are found inside longer ones anyway */
	while (len && bytes[len - 1] == '*')
		len--;
	if (len && q->terms < TERMS)
		text_fold(bytes, len, &q->term[q->terms++]);
}

static void read_search_parse(struct look *q, const char *match)
{
	while (*match) {
		if (*match == ' ' || *match == '\t' || *match == '\n') {
			match++;
		} else if (*match == '"') {
			const char *end = strchr(match + 1, '"');
			size_t len = end ? (size_t)(end - match - 1) : strlen(match + 1);
			add_term(q, match + 1, len);
			match += len + (end ? 2 : 1);
		} else {
			size_t len = strcspn(match, " \t\n\"");
			add_term(q, match, len);
			match += len;
		}
	}
}

uint64_t session_indexed(struct session *s)
{
	sqlite3_stmt *st = NULL;
	uint64_t seq = 0;
	if (sqlite3_prepare_v2(s->db, "SELECT value FROM mark WHERE name = 'indexed'", -1, &st,
			       NULL) == SQLITE_OK &&
	    sqlite3_step(st) == SQLITE_ROW && sqlite3_column_int64(st, 0) > 0)
		seq = (uint64_t)sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return seq;
}

bool session_short(struct session *s)
{
	sqlite3_stmt *st = NULL;
	int64_t bytes = INT64_MAX;
	if (session_head(s) >= SESSION_SHORT_EVENTS || session_indexed(s))
		return false;
	if (sqlite3_prepare_v2(
		    s->db, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
		    -1, &st, NULL) == SQLITE_OK &&
	    sqlite3_step(st) == SQLITE_ROW)
		bytes = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return bytes < SESSION_SHORT_BYTES;
}

bool session_valued(struct session *s)
{
	struct values v;
	values_init(&v, s->db);
	bool whole = v.ended || v.covered / VALUES_BLOCK >= session_head(s) / VALUES_BLOCK;
	values_release(&v);
	return whole;
}

/* The index's vocabulary, for short terms: a temporary table, and all that a reader ever makes. */
static void open_vocabulary(struct session *s)
{
	sqlite3_exec(
		s->db,
		"PRAGMA query_only=OFF; CREATE VIRTUAL TABLE IF NOT EXISTS temp.search_terms USING"
		" fts5vocab('main', 'search', 'row'); PRAGMA query_only=ON",
		NULL, NULL, NULL);
}

struct look *look_new(struct session *s, const char *match)
{
	struct look *l = NEW(struct look);
	l->s = s;
	l->reader = TEXT_READER(s->db);
	read_search_parse(l, match);
	return l;
}

struct look *look_new_text(struct session *s, const char *text)
{
	struct look *l = look_new(s, "");
	add_term(l, text, strlen(text));
	return l;
}

void look_free(struct look **l)
{
	if (*l) {
		for (size_t i = 0; i < (*l)->terms; i++)
			buf_release(&(*l)->term[i]);
		text_reader_release(&(*l)->reader);
		buf_release(&(*l)->text);
		buf_release(&(*l)->folded);
		clauses_release(&(*l)->clauses);
		buf_release(&(*l)->all);
		buf_release(&(*l)->few);
		free((*l)->bits);
	}
	free(*l);
	*l = NULL;
}

static bool may_hold(const struct look *q, uint64_t seq)
{
	uint64_t i = seq - q->after - 1;
	return q->bits[i / BITS] >> i % BITS & 1;
}

bool look_holds(struct look *q, uint64_t seq)
{
	struct err err;
	if (!q->terms || (seq > q->after && seq <= q->upto && !may_hold(q, seq)))
		return false;
	int rc = text_of_event(&q->reader, seq, &q->text, &err);
	if (rc < 0 && q->why.code == ERR_NONE) {
		q->why = err;
		(void)err_wrap(&q->why, "can't search the text of event %llu",
			       (unsigned long long)seq);
	}
	if (rc != 1)
		return false;
	text_fold(q->text.data, q->text.len, &q->folded);
	for (size_t i = 0; i < q->terms; i++)
		if (!memmem(q->folded.data, q->folded.len, q->term[i].data, q->term[i].len))
			return false;
	return true;
}

int look_failed(const struct look *q, struct err *err)
{
	if (q->why.code == ERR_NONE)
		return 0;
	*err = q->why;
	return -1;
}

static void set_bit(struct look *q, uint64_t seq)
{
	uint64_t i = seq - q->after - 1;
	q->bits[i / BITS] |= (uint64_t)1 << i % BITS;
}

uint64_t look_next(const struct look *q, uint64_t seq)
{
	uint64_t nr = q->upto - q->after;
	for (uint64_t i = seq < q->after ? 0 : seq - q->after; i < nr; i += BITS - i % BITS) {
		uint64_t left = q->bits[i / BITS] >> i % BITS;
		if (left)
			return q->after + 1 + i + (uint64_t)__builtin_ctzll(left);
	}
	return 0;
}

/* glass_hit(rowid, look): notes an event of the range; true: it is behind that. A row that SQLite
 * need not hand out costs half. */
static void sql_hit(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	(void)argc;
	struct look *q = sqlite3_value_pointer(argv[1], "look");
	uint64_t seq = (uint64_t)sqlite3_value_int64(argv[0]);
	if (q && seq > q->after && seq <= q->upto)
		set_bit(q, seq);
	sqlite3_result_int(ctx, q && seq > q->upto);
}

static sqlite3_stmt *read_search_hits(struct look *q)
{
	static const char sql[] =
		"SELECT rowid FROM search WHERE search MATCH ?1 AND rowid > ?2 AND glass_hit(rowid, ?3) ORDER BY rowid";
	sqlite3_stmt *st = NULL;
	if (sqlite3_prepare_v2(q->s->db, sql, -1, &st, NULL) == SQLITE_OK)
		return st;
	/* the first time; doing it again would have all statements of the connection compiled
	 * anew */
	sqlite3_create_function(q->s->db, "glass_hit", 2, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL,
				sql_hit, NULL, NULL);
	sqlite3_prepare_v2(q->s->db, sql, -1, &st, NULL);
	return st;
}

static void read_search_free_nothing(void *p)
{
	(void)p;
}

/* Sets the bits behind @after up to q->upto. Where the index finds nothing it reads on behind that,
 * however far; so the gap is remembered. */
static int ask_index(struct look *q, const struct buf *query, uint64_t after, struct err *err)
{
	uint64_t indexed = session_indexed(q->s); /* first: the index may grow */
	sqlite3_stmt *st = read_search_hits(q);
	if (!st)
		return session_failed(q->s, err);
	sqlite3_bind_text64(st, 1, query->data, query->len, SQLITE_STATIC, SQLITE_UTF8);
	sqlite3_bind_int64(st, 2, (int64_t)after);
	sqlite3_bind_pointer(st, 3, q, "look", read_search_free_nothing);
	int rc = sqlite3_step(st),
	    result = rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : session_failed(q->s, err);
	q->gap = q->upto;
	q->gap_end = result < 0		? 0
		     : rc == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(st, 0)
					: indexed + 1;
	sqlite3_finalize(st);
	return result;
}

static void read_search_compile(struct look *q)
{
	open_vocabulary(q->s);
	for (size_t i = 0; i < q->terms; i++)
		clauses_add(&q->clauses, q->s->db, &q->term[i]);
	clauses_all(&q->clauses, &q->all);
	q->compiled = true;
}

/* The index's query for a range; a short one is cheaper than choosing. */
static const struct buf *query_of(struct look *q, uint64_t after)
{
	if (!q->coarse || q->upto - after < COARSE_LEAST)
		return &q->all;
	if (!q->few.len)
		clauses_few(&q->clauses, q->s->db, after, &q->few);
	if (q->few.len == q->all.len && !memcmp(q->few.data, q->all.data, q->all.len))
		return &q->all;
	q->sampled = true;
	return &q->few;
}

/* The gap behind the last answer is not asked for again. */
static int read_search_ask(struct look *q, uint64_t after, struct err *err)
{
	if (after >= q->gap && q->upto < q->gap_end)
		return 0;
	if (after >= q->gap && after + 1 < q->gap_end)
		after = q->gap_end - 1;
	return ask_index(q, query_of(q, after), after, err);
}

void look_coarsely(struct look *q, bool on)
{
	if (q->coarse != on)
		q->after = q->upto = q->gap_end = 0;
	q->coarse = on;
}

bool look_sampled(const struct look *q)
{
	return q->sampled;
}

/* The range becomes longer: bits for @upto, none of them set. */
static void read_search_reach(struct look *q, uint64_t upto)
{
	size_t need = (size_t)(upto - q->after) / BITS + 1,
	       had = q->upto > q->after ? (size_t)(q->upto - q->after) / BITS + 1 : 0;
	if (need > q->cap) {
		q->cap = need;
		q->bits = mem_realloc(q->bits, need * sizeof(*q->bits));
	}
	memset(q->bits + had, 0, (need - had) * sizeof(*q->bits));
	q->upto = upto;
}

int look_range(struct look *q, uint64_t after, uint64_t upto, struct err *err)
{
	if (!q->compiled)
		read_search_compile(q);
	if (after != q->after || upto < q->upto)
		q->after = q->upto = after;
	if (q->upto == q->after)
		q->sampled = false;
	uint64_t from = q->upto;
	if (upto == from)
		return 0;
	read_search_reach(q, upto);
	int rc = q->all.len ? read_search_ask(q, from, err) : 0;
	for (uint64_t seq = from + 1; !q->all.len && q->terms && seq <= upto; seq++)
		set_bit(q, seq);
	if (rc < 0) /* none is known of it: it is asked anew */
		q->upto = q->after;
	return rc;
}

int session_next(struct session *s, uint64_t after, uint64_t *seq_out, struct err *err)
{
	sqlite3_stmt *st = NULL;
	*seq_out = 0;
	if (after >= INT64_MAX)
		return 0;
	if (sqlite3_prepare_v2(s->db, "SELECT min(seq) FROM event WHERE seq > ?1", -1, &st, NULL) !=
	    SQLITE_OK)
		return session_failed(s, err);
	sqlite3_bind_int64(st, 1, (int64_t)after);
	int rc = sqlite3_step(st) == SQLITE_ROW ? 0 : session_failed(s, err);
	if (rc == 0)
		*seq_out = (uint64_t)sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return rc;
}

void session_on_reading(struct session *s, session_reading_fn *fn, void *self)
{
	s->reading = fn;
	s->reading_self = self;
}

void session_reading(struct session *s, uint64_t at)
{
	uint64_t head = s->reading ? session_head(s) : 0;
	if (s->reading)
		s->reading(s->reading_self, at < head ? at : head, head);
}

enum { STRETCH = 1 << 16, READ_AT_ONCE = 500 };

/* To just before the next event: the numbers that a foreign file leaves out are not walked
 * through. */
static int read_search_hop(struct session *s, uint64_t *at, struct err *err)
{
	uint64_t next;
	if (session_next(s, *at, &next, err) < 0)
		return -1;
	if (next)
		*at = next - 1;
	return 0;
}

int session_search(struct session *s, const char *match, uint64_t after_seq, size_t max,
		   uint64_t *seqs, size_t *nr_out, struct err *err)
{
	struct look *q = look_new(s, match);
	uint64_t at = after_seq > INT64_MAX ? INT64_MAX : after_seq, indexed = session_indexed(s),
		 head = q->terms ? session_head(s) : 0;
	size_t nr = 0;
	int rc = 0;
	while (rc == 0 && nr < max && at < head && (rc = read_search_hop(s, &at, err)) == 0 &&
	       at < indexed) {
		uint64_t upto = indexed - at > STRETCH ? at + STRETCH : indexed;
		rc = look_range(q, at, upto, err);
		for (uint64_t seq = at; rc == 0 && nr < max && (seq = look_next(q, seq));)
			if (look_holds(q, seq))
				seqs[nr++] = seq;
		at = upto;
	}
	/* a transaction for every few hundred: a lock for each costs more than reading it, and a
	 * long transaction would keep the writer's WAL from being emptied */
	while (rc == 0 && nr < max && at < head) {
		sqlite3_exec(s->db, "BEGIN", NULL, NULL, NULL);
		rc = read_search_hop(s, &at, err);
		for (int i = 0; rc == 0 && i < READ_AT_ONCE && nr < max && at < head; i++)
			if (look_holds(q, ++at))
				seqs[nr++] = at;
		sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL);
		session_reading(s, at);
	}
	rc = rc == 0 ? look_failed(q, err) : rc;
	look_free(&q);
	if (rc == 0)
		*nr_out = nr;
	return rc;
}
