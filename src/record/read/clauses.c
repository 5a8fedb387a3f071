#include "record/read/clauses.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/utf8.h"
#include "record/read/forms.h"

enum {
	SHORT_MOST = 2000, /* trigrams in one clause */
	BITS = 64,
	WORDS = CLAUSES_SAMPLE / BITS,
	WORTH = 16, /* entries of a list that are read sooner than one event is looked at in vain */
};

/* --- making ----------------------------------------------------------------------------------- */

/* Characters of a term; starts[i] is where the i-th begins. */
static size_t clauses_characters(const struct buf *term, size_t *starts, size_t cap)
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
static bool put_beginning(sqlite3 *db, const struct buf *form, size_t *nr, struct buf *out)
{
	sqlite3_stmt *st = NULL;
	if (sqlite3_prepare_v2(db,
			       "SELECT term FROM temp.search_terms WHERE term >= ?1 AND term < ?2",
			       -1, &st, NULL) != SQLITE_OK)
		return false;
	CLEANUP(buf_release) struct buf upto = BUF_INIT;
	buf_append(&upto, form->data, form->len);
	buf_puts(&upto, "\xf4\x8f\xbf\xbf"); /* after every character */
	sqlite3_bind_text64(st, 1, form->data, form->len, SQLITE_STATIC, SQLITE_UTF8);
	sqlite3_bind_text64(st, 2, upto.data, upto.len, SQLITE_STATIC, SQLITE_UTF8);
	while (*nr <= SHORT_MOST && sqlite3_step(st) == SQLITE_ROW) {
		if ((*nr)++)
			buf_puts(out, " OR ");
		put_token(out, (const char *)sqlite3_column_text(st, 0),
			  (size_t)sqlite3_column_bytes(st, 0));
	}
	sqlite3_finalize(st);
	return *nr <= SHORT_MOST;
}

/* Every trigram that begins with @term. False if there are too many. */
static bool put_short(sqlite3 *db, const struct buf *term, struct buf *out)
{
	CLEANUP(forms_release) struct forms f = forms_of(term->data, term->len);
	size_t nr = 0;
	bool few = true;
	buf_putc(out, '(');
	for (size_t i = 0; few && i < f.nr; i++)
		few = put_beginning(db, &f.form[i], &nr, out);
	if (!nr) /* nothing begins so: a token that no text holds */
		put_token(out, "\x01\x01\x01", 3);
	buf_putc(out, ')');
	return few;
}

static void put_trigram(const char *bytes, size_t len, struct buf *out)
{
	CLEANUP(forms_release) struct forms f = forms_of(bytes, len);
	for (size_t i = 0; i < f.nr; i++) {
		buf_puts(out, i ? " OR " : f.nr > 1 ? "(" : "");
		put_token(out, f.form[i].data, f.form[i].len);
	}
	if (f.nr > 1)
		buf_putc(out, ')');
}

static struct buf *clauses_next(struct clauses *c, bool wide)
{
	GROW(c->item, c->nr, c->cap);
	c->item[c->nr] = (struct clause){ .wide = wide };
	return &c->item[c->nr++].text;
}

void clauses_add(struct clauses *c, sqlite3 *db, const struct buf *term)
{
	size_t start[67], nr = clauses_characters(term, start, ARRAY_LEN(start));
	/* it may stand within a character, of which the index knows only the whole */
	if (!utf8_valid(term->data, term->len))
		return;
	if (nr < 3) {
		struct buf any = BUF_INIT;
		if (put_short(db, term, &any))
			*clauses_next(c, true) = any;
		else
			buf_release(&any);
		return;
	}
	for (size_t i = 0; i + 2 < nr; i++) {
		size_t end = i + 3 < nr ? start[i + 3] : term->len;
		/* cut off: where the last character ends is not known */
		if (nr == ARRAY_LEN(start) && i + 3 == nr)
			break;
		put_trigram(term->data + start[i], end - start[i], clauses_next(c, false));
	}
}

