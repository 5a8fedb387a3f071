/* Full text search. The index (trigrams, no positions) says where it could stand; the text itself says whether it does.
 * What the index does not reach yet is read through, so that an answer is complete at any moment. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/utf8.h"
#include "base/text/width.h"
#include "record/read/forms.h"
#include "record/read/inner.h"
#include "record/read/text.h"

enum { TERMS = 32, SHORT_MOST = 2000 };

struct look {
	struct session *s;
	struct text_reader reader;
	struct buf term[TERMS]; /* lower case */
	size_t terms;
	struct buf text, folded;
	struct buf query; /* for the index; empty: it can tell nothing */
	bool compiled;
	uint64_t after, upto; /* of which range the bits are */
	struct buf bits;      /* bit i: event after + 1 + i may hold the words */
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

/* Adds the trigrams of the index that begin with @form; false if there are too many. */
static bool put_beginning(struct look *q, const struct buf *form, size_t *nr, struct buf *out)
{
	sqlite3_stmt *st = NULL;
	if (sqlite3_prepare_v2(q->s->db, "SELECT term FROM temp.search_terms WHERE term >= ?1 AND term < ?2", -1, &st,
			       NULL) != SQLITE_OK)
		return false;
	CLEANUP(buf_release) struct buf upto = BUF_INIT;
	buf_append(&upto, form->data, form->len);
	buf_puts(&upto, "\xf4\x8f\xbf\xbf"); /* after every character */
	sqlite3_bind_text64(st, 1, form->data, form->len, SQLITE_STATIC, SQLITE_UTF8);
	sqlite3_bind_text64(st, 2, upto.data, upto.len, SQLITE_STATIC, SQLITE_UTF8);
	while (*nr <= SHORT_MOST && sqlite3_step(st) == SQLITE_ROW) {
		if ((*nr)++)
			buf_puts(out, " OR ");
		put_token(out, (const char *)sqlite3_column_text(st, 0), (size_t)sqlite3_column_bytes(st, 0));
	}
	sqlite3_finalize(st);
	return *nr <= SHORT_MOST;
}

/* A term of one or two characters: every trigram that begins with it. False if there are too many. */
static bool put_short(struct look *q, const struct buf *term, struct buf *out)
{
	CLEANUP(forms_release) struct forms f = forms_of(term->data, term->len);
	size_t nr = 0;
	bool few = true;
	buf_putc(out, '(');
	for (size_t i = 0; few && i < f.nr; i++)
		few = put_beginning(q, &f.form[i], &nr, out);
	if (!nr) /* nothing begins so: a token that no text holds */
		put_token(out, "\x01\x01\x01", 3);
	buf_putc(out, ')');
	return few;
}

static void put_trigram(struct buf *out, const char *bytes, size_t len)
{
	CLEANUP(forms_release) struct forms f = forms_of(bytes, len);
	for (size_t i = 0; i < f.nr; i++) {
		buf_puts(out, i ? " OR " : f.nr > 1 ? "(" : "");
		put_token(out, f.form[i].data, f.form[i].len);
	}
	if (f.nr > 1)
		buf_putc(out, ')');
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
		if (!utf8_valid(t->data, t->len)) /* it may stand within a character, of which the index knows only the whole */
			continue;
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
			put_trigram(out, t->data + start[c], end - start[c]);
		}
	}
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

struct look *look_new(struct session *s, const char *match)
{
	struct look *l = NEW(struct look);
	l->s = s;
	l->reader = TEXT_READER(s->db);
	parse(l, match);
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
		buf_release(&(*l)->query);
		buf_release(&(*l)->bits);
	}
	free(*l);
	*l = NULL;
}

static bool may_hold(const struct look *q, uint64_t seq)
{
	uint64_t i = seq - q->after - 1;
	return (uint8_t)q->bits.data[i / 8] >> i % 8 & 1;
}

bool look_holds(struct look *q, uint64_t seq)
{
	struct err err;
	if (!q->terms || (seq > q->after && seq <= q->upto && !may_hold(q, seq)))
		return false;
	if (text_of_event(&q->reader, seq, &q->text, &err) != 1)
		return false;
	fold(q->text.data, q->text.len, &q->folded);
	for (size_t i = 0; i < q->terms; i++)
		if (!memmem(q->folded.data, q->folded.len, q->term[i].data, q->term[i].len))
			return false;
	return true;
}

static void set_bit(struct look *q, uint64_t seq)
{
	uint64_t i = seq - q->after - 1;
	q->bits.data[i / 8] = (char)(q->bits.data[i / 8] | 1 << i % 8);
}

