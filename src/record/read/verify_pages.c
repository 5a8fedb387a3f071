/* Is the file intact as a database: every page, every index against its table, the search index in
 * itself. Hashes prove only the rows that were read; a lost index entry would make a query silently
 * return fewer rows.
 *
 * fts5 checks itself only by an INSERT, which a reader must not do: its tables are copied into a
 * database in memory. */
#include <ctype.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "record/read/steps.h"
#include "record/read/text.h"
#include "record/read/values.h"
#include "record/read/verify_priv.h"

enum {
	SEARCH_MAX = 256 << 20, /* a larger index is only walked through */
	SAMPLES = 500,		/* events that are looked for by their words */
};

static const char verify_pages_shape[] =
	"CREATE VIRTUAL TABLE search USING fts5(text, content = '', tokenize = 'trigram', detail = 'none',"
	" columnsize = 0);"
	"DELETE FROM search_data; DELETE FROM search_idx; DELETE FROM search_config";

/* The first thing that SQLite finds wrong, into @out; empty: nothing. */
static int check_pages(struct verify *v, char *out, size_t cap, struct err *err)
{
	sqlite3_stmt *st = verify_sql(v, "PRAGMA integrity_check(1)", err);
	*out = 0;
	if (!st)
		return -1;
	int rc = sqlite3_step(st);
	const char *said = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(st, 0)
					    : sqlite3_errmsg(v->s->db);
	if (!said || strcmp(said, "ok") != 0) {
		if (said && !strncmp(said, "*** ", 4) && strchr(said, '\n'))
			said = strchr(said, '\n') + 1; /* below a headline */
		snprintf(out, cap, "%.200s", said ? said : "no answer");
		out[strcspn(out, "\n")] = 0;
	}
	sqlite3_finalize(st);
	return 0;
}

enum { NO_NUMBER = -1, UNREADABLE = -2 };

/* NO_NUMBER: the table or the row does not exist. */
static int64_t verify_pages_number(struct verify *v, const char *sql)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(v->s->db, sql, -1, &st, NULL);
	bool there = rc == SQLITE_OK;
	rc = there ? sqlite3_step(st) : rc;
	int64_t n = rc == SQLITE_ROW ? sqlite3_column_int64(st, 0) : NO_NUMBER;
	sqlite3_finalize(st);
	return rc == SQLITE_ROW || rc == SQLITE_DONE || (!there && rc == SQLITE_ERROR) ? n
										       : UNREADABLE;
}

/* --- the search index ------------------------------------------------------------------------- */