void clauses_release(struct clauses *c)
{
	for (size_t i = 0; i < c->nr; i++)
		buf_release(&c->item[i].text);
	free(c->item);
	*c = (struct clauses){ 0 };
}

/* --- asking ----------------------------------------------------------------------------------- */

static void put_and(const struct clause *one, struct buf *out)
{
	if (out->len)
		buf_puts(out, " AND ");
	buf_append(out, one->text.data, one->text.len);
}

void clauses_all(const struct clauses *c, struct buf *out)
{
	buf_reset(out);
	for (size_t i = 0; i < c->nr; i++)
		put_and(&c->item[i], out);
}

/* Where a clause holds in the sample. */
struct hits {
	uint64_t bits[WORDS];
	unsigned nr;
	bool taken;
};

static bool ask_sample(sqlite3 *db, const struct clause *one, uint64_t after, struct hits *out)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(
		db, "SELECT rowid FROM search WHERE search MATCH ?1 AND rowid > ?2 AND rowid <= ?3",
		-1, &st, NULL);
	*out = (struct hits){ 0 };
	if (rc != SQLITE_OK)
		return false;
	sqlite3_bind_text64(st, 1, one->text.data, one->text.len, SQLITE_STATIC, SQLITE_UTF8);
	sqlite3_bind_int64(st, 2, (sqlite3_int64)after);
	sqlite3_bind_int64(st, 3, (sqlite3_int64)(after + CLAUSES_SAMPLE));
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		uint64_t i = (uint64_t)sqlite3_column_int64(st, 0) - after - 1;
		out->bits[i / BITS] |= (uint64_t)1 << i % BITS;
		out->nr++;
	}
	sqlite3_finalize(st);
	return rc == SQLITE_DONE;
}

static unsigned clauses_common(const uint64_t *a, const uint64_t *b)
{
	unsigned nr = 0;
	for (size_t i = 0; i < WORDS; i++)
		nr += (unsigned)__builtin_popcountll(a[i] & b[i]);
	return nr;
}

static void keep_common(uint64_t *to, const uint64_t *from)
{
	for (size_t i = 0; i < WORDS; i++)
		to[i] &= from[i];
}

/* The one that saves the most: first the shortest list, then whichever drops more events than its
 * own list costs; @nr none. */
static size_t next_best(const struct hits *h, size_t nr, const uint64_t *left, bool first)
{
	size_t best = nr, most = 0;
	unsigned have = clauses_common(left, left);
	for (size_t i = 0; i < nr; i++) {
		size_t drops = (size_t)(have - clauses_common(left, h[i].bits)) * WORTH;
		if (h[i].taken)
			continue;
		if (first ? best == nr || h[i].nr < h[best].nr
			  : drops > h[i].nr && drops - h[i].nr > most) {
			best = i;
			most = first ? 0 : drops - h[i].nr;
		}
	}
	return best;
}

static bool is_wide(const struct clauses *c)
{
	for (size_t i = 0; i < c->nr; i++)
		if (c->item[i].wide)
			return true;
	return false;
}

void clauses_few(const struct clauses *c, sqlite3 *db, uint64_t after, struct buf *out)
{
	CLEANUP(free_ptr) struct hits *h = NULL;
	uint64_t left[WORDS];
	bool asked = c->nr > 1 && !is_wide(c);
	buf_reset(out);
	if (asked)
		h = mem_calloc(c->nr, sizeof(*h));
	for (size_t i = 0; asked && i < c->nr; i++)
		asked = ask_sample(db, &c->item[i], after, &h[i]);
	if (!asked) {
		clauses_all(c, out);
		return;
	}
	memset(left, 0xff, sizeof(left));
	for (size_t i; (i = next_best(h, c->nr, left, out->len == 0)) < c->nr;) {
		h[i].taken = true;
		keep_common(left, h[i].bits);
		put_and(&c->item[i], out);
	}
}