uint64_t look_next(const struct look *q, uint64_t seq)
{
	uint64_t nr = q->upto - q->after;
	for (uint64_t i = seq < q->after ? 0 : seq - q->after; i < nr;) {
		if (i % 8 == 0 && !q->bits.data[i / 8])
			i += 8;
		else if (may_hold(q, q->after + 1 + i))
			return q->after + 1 + i;
		else
			i++;
	}
	return 0;
}

static int ask_index(struct look *q, uint64_t after, uint64_t upto, struct err *err)
{
	sqlite3_stmt *st = NULL;
	if (sqlite3_prepare_v2(q->s->db, "SELECT rowid FROM search WHERE search MATCH ?1 AND rowid > ?2 AND rowid <= ?3", -1, &st,
			       NULL) != SQLITE_OK)
		return session_failed(q->s, err);
	sqlite3_bind_text(st, 1, q->query.data, -1, SQLITE_STATIC);
	sqlite3_bind_int64(st, 2, (int64_t)after);
	sqlite3_bind_int64(st, 3, (int64_t)upto);
	int rc;
	while ((rc = sqlite3_step(st)) == SQLITE_ROW)
		set_bit(q, (uint64_t)sqlite3_column_int64(st, 0));
	int result = rc == SQLITE_DONE ? 0 : session_failed(q->s, err);
	sqlite3_finalize(st);
	return result;
}

int look_range(struct look *q, uint64_t after, uint64_t upto, struct err *err)
{
	if (!q->compiled) {
		open_vocabulary(q->s);
		compile(q, &q->query);
		q->compiled = true;
	}
	if (after != q->after || upto < q->upto) {
		q->after = q->upto = after;
		buf_reset(&q->bits);
	}
	uint64_t from = q->upto;
	size_t had = q->bits.len, need = (size_t)(upto - after + 7) / 8;
	buf_reserve(&q->bits, need - had);
	memset(q->bits.data + had, 0, need - had);
	q->bits.len = need;
	q->upto = upto;
	int rc = q->query.len && upto > from ? ask_index(q, from, upto, err) : 0;
	for (uint64_t seq = from + 1; !q->query.len && q->terms && seq <= upto; seq++)
		set_bit(q, seq);
	if (rc < 0) { /* as it was */
		q->upto = from;
		q->bits.len = had;
	}
	return rc;
}

uint64_t session_next(struct session *s, uint64_t after)
{
	sqlite3_stmt *st = NULL;
	uint64_t seq = 0;
	if (after < INT64_MAX && sqlite3_prepare_v2(s->db, "SELECT min(seq) FROM event WHERE seq > ?1", -1, &st, NULL) == SQLITE_OK &&
	    sqlite3_bind_int64(st, 1, (int64_t)after) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
		seq = (uint64_t)sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return seq;
}

void session_on_reading(struct session *s, session_reading_fn *fn, void *self)
{
	s->reading = fn;
	s->reading_self = self;
}

void session_reading(struct session *s, uint64_t at)
{
	if (s->reading)
		s->reading(s->reading_self, at, session_head(s));
}

enum { STRETCH = 1 << 16, READ_AT_ONCE = 500 };

/* Just before the next event: the numbers that a foreign file leaves out are not walked through. */
static uint64_t hop(struct session *s, uint64_t at)
{
	uint64_t next = session_next(s, at);
	return next ? next - 1 : at;
}

int session_search(struct session *s, const char *match, uint64_t after_seq, size_t max, uint64_t *seqs, size_t *nr_out,
		   struct err *err)
{
	struct look *q = look_new(s, match);
	uint64_t at = after_seq > INT64_MAX ? INT64_MAX : after_seq, indexed = session_indexed(s), head = q->terms ? session_head(s) : 0;
	size_t nr = 0;
	int rc = 0;
	while (rc == 0 && nr < max && at < head && (at = hop(s, at)) < indexed) {
		uint64_t upto = indexed - at > STRETCH ? at + STRETCH : indexed;
		rc = look_range(q, at, upto, err);
		for (uint64_t seq = at; rc == 0 && nr < max && (seq = look_next(q, seq));)
			if (look_holds(q, seq))
				seqs[nr++] = seq;
		at = upto;
	}
	/* a transaction for every few hundred: locking each by itself costs more than reading it, and a long one would keep
	 * the writer's WAL from being emptied */
	while (rc == 0 && nr < max && at < head) {
		sqlite3_exec(s->db, "BEGIN", NULL, NULL, NULL);
		at = hop(s, at);
		for (int i = 0; i < READ_AT_ONCE && nr < max && at < head; i++)
			if (look_holds(q, ++at))
				seqs[nr++] = at;
		sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL);
		session_reading(s, at);
	}
	look_free(&q);
	if (rc == 0)
		*nr_out = nr;
	return rc;
}