static int verify_pages_copy_rows(sqlite3 *from, sqlite3 *to, const char *select,
				  const char *insert)
{
	sqlite3_stmt *in = NULL, *out = NULL;
	int rc = sqlite3_prepare_v2(from, select, -1, &in, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(to, insert, -1, &out, NULL);
	while (rc == SQLITE_OK && (rc = sqlite3_step(in)) == SQLITE_ROW) {
		for (int i = 0; i < sqlite3_column_count(in); i++)
			sqlite3_bind_value(out, i + 1, sqlite3_column_value(in, i));
		rc = sqlite3_step(out);
		rc = rc == SQLITE_DONE ? sqlite3_reset(out) : rc;
	}
	sqlite3_finalize(in);
	sqlite3_finalize(out);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int copy_search(sqlite3 *from, sqlite3 *to)
{
	int rc = sqlite3_exec(to, "BEGIN", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(to, verify_pages_shape, NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = verify_pages_copy_rows(from, to, "SELECT id, block FROM search_data",
					    "INSERT INTO search_data VALUES(?1, ?2)");
	if (rc == SQLITE_OK)
		rc = verify_pages_copy_rows(from, to, "SELECT segid, term, pgno FROM search_idx",
					    "INSERT INTO search_idx VALUES(?1, ?2, ?3)");
	if (rc == SQLITE_OK)
		rc = verify_pages_copy_rows(from, to, "SELECT k, v FROM search_config",
					    "INSERT INTO search_config VALUES(?1, ?2)");
	return rc == SQLITE_OK ? sqlite3_exec(to, "COMMIT", NULL, NULL, NULL) : rc;
}

/* Two connections: that which made the tables remembers what was in them before the copy. */
static int check_copy(struct session *s)
{
	static atomic_uint count;
	char name[80];
	sqlite3 *copy = NULL, *fresh = NULL;
	int flags =
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
	snprintf(name, sizeof(name), "file:/verify-%ld-%u?vfs=memdb", (long)getpid(),
		 atomic_fetch_add(&count, 1));
	int rc = sqlite3_open_v2(name, &copy, flags, NULL);
	if (rc == SQLITE_OK)
		rc = copy_search(s->db, copy);
	if (rc == SQLITE_OK)
		rc = sqlite3_open_v2(name, &fresh, flags, NULL);
	if (rc == SQLITE_OK)
		session_bound_db(s, fresh);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(fresh, "INSERT INTO search(search) VALUES('integrity-check')",
				  NULL, NULL, NULL);
	sqlite3_close(fresh);
	sqlite3_close(copy);
	return rc;
}

static int walk_terms(sqlite3 *db)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_exec(
		db,
		"PRAGMA query_only=OFF; CREATE VIRTUAL TABLE IF NOT EXISTS temp.every_term USING"
		" fts5vocab('main', 'search', 'row'); PRAGMA query_only=ON",
		NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db, "SELECT count(*), sum(doc) FROM temp.every_term", -1,
					&st, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	sqlite3_finalize(st);
	return rc == SQLITE_ROW ? SQLITE_OK : rc;
}

/* One transaction: a writer must not come between the tables. */
static int check_search(struct verify *v, int64_t bytes)
{
	sqlite3 *db = v->s->db;
	int rc = sqlite3_exec(db, "SAVEPOINT search_check", NULL, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = bytes > SEARCH_MAX ? walk_terms(db) : check_copy(v->s);
	int end = sqlite3_exec(db, "RELEASE search_check", NULL, NULL, NULL);
	return rc == SQLITE_OK ? end : rc;
}

static const char find_sql[] = "SELECT 1 FROM search WHERE search MATCH ?1 AND rowid = ?2";

/* Three characters from the @nth third of @text as a query; false if every choice needs quoting. */
static bool a_query(const struct buf *text, size_t nth, char out[8])
{
	for (size_t i = text->len / 3 * nth; i + 3 <= text->len; i++)
		if (isalnum((unsigned char)text->data[i]) &&
		    isalnum((unsigned char)text->data[i + 1]) &&
		    isalnum((unsigned char)text->data[i + 2])) {
			snprintf(out, 8, "\"%.3s\"", text->data + i);
			return true;
		}
	return false;
}

/* Whether searches still lead to event @seq: 1 yes (or it has no words), 0 no, -1 the index cannot
 * be read. */
static int is_found(sqlite3_stmt *st, struct text_reader *t, uint64_t seq)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err err;
	bool asked = false;
	int rc = SQLITE_DONE;
	if (text_of_event(t, seq, &text, &err) != 1)
		return 1;
	/* older files have no words behind a NUL in their index */
	text.len = text.len ? strnlen(text.data, text.len) : 0;
	for (size_t nth = 0; nth < 3 && rc == SQLITE_DONE; nth++) {
		char query[8];
		if (!a_query(&text, nth, query))
			continue;
		asked = true;
		sqlite3_bind_text(st, 1, query, -1, SQLITE_TRANSIENT);
		sqlite3_bind_int64(st, 2, (int64_t)seq);
		rc = sqlite3_step(st);
		sqlite3_reset(st);
	}
	return rc == SQLITE_ROW || (rc == SQLITE_DONE && !asked) ? 1 : rc == SQLITE_DONE ? 0 : -1;
}

/* In how many of events @from to @to no word leads to the event, of all; and the words of event
 * @from that were tried. */
static void tell_lost(struct verify *v, int64_t from, int64_t to)
{
	CLEANUP(text_reader_release) struct text_reader reader = TEXT_READER(v->s->db);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err err;
	char query[3][8] = { "", "", "" };
	int64_t lost = 0;
	sqlite3_stmt *st = verify_sql(v, find_sql, &err);
	for (int64_t seq = from; st && seq <= to && !session_stopped(v->s); seq++)
		lost += is_found(st, &reader, (uint64_t)seq) == 0;
	sqlite3_finalize(st);
	if (text_of_event(&reader, (uint64_t)from, &text, &err) == 1)
		for (size_t nth = 0; nth < 3; nth++)
			a_query(&text, nth, query[nth]);
	verify_say(v, "pages", VERIFY_FAIL, 0,
		   "the search index is damaged: event %" PRId64
		   " isn't found by %s %s %s, nor are %" PRId64 " others up to event %" PRId64
		   ", which the index covers",
		   from, query[0], query[1], query[2], lost > 0 ? lost - 1 : 0, to);
}

/* A well-formed index may still have lost what was in it: events spread over the session are looked
 * for by their words. 0: they are found; else the first that is not; -1: the index cannot be
 * read. */
static int64_t lost_event(struct verify *v)
{
	CLEANUP(text_reader_release) struct text_reader reader = TEXT_READER(v->s->db);
	int64_t indexed = verify_pages_number(v, "SELECT value FROM mark WHERE name = 'indexed'"),
		lost = 0;
	int64_t step = indexed / SAMPLES + 1;
	struct err err;
	sqlite3_stmt *st = indexed == UNREADABLE ? NULL : verify_sql(v, find_sql, &err);
	if (!st)
		return -1;
	for (int64_t seq = 1; seq <= indexed && !lost; seq += step) {
		int found = is_found(st, &reader, (uint64_t)seq);
		lost = found > 0 ? 0 : found < 0 ? -1 : seq;
	}
	sqlite3_finalize(st);
	return lost;
}

/* Events that came in a flood at the end are not in the index: searches read them through
 * (search.c). */
static void verify_pages_say_whole(struct verify *v, int64_t pages)
{
	uint64_t head = session_head(v->s), indexed = session_indexed(v->s);
	char rest[80] = "";
	if (indexed < head && !session_live(v->s) && !session_short(v->s))
		snprintf(rest, sizeof(rest),
			 " (the search index covers events up to %" PRIu64
			 "; searches read the rest)",
			 indexed);
	verify_say(v, "pages", VERIFY_OK, 0, "%" PRId64 " pages, indexes and search intact%s",
		   pages, rest);
}

/* Whether the blocks of values match their events; false: the difference has been reported. */
static bool values_hold(struct verify *v)
{
	uint64_t wrong = 0;
	int rc = values_check(v->s->db, &wrong);
	if (rc != SQLITE_OK)
		verify_say(v, "pages", VERIFY_FAIL, 0,
			   "the search index is damaged: can't read its table search_value: %s",
			   sqlite3_errstr(rc));
	else if (wrong)
		verify_say(v, "pages", VERIFY_FAIL, wrong,
			   "the search index is damaged: entries for events from %" PRIu64
			   " on don't match the events (table search_value)",
			   wrong);
	return rc == SQLITE_OK && !wrong;
}

/* Whether words still lead from a step to its action; false: reported. */
static bool steps_hold(struct verify *v)
{
	uint64_t wrong = 0;
	int rc = steps_check(v->s->db, &wrong);
	if (rc != SQLITE_OK)
		verify_say(v, "pages", VERIFY_FAIL, 0,
			   "the search index is damaged: can't read its table search_row: %s",
			   sqlite3_errstr(rc));
	else if (wrong)
		verify_say(v, "pages", VERIFY_FAIL, (uint64_t)wrong,
			   "the search index is damaged: step entries for events from %" PRIu64
			   " on don't match the events (table search_row)",
			   wrong);
	return rc == SQLITE_OK && !wrong;
}

int verify_pages(struct verify *v, struct err *err)
{
	char wrong[220];
	if (check_pages(v, wrong, sizeof(wrong), err) < 0)
		return -1;
	if (*wrong) {
		verify_say(v, "pages", VERIFY_FAIL, 0, "the database is damaged: %s", wrong);
		return 0;
	}
	int64_t pages = verify_pages_number(v, "PRAGMA page_count");
	int64_t bytes = verify_pages_number(v, "SELECT sum(length(block)) FROM search_data");
	int rc = bytes == UNREADABLE ? SQLITE_CORRUPT
		 : bytes < 0	     ? SQLITE_OK
				     : check_search(v, bytes);
	int primary = rc & 0xff;
	int64_t lost = bytes >= 0 && rc == SQLITE_OK ? lost_event(v) : 0;
	if (lost > 0)
		tell_lost(v, lost,
			  verify_pages_number(v, "SELECT value FROM mark WHERE name = 'indexed'"));
	else if (lost < 0 || primary == SQLITE_CORRUPT || primary == SQLITE_ERROR)
		verify_say(v, "pages", VERIFY_FAIL, 0,
			   "the search index is damaged: searches may miss events");
	else if (rc != SQLITE_OK)
		verify_say(v, "pages", VERIFY_SKIP, 0, "can't check the search index: %s",
			   sqlite3_errstr(rc));
	else if (steps_hold(v) && values_hold(v))
		verify_pages_say_whole(v, pages);
	return 0;
}
