/* Full text search. The index (trigrams, no positions) says where it could stand; the text itself says whether it does.
 * What the index does not reach yet is read through, so that an answer is complete at any moment. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/utf8.h"
#include "base/text/width.h"
#include "record/read/inner.h"
#include "record/read/text.h"

enum { TERMS = 32, SHORT_MOST = 2000 };

struct look {
	struct session *s;
	struct text_reader reader;
	struct buf term[TERMS]; /* lower case */
	size_t terms;
	struct buf text, folded;
	uint64_t *seqs; /* session_search */
	size_t nr, max;
};

static void fold(const char *bytes, size_t len, struct buf *out)
{
	buf_reset(out);
	while (len) {
		/* the plain part in one go: most of what is searched is ASCII */
		size_t n = 0;
		buf_reserve(out, len);
		char *to = out->data + out->len;
		for (; n < len && (uint8_t)bytes[n] < 0x80; n++)
			to[n] = (char)(bytes[n] | (bytes[n] >= 'A' && bytes[n] <= 'Z' ? 0x20 : 0));
		out->len += n;
		out->data[out->len] = 0;
		bytes += n;
		len -= n;
		if (!len)
			break;
		size_t used = 1;
		uint32_t cp = 0;
		char utf8[4];
		if (utf8_next(bytes, len, &cp, &used) == UTF8_OK)
			buf_append(out, utf8, utf8_put(text_lower(cp), utf8));
		else
			buf_append(out, bytes, used);
		bytes += used;
		len -= used;
	}
}

static void add_term(struct look *q, const char *bytes, size_t len)
{
	while (len && bytes[len - 1] == '*') /* a prefix: words are found inside longer ones anyway */
		len--;
	if (len && q->terms < TERMS)
		fold(bytes, len, &q->term[q->terms++]);
}

static void parse(struct look *q, const char *match)
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

/* Characters of a term; starts[i] is where the i-th begins. */
static size_t characters(const struct buf *term, size_t *starts, size_t cap)
{
	size_t nr = 0, at = 0;
	while (at < term->len && nr < cap) {
		uint32_t cp;
		size_t used;
		utf8_next(term->data + at, term->len - at, &cp, &used);
		starts[nr++] = at;
		at += used;
	}
	return nr;
}

/* One token of the index as FTS5 wants it. */
static void put_token(struct buf *out, const char *bytes, size_t len)
{
	buf_putc(out, '"');
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] == '"')
			buf_putc(out, '"');
		buf_putc(out, bytes[i]);
	}
	buf_putc(out, '"');
}

/* A term of one or two characters: every trigram that begins with it. False if there are too many. */
static bool put_short(struct look *q, const struct buf *term, struct buf *out)
{
	sqlite3_stmt *st = NULL;
	size_t nr = 0;
	if (sqlite3_prepare_v2(q->s->db, "SELECT term FROM temp.search_terms WHERE term >= ?1 AND term < ?2", -1, &st,
			       NULL) != SQLITE_OK)
		return false;
	CLEANUP(buf_release) struct buf upto = BUF_INIT;
	buf_append(&upto, term->data, term->len);
	buf_puts(&upto, "\xf4\x8f\xbf\xbf"); /* after every character */
	sqlite3_bind_text64(st, 1, term->data, term->len, SQLITE_STATIC, SQLITE_UTF8);
	sqlite3_bind_text64(st, 2, upto.data, upto.len, SQLITE_STATIC, SQLITE_UTF8);
	buf_putc(out, '(');
	while (nr <= SHORT_MOST && sqlite3_step(st) == SQLITE_ROW) {
		if (nr++)
			buf_puts(out, " OR ");
		put_token(out, (const char *)sqlite3_column_text(st, 0), (size_t)sqlite3_column_bytes(st, 0));
	}
	sqlite3_finalize(st);
	if (!nr) /* nothing begins so: a token that no text holds */
		put_token(out, "\x01\x01\x01", 3);
	buf_putc(out, ')');
	return nr <= SHORT_MOST;
}

static void put_and(struct buf *out)
{
	if (out->len)
		buf_puts(out, " AND ");
}

/* The query for the index; empty when no term can be looked up there. */
static void compile(struct look *q, struct buf *out)
{
	for (size_t i = 0; i < q->terms; i++) {
		size_t start[67];
		const struct buf *t = &q->term[i];
		size_t nr = characters(t, start, ARRAY_LEN(start));
		if (nr < 3) {
			CLEANUP(buf_release) struct buf any = BUF_INIT;
			if (put_short(q, t, &any)) {
				put_and(out);
				buf_append(out, any.data, any.len);
			}
			continue;
		}
		for (size_t c = 0; c + 2 < nr; c++) {
			size_t end = c + 3 < nr ? start[c + 3] : t->len;
			if (nr == ARRAY_LEN(start) && c + 3 == nr) /* cut off: where the last character ends is not known */
				break;
			put_and(out);
			put_token(out, t->data + start[c], end - start[c]);
		}
	}
}

