#include "query/shard_priv.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/leb128.h"
#include "base/mem.h"
#include "query/shard_vfs.h"
#include "query/shard_words.h"
#include "record/read/page_checksum.h"
#include "record/read/text.h"

sqlite3_stmt *shard_select(struct shard *s, const char *sql)
{
	sqlite3_stmt *st = NULL;
	if (sqlite3_prepare_v2(s->db, sql, -1, &st, NULL) != SQLITE_OK)
		s->damaged = true;
	return st;
}

int shard_step(struct shard *s, sqlite3_stmt *st)
{
	int rc = st ? sqlite3_step(st) : SQLITE_ERROR;
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		s->damaged = true;
	return rc;
}

void shard_close(struct shard **sp)
{
	struct shard *s = *sp;
	*sp = NULL;
	if (!s)
		return;
	sqlite3_close(s->db);
	free(s->session);
	free(s->may);
	buf_release(&s->words);
	arena_release(&s->arena);
	free(s);
}

static const char *shard_text(struct shard *s, sqlite3_stmt *st, int col)
{
	const char *text = (const char *)sqlite3_column_text(st, col);
	return text ? arena_strdup(&s->arena, text) : NULL;
}

static int shard_read_sessions(struct shard *s)
{
	sqlite3_stmt *st = shard_select(
		s,
		"SELECT file,size,mtime_us,events,begun_us,last_us,state,why,first,docs,glance,id"
		" FROM session ORDER BY n");
	int rc = SQLITE_ERROR;
	while (st && s->nr <= SHARD_SESSIONS && (rc = shard_step(s, st)) == SQLITE_ROW) {
		GROW(s->session, s->nr, s->cap);
		struct shard_session *one = &s->session[s->nr++];
		*one = (struct shard_session){ .file = shard_text(s, st, 0),
					       .size = sqlite3_column_int64(st, 1),
					       .mtime_us = sqlite3_column_int64(st, 2),
					       .events = (uint64_t)sqlite3_column_int64(st, 3),
					       .begun_us = sqlite3_column_int64(st, 4),
					       .last_us = sqlite3_column_int64(st, 5),
					       .state = shard_text(s, st, 6),
					       .why = shard_text(s, st, 7),
					       .first = (uint32_t)sqlite3_column_int64(st, 8),
					       .docs = (uint32_t)sqlite3_column_int64(st, 9),
					       .glance = shard_text(s, st, 10),
					       .id = shard_text(s, st, 11) };
		if (!one->file || !one->state || !one->glance || one->first != s->docs ||
		    one->docs > SHARD_EVENTS_MOST)
			break;
		s->docs += one->docs;
	}
	sqlite3_finalize(st);
	return rc == SQLITE_DONE && s->nr <= SHARD_SESSIONS ? 0 : -1;
}

static bool shard_older(const char *path)
{
	uint8_t head[64] = { 0 };
	CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && pread(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
	       !memcmp(head, "SQLite format 3", 16) && !head[20] && head[63] < SHARD_FORMAT;
}

int shard_open(struct shard **out, const char *path, struct err *err)
{
	/* the cache of a shard's pages, in KiB: a fleet has many shards */
	static const char small[] = "PRAGMA cache_size=-256";
	struct shard *s = NEW(struct shard);
	int format = 0;
	shard_vfs_register();
	if (sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READONLY, SHARD_VFS) == SQLITE_OK &&
	    sqlite3_exec(s->db, small, NULL, NULL, NULL) == SQLITE_OK) {
		sqlite3_stmt *st = shard_select(s, "PRAGMA user_version");
		format = shard_step(s, st) == SQLITE_ROW ? sqlite3_column_int(st, 0) : 0;
		sqlite3_finalize(st);
	}
	if (format == SHARD_FORMAT && shard_read_sessions(s) == 0) {
		*out = s;
		return 0;
	}
	shard_close(&s);
	return shard_older(path) ? err_set(err, ERR_UNSUPPORTED, "shard '%s': old format", path)
				 : err_set(err, ERR_DAMAGED, "shard '%s': damaged", path);
}

bool shard_damaged(const struct shard *s)
{
	return s->damaged;
}

void shard_distrust(struct shard *s)
{
	s->damaged = true;
}

bool shard_intact(const char *path)
{
	struct sums sums;
	uint64_t size;
	struct err none = ERR_INIT;
	return page_checksum_look_file(path, &sums, &size, &none) == 0 && size && sums.kept &&
	       !sums.bad && !sums.cut && !sums.more;
}

size_t shard_count(const struct shard *s)
{
	return s->nr;
}

const struct shard_session *shard_at(const struct shard *s, size_t i)
{
	return &s->session[i];
}

json_t *shard_details(struct shard *s, size_t i)
{
	struct err none = ERR_INIT;
	sqlite3_stmt *st = shard_select(s, "SELECT body FROM detail WHERE n=?1");
	json_t *o = NULL;
	sqlite3_bind_int64(st, 1, (sqlite3_int64)i);
	if (shard_step(s, st) == SQLITE_ROW)
		o = json_parse((const char *)sqlite3_column_text(st, 0),
			       (size_t)sqlite3_column_bytes(st, 0), "catalog", &none);
	sqlite3_finalize(st);
	return o;
}

/* --- postings --------------------------------------------------------------------------------- */

static size_t shard_longs(const struct shard *s)
{
	return s->docs / 64 + 1;
}

