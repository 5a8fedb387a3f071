/* The search index: built in the background from committed events, never on the way in. */
#include <string.h>

#include "record/read/steps.h"
#include "record/read/text.h"
#include "record/read/values.h"
#include "record/read/session.h"
#include "record/read/page_checksum.h"
#include "record/store_priv.h"

enum { INDEX_FROM_PAGES = SESSION_SHORT_BYTES / SUMS_PAGE };

/* Words of an event or of the segment that it proves: 1; 0 when redacted; -1 when it cannot be read
 * now. */
static int index_text_of(struct text_reader *t, uint64_t seq, struct buf *out)
{
	struct err err;
	int rc = text_of_event(t, seq, out, &err);
	if (rc != 1)
		return rc;
	for (char *nul; out->len && (nul = memchr(out->data, 0, out->len));)
		*nul = ' '; /* the tokenizer ends at one */
	/* so that every character begins a trigram: one and two characters are found by prefix */
	buf_puts(out, "\n\n");
	return 1;
}

static uint64_t index_from_events = SESSION_SHORT_EVENTS;

void store_index_from(uint64_t events)
{
	index_from_events = events;
}

static uint64_t read_mark(struct store *s, const char *name)
{
	sqlite3_stmt *st;
	uint64_t v = 0;
	if (sqlite3_prepare_v2(s->db, "SELECT value FROM mark WHERE name = ?1", -1, &st, NULL) ==
	    SQLITE_OK) {
		sqlite3_bind_text(st, 1, name, -1, SQLITE_STATIC);
		if (sqlite3_step(st) == SQLITE_ROW)
			v = (uint64_t)sqlite3_column_int64(st, 0);
	}
	sqlite3_finalize(st);
	return v;
}

static bool write_mark(struct store *s, const char *name, uint64_t value)
{
	sqlite3_stmt *st = s->stmt[SQL_MARK];
	sqlite3_bind_text(st, 1, name, -1, SQLITE_STATIC);
	sqlite3_bind_int64(st, 2, (int64_t)value);
	int rc = sqlite3_step(st);
	sqlite3_reset(st);
	return rc == SQLITE_DONE;
}

static int index_add(sqlite3_stmt *st, uint64_t seq, const struct buf *text)
{
	sqlite3_bind_int64(st, 1, (int64_t)seq);
	sqlite3_bind_text64(st, 2, text->data, text->len, SQLITE_STATIC, SQLITE_UTF8);
	int rc = sqlite3_step(st);
	sqlite3_reset(st);
	return rc;
}

static uint64_t full_blocks(const struct store *s)
{
	return s->now.seq / VALUES_BLOCK * VALUES_BLOCK;
}

/* Blocks of steps and of values, some at a time, before the words: they cost a tenth of those.
 * False: they cannot be made, which is tried again when more of them are full. */
static bool index_add_blocks(struct store *s)
{
	bool steps_left = false, values_left = false;
	uint64_t upto = full_blocks(s), had = s->blocks;
	s->blocks = upto;
	if (store_begin(s) != STORE_OK)
		return false;
	int rc = steps_add(s->db, upto, &steps_left);
	if (rc == SQLITE_OK)
		rc = values_add(s->db, upto, &values_left);
	if (rc != SQLITE_OK)
		store_failed(s, rc);
	if (rc != SQLITE_OK || store_commit_now(s, false) != STORE_OK) {
		store_rollback(s);
		return false;
	}
	if (steps_left || values_left)
		s->blocks = had;
	return true;
}

/* Reading a short session through takes less than its index would in the file. */
static bool index_pays(struct store *s)
{
	if (s->index_pays || s->now.seq >= index_from_events)
		return true;
	s->index_pays = store_number(s, "PRAGMA page_count") >= INDEX_FROM_PAGES ||
			read_mark(s, "indexed") > 0;
	return s->index_pays;
}

bool store_index(struct store *s, size_t bytes)
{
	if (!index_pays(s)) {
		s->indexed = true;
		return false;
	}
	if (full_blocks(s) > s->blocks)
		return index_add_blocks(s) && (full_blocks(s) > s->blocks || !s->indexed);
	if (s->indexed)
		return false;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(text_reader_release) struct text_reader reader = TEXT_READER(s->db);
	sqlite3_stmt *st = NULL;
	uint64_t seq = read_mark(s, "indexed");
	size_t done = 0;
	int rc = sqlite3_prepare_v2(s->db, "INSERT INTO search(rowid, text) VALUES(?1, ?2)", -1,
				    &st, NULL);
	if (rc != SQLITE_OK || store_begin(s) != STORE_OK) {
		sqlite3_finalize(st);
		s->indexed = true; /* tried again after the next event */
		return false;
	}
	rc = SQLITE_DONE;
	while (rc == SQLITE_DONE && seq < s->now.seq && done < bytes) {
		seq++;
		int has = index_text_of(&reader, seq, &text);
		if (has)
			rc = has > 0 ? index_add(st, seq, &text) : SQLITE_IOERR;
		done += text.len + 64;
	}
	sqlite3_finalize(st);
	if (rc != SQLITE_DONE || !write_mark(s, "indexed", seq) ||
	    store_commit_now(s, false) != STORE_OK) {
		if (rc != SQLITE_DONE)
			store_failed(s, rc);
		store_rollback(s);
		s->indexed = true;
		return false;
	}
	s->indexed = seq == s->now.seq;
	return !s->indexed;
}

uint64_t store_indexed(struct store *s)
{
	struct values v;
	uint64_t words = read_mark(s, "indexed");
	values_init(&v, s->db);
	values_release(&v);
	return v.ended || v.covered / VALUES_BLOCK >= words / VALUES_BLOCK ? words : v.covered;
}

enum store_rc index_forget(struct store *s, uint64_t seq)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(text_reader_release) struct text_reader reader = TEXT_READER(s->db);
	sqlite3_stmt *st = NULL;
	int has = !seq || seq > read_mark(s, "indexed") ? 0 : index_text_of(&reader, seq, &text);
	if (has <= 0) /* what cannot be read now would stay in the index: it is tried again */
		return has == 0 ? STORE_OK : store_failed(s, SQLITE_IOERR);
	int rc = sqlite3_prepare_v2(
		s->db, "INSERT INTO search(search, rowid, text) VALUES('delete', ?1, ?2)", -1, &st,
		NULL);
	if (rc == SQLITE_OK)
		rc = index_add(st, seq, &text);
	enum store_rc result = rc == SQLITE_DONE ? STORE_OK : store_failed(s, rc);
	sqlite3_finalize(st);
	s->scrub = true;
	return result;
}

enum store_rc store_scrub(struct store *s)
{
	int log = 0, moved = 0;
	int rc = SQLITE_OK;
	if (s->scrub)
		rc = sqlite3_exec(s->db, "INSERT INTO search(search) VALUES('optimize')", NULL,
				  NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, &log,
					       &moved);
	if (rc != SQLITE_OK)
		return store_failed(s, rc);
	s->scrub = false;
	return STORE_OK;
}

enum store_rc index_again(struct store *s, uint64_t seq)
{
	int rc = values_again(s->db, seq);
	return rc == SQLITE_OK ? STORE_OK : store_failed(s, rc);
}