bool look_holds(struct look *q, uint64_t seq)
{
	struct err err;
	if (text_of_event(&q->reader, seq, &q->text, &err) != 1)
		return false;
	fold(q->text.data, q->text.len, &q->folded);
	for (size_t i = 0; i < q->terms; i++)
		if (!memmem(q->folded.data, q->folded.len, q->term[i].data, q->term[i].len))
			return false;
	return true;
}

static void look_at(struct look *q, uint64_t seq)
{
	if (look_holds(q, seq))
		q->seqs[q->nr++] = seq;
}

static int through_index(struct look *q, const char *query, uint64_t after, uint64_t upto, struct err *err)
{
	sqlite3_stmt *st = NULL;
	if (sqlite3_prepare_v2(q->s->db, "SELECT rowid FROM search WHERE search MATCH ?1 AND rowid > ?2 AND rowid <= ?3"
					 " ORDER BY rowid", -1, &st, NULL) != SQLITE_OK)
		return session_failed(q->s, err);
	sqlite3_bind_text(st, 1, query, -1, SQLITE_STATIC);
	sqlite3_bind_int64(st, 2, (int64_t)after);
	sqlite3_bind_int64(st, 3, (int64_t)upto);
	int rc = SQLITE_DONE;
	while (q->nr < q->max && (rc = sqlite3_step(st)) == SQLITE_ROW)
		look_at(q, (uint64_t)sqlite3_column_int64(st, 0));
	int result = rc == SQLITE_DONE || rc == SQLITE_ROW ? 0 : session_failed(q->s, err);
	sqlite3_finalize(st);
	return result;
}

uint64_t session_indexed(struct session *s)
{
	sqlite3_stmt *st = NULL;
	uint64_t seq = 0;
	if (sqlite3_prepare_v2(s->db, "SELECT value FROM mark WHERE name = 'indexed'", -1, &st, NULL) == SQLITE_OK &&
	    sqlite3_step(st) == SQLITE_ROW)
		seq = (uint64_t)sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return seq;
}

/* The index's vocabulary, for short terms: a temporary table, and all that a reader ever makes. */
static void open_vocabulary(struct session *s)
{
	sqlite3_exec(s->db, "PRAGMA query_only=OFF; CREATE VIRTUAL TABLE IF NOT EXISTS temp.search_terms USING"
			    " fts5vocab('main', 'search', 'row'); PRAGMA query_only=ON", NULL, NULL, NULL);
}

static void look_release(struct look *q)
{
	for (size_t i = 0; i < q->terms; i++)
		buf_release(&q->term[i]);
	text_reader_release(&q->reader);
	buf_release(&q->text);
	buf_release(&q->folded);
}

struct look *look_new(struct session *s, const char *match)
{
	struct look *l = NEW(struct look);
	l->s = s;
	l->reader = TEXT_READER(s->db);
	parse(l, match);
	return l;
}

void look_free(struct look **l)
{
	if (*l)
		look_release(*l);
	free(*l);
	*l = NULL;
}

void session_on_reading(struct session *s, session_reading_fn *fn, void *self)
{
	s->reading = fn;
	s->reading_self = self;
}

int session_search(struct session *s, const char *match, uint64_t after_seq, size_t max, uint64_t *seqs, size_t *nr_out,
		   struct err *err)
{
	struct look q = { .s = s, .reader = TEXT_READER(s->db), .seqs = seqs, .max = max };
	CLEANUP(buf_release) struct buf query = BUF_INIT;
	uint64_t at = after_seq > INT64_MAX ? INT64_MAX : after_seq;
	int result = 0;
	parse(&q, match);
	uint64_t upto = q.terms ? session_indexed(s) : 0, head = q.terms ? session_head(s) : 0;
	if (upto > at) {
		open_vocabulary(s);
		compile(&q, &query);
	}
	if (query.len) {
		result = through_index(&q, query.data, at, upto, err);
		at = upto;
	}
	/* a transaction for every few hundred: locking each by itself costs more than reading it, and a long one would keep
	 * the writer's WAL from being emptied */
	while (result == 0 && q.nr < q.max && at < head) {
		sqlite3_exec(s->db, "BEGIN", NULL, NULL, NULL);
		for (int i = 0; i < 500 && q.nr < q.max && at < head; i++)
			look_at(&q, ++at);
		sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL);
		if (s->reading)
			s->reading(s->reading_self, at, head);
	}
	look_release(&q);
	if (result == 0)
		*nr_out = q.nr;
	return result;
}