static void shard_set_docs(struct shard *s, sqlite3_stmt *st, int64_t word, uint64_t *bits)
{
	sqlite3_bind_int64(st, 1, word);
	if (shard_step(s, st) == SQLITE_ROW) {
		const uint8_t *p = sqlite3_column_blob(st, 0),
			      *end = p + sqlite3_column_bytes(st, 0);
		uint64_t doc = 0, more;
		while (p < end && leb128_get(&p, end, &more) && (doc += more) < s->docs)
			bits[doc / 64] |= (uint64_t)1 << doc % 64;
	} else { /* damage hides nothing */
		memset(bits, 0xff, shard_longs(s) * sizeof(*bits));
	}
	sqlite3_reset(st);
}

/* Every document with a word of which @piece is a part; @from, @to: there its word begins, ends. */
static void shard_set_piece(struct shard *s, sqlite3_stmt *st, const char *piece, size_t len,
			    bool from, bool to, uint64_t *bits)
{
	CLEANUP(buf_release) struct buf look = BUF_INIT;
	const char *at = s->words.data, *end = at + s->words.len, *counted = at + 1;
	int64_t word = 0;
	if (from)
		buf_putc(&look, '\n');
	buf_append(&look, piece, len);
	if (to)
		buf_putc(&look, '\n');
	while ((at = memmem(at, (size_t)(end - at), look.data, look.len))) {
		const char *in = from ? at + 1 : at;
		for (const char *line; (line = memchr(counted, '\n', (size_t)(in - counted)));
		     counted = line + 1)
			word++;
		shard_set_docs(s, st, word, bits);
		const char *line = memchr(in, '\n', (size_t)(end - in));
		if (!line)
			break;
		at = line;
	}
}

static void shard_set_instead(struct shard *s, sqlite3_stmt *st, const char *name, uint64_t *bits)
{
	shard_set_piece(s, st, name, strlen(name), true, true, bits);
}

static void shard_ask_piece(struct shard *s, sqlite3_stmt *st, const char *piece, size_t len,
			    bool from, bool to, uint64_t *bits)
{
	const char *instead = shard_word_instead(piece, len);
	bool open = !from || !to;
	if (instead && !open) {
		shard_set_instead(s, st, instead, bits);
		return;
	}
	shard_set_piece(s, st, piece, len, from, to, bits);
	if (open && shard_word_hex(piece, len))
		shard_set_instead(s, st, SHARD_WORD_HEX, bits);
	if (open)
		shard_set_instead(s, st, SHARD_WORD_LONG, bits);
}

/* Takes from @all the documents that don't hold @text. */
static void shard_ask_text(struct shard *s, sqlite3_stmt *st, const char *text, size_t text_len,
			   uint64_t *all)
{
	CLEANUP(buf_release) struct buf folded = BUF_INIT;
	size_t longs = shard_longs(s);
	uint64_t *bits = mem_calloc(longs, sizeof(*bits));
	text_fold(text, text_len, &folded);
	for (size_t at = 0, len; (len = shard_word_next(folded.data, folded.len, &at));) {
		memset(bits, 0, longs * sizeof(*bits));
		shard_ask_piece(s, st, folded.data + at - len, len, at > len, at < folded.len,
				bits);
		for (size_t i = 0; i < longs; i++)
			all[i] &= bits[i];
	}
	free(bits);
}

struct asked_shard {
	struct shard *s;
	sqlite3_stmt *st;
};

static void shard_on_need(void *self, const struct strv *any, size_t nr)
{
	struct asked_shard *a = self;
	size_t longs = shard_longs(a->s);
	uint64_t *one = mem_calloc(longs, sizeof(*one)), *found = mem_calloc(longs, sizeof(*found));
	for (size_t i = 0; i < nr; i++) {
		memset(one, 0xff, longs * sizeof(*one));
		for (size_t k = 0; k < any[i].nr; k++)
			shard_ask_text(a->s, a->st, any[i].item[k], any[i].len[k], one);
		for (size_t k = 0; k < longs; k++)
			found[k] |= one[k];
	}
	for (size_t k = 0; k < longs; k++)
		a->s->may[k] &= found[k];
	free(one);
	free(found);
}

static bool shard_read_words(struct shard *s)
{
	sqlite3_stmt *st = shard_select(s, "SELECT words FROM vocabulary");
	if (!s->words.len && shard_step(s, st) == SQLITE_ROW)
		buf_append(&s->words, sqlite3_column_text(st, 0),
			   (size_t)sqlite3_column_bytes(st, 0));
	sqlite3_finalize(st);
	return s->words.len && s->words.data[0] == '\n';
}

void shard_ask(struct shard *s, const struct filter *f)
{
	struct asked_shard a = { s, shard_select(s, "SELECT docs FROM posting WHERE word=?1") };
	free(s->may);
	s->may = NULL;
	if (a.st && s->docs && shard_read_words(s)) {
		s->may = mem_alloc(shard_longs(s) * sizeof(*s->may));
		memset(s->may, 0xff, shard_longs(s) * sizeof(*s->may));
		filter_needs(f, shard_on_need, &a);
	}
	sqlite3_finalize(a.st);
}

bool shard_may_match(const struct shard *s, size_t i)
{
	const struct shard_session *one = &s->session[i];
	if (!s->may || !one->docs || s->damaged)
		return true;
	for (uint32_t d = one->first; d < one->first + one->docs; d++)
		if (s->may[d / 64] >> d % 64 & 1)
			return true;
	return false;
}
