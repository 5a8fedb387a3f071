#include "record/read/steps.h"

#include <stdlib.h>
#include <string.h>

#include "base/leb128.h"
#include "base/mem.h"

enum {
	AT_ONCE = 2,		      /* blocks that are added by one call */
	BLOCK_MOST = 9 * STEPS_BLOCK, /* bytes: a number has at most nine */
};

struct steps_kept {
	uint64_t first; /* its first event */
	bool whole;	/* false: it cannot be read, which is not tried again */
	uint32_t back[STEPS_BLOCK];
};

/* One that is longer than the longest numbers was not put there by a recorder. */
static const char read_steps_block_sql[] =
	"SELECT rows FROM search_row WHERE block = ?1 AND length(rows) <= ?2";

/* --- reading ---------------------------------------------------------------------------------- */

/* A block that reaches further than the events was not put there by a recorder; nor was one that
 * lacks one before it. */
void steps_init(struct steps *t, sqlite3 *db)
{
	static const char last[] =
		"SELECT max(block), count(*), (SELECT value FROM mark WHERE name = 'indexed') FROM search_row"
		" WHERE block BETWEEN 0 AND (SELECT max(seq) FROM event) / ?1 - 1";
	sqlite3_stmt *st = NULL;
	*t = (struct steps){ .db = db };
	if (sqlite3_prepare_v2(db, last, -1, &st, NULL) == SQLITE_OK) {
		sqlite3_bind_int64(st, 1, STEPS_BLOCK);
		if (sqlite3_step(st) == SQLITE_ROW &&
		    sqlite3_column_int64(st, 1) == sqlite3_column_int64(st, 0) + 1)
			t->blocks = (uint64_t)sqlite3_column_int64(st, 1) * STEPS_BLOCK;
		uint64_t indexed =
			sqlite3_column_int64(st, 2) > 0
				? (uint64_t)sqlite3_column_int64(st, 2) / STEPS_BLOCK * STEPS_BLOCK
				: 0;
		t->covered = t->blocks < indexed ? t->blocks : indexed;
	}
	sqlite3_finalize(st);
}

void steps_release(struct steps *t)
{
	for (size_t i = 0; i < STEPS_KEPT; i++)
		free(t->kept[i]);
	sqlite3_finalize(t->block);
	sqlite3_finalize(t->event);
	*t = (struct steps){ .db = t->db };
}

/* Numbers of one byte each, as nearly all blocks have them. */
static bool decode_bytes(const uint8_t *restrict p, uint32_t *restrict back)
{
	uint32_t any = 0;
	for (size_t i = 0; i < STEPS_BLOCK; i++) {
		back[i] = p[i];
		any |= p[i];
	}
	return any < 0x80;
}

/* False if it has fewer numbers, or one that is too large. */
static bool read_steps_decode(const uint8_t *p, size_t len, uint32_t *back)
{
	uint64_t n;
	if (!len) /* SQLite has no address for it */
		return false;
	const uint8_t *end = p + len;
	if (len == STEPS_BLOCK)
		return decode_bytes(p, back);
	for (size_t i = 0; i < STEPS_BLOCK; back[i++] = (uint32_t)n)
		if (!leb128_get(&p, end, &n) || n > UINT32_MAX)
			return false;
	return true;
}

/* Of the block that has @seq; NULL: it cannot be read. */
static const struct steps_kept *read_steps_load(struct steps *t, uint64_t seq)
{
	uint64_t block = (seq - 1) / STEPS_BLOCK, first = block * STEPS_BLOCK + 1;
	struct steps_kept **k = &t->kept[block % STEPS_KEPT];
	if (*k && (*k)->first == first)
		return (*k)->whole ? *k : NULL;
	if (!t->block &&
	    sqlite3_prepare_v2(t->db, read_steps_block_sql, -1, &t->block, NULL) != SQLITE_OK)
		return NULL;
	if (!*k)
		*k = NEW(struct steps_kept);
	(*k)->first = first;
	(*k)->whole = false;
	sqlite3_bind_int64(t->block, 1, (int64_t)block);
	sqlite3_bind_int64(t->block, 2, BLOCK_MOST);
	if (sqlite3_step(t->block) == SQLITE_ROW) {
		const uint8_t *p = sqlite3_column_blob(t->block, 0);
		(*k)->whole =
			read_steps_decode(p, (size_t)sqlite3_column_bytes(t->block, 0), (*k)->back);
	}
	sqlite3_reset(t->block);
	return (*k)->whole ? *k : NULL;
}

uint64_t steps_owner(struct steps *t, uint64_t seq)
{
	const struct steps_kept *k = seq && seq <= t->covered ? read_steps_load(t, seq) : NULL;
	if (k) {
		uint32_t back = k->back[seq - k->first];
		return back < seq ? seq - back : seq;
	}
	uint64_t action = 0;
	if (!t->event && sqlite3_prepare_v2(t->db, "SELECT action FROM event WHERE seq = ?1", -1,
					    &t->event, NULL) != SQLITE_OK)
		return seq;
	sqlite3_bind_int64(t->event, 1, (int64_t)seq);
	if (sqlite3_step(t->event) == SQLITE_ROW)
		action = (uint64_t)sqlite3_column_int64(t->event, 0);
	sqlite3_reset(t->event);
	return action ? action : seq;
}

uint64_t steps_reach(struct steps *t, uint64_t after, uint64_t upto)
{
	sqlite3_stmt *st = NULL;
	uint64_t reach = upto;
	if (!t->covered || upto <= after)
		return upto;
	if (sqlite3_prepare_v2(t->db,
			       "SELECT max(reach) FROM search_row WHERE block BETWEEN ?1 AND ?2",
			       -1, &st, NULL) == SQLITE_OK) {
		sqlite3_bind_int64(st, 1, (int64_t)(after / STEPS_BLOCK));
		sqlite3_bind_int64(st, 2, (int64_t)((upto - 1) / STEPS_BLOCK));
		if (sqlite3_step(st) == SQLITE_ROW && sqlite3_column_int64(st, 0) > (int64_t)upto)
			reach = (uint64_t)sqlite3_column_int64(st, 0);
	}
	sqlite3_finalize(st);
	if (reach > t->covered)
		reach = t->covered;
	return reach > upto ? reach : upto;
}

static int read_steps_by_number(const void *a, const void *b)
{
	uint64_t x, y;
	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return (x > y) - (x < y);
}

int steps_open(struct steps *t, uint64_t after, uint64_t upto, uint64_t beyond, struct buf *out,
	       struct err *err)
{
	/* the index is sought by the first of two bounds: that must be the one that skips what lies
	 * before @after */
	static const char of_actions[] =
		"SELECT action FROM event INDEXED BY event_action WHERE action > ?1 AND action > 0 AND "
		"action <= ?2 AND seq > ?3";
	static const char of_events[] =
		"SELECT action FROM event NOT INDEXED WHERE seq > ?3 AND action > ?1 AND action <= ?2";
	sqlite3_stmt *st = NULL;
	uint64_t head = 0, last = 0;
	int rc = sqlite3_prepare_v2(t->db, "SELECT max(seq) FROM event", -1, &st, NULL);
	if (rc == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
		head = (uint64_t)sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	st = NULL;
	buf_reset(out);
	/* whichever are fewer: an entry of the index costs a tenth of an event */
	bool few = head <= beyond || (head - beyond) * 10 < upto - after;
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(t->db, few ? of_events : of_actions, -1, &st, NULL);
	if (rc == SQLITE_OK) {
		sqlite3_bind_int64(st, 1, (int64_t)after);
		sqlite3_bind_int64(st, 2, (int64_t)upto);
		sqlite3_bind_int64(st, 3, (int64_t)beyond);
		while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
			uint64_t action = (uint64_t)sqlite3_column_int64(st, 0);
			if (action != last)
				buf_append(out, &action, sizeof(action));
			last = action;
		}
		rc = rc == SQLITE_DONE ? SQLITE_OK : rc;
	}
	sqlite3_finalize(st);
	if (out->len)
		qsort(out->data, out->len / sizeof(last), sizeof(last), read_steps_by_number);
	return rc == SQLITE_OK ? 0 : err_set(err, ERR_DAMAGED, "search: %s", sqlite3_errmsg(t->db));
}

/* --- writing ---------------------------------------------------------------------------------- */

/* The blob of @block; and, for the blocks before it, the last of its events that is a step of one
 * of theirs: pairs of uint64_t (block, event). SQLITE_DONE when it is not full. */
static int read_steps_encode(sqlite3 *db, uint64_t block, struct buf *rows, struct buf *reach)
{
	sqlite3_stmt *st = NULL;
	uint64_t nr = 0, owner[STEPS_BLOCK];
	int rc = sqlite3_prepare_v2(
		db, "SELECT action, seq FROM event WHERE seq > ?1 ORDER BY seq LIMIT ?2", -1, &st,
		NULL);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, (int64_t)(block * STEPS_BLOCK));
	sqlite3_bind_int64(st, 2, STEPS_BLOCK);
	buf_reset(rows);
	buf_reset(reach);
	while (nr < STEPS_BLOCK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		uint64_t seq = block * STEPS_BLOCK + nr + 1,
			 action = (uint64_t)sqlite3_column_int64(st, 0);
		if ((uint64_t)sqlite3_column_int64(st, 1) != seq) /* one is missing */
			break;
		owner[nr++] = action && action < seq ? action : seq;
		leb128_put(rows, seq - owner[nr - 1]);
	}
	sqlite3_finalize(st);
	if (nr < STEPS_BLOCK)
		return rc == SQLITE_ROW ? SQLITE_DONE : rc;
	for (uint64_t i = STEPS_BLOCK; i-- > 0;) { /* the last one of each first */
		uint64_t pair[2] = { (owner[i] - 1) / STEPS_BLOCK, block * STEPS_BLOCK + i + 1 };
		bool known = pair[0] == block;
		for (size_t at = 0; at < reach->len && !known; at += sizeof(pair))
			known = !memcmp(reach->data + at, pair, sizeof(*pair));
		if (!known)
			buf_append(reach, pair, sizeof(pair));
	}
	return SQLITE_OK;
}

static int read_steps_run(sqlite3_stmt *st)
{
	int rc = sqlite3_step(st);
	sqlite3_reset(st);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Removes rows beside the valid blocks. */
static int drop_others(sqlite3 *db, uint64_t blocks)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db, "DELETE FROM search_row WHERE block < 0 OR block >= ?1", -1,
				    &st, NULL);
	if (rc == SQLITE_OK) {
		sqlite3_bind_int64(st, 1, (int64_t)blocks);
		rc = read_steps_run(st);
	}
	sqlite3_finalize(st);
	return rc;
}

int steps_add(sqlite3 *db, uint64_t upto, bool *left_out)
{
	CLEANUP(buf_release) struct buf rows = BUF_INIT, reach = BUF_INIT;
	sqlite3_stmt *add = NULL, *raise = NULL;
	struct steps t;
	steps_init(&t, db);
	uint64_t block = t.blocks / STEPS_BLOCK, end = upto / STEPS_BLOCK;
	*left_out = end > block + AT_ONCE;
	if (end <= block)
		return SQLITE_OK;
	if (*left_out)
		end = block + AT_ONCE;
	int rc = drop_others(db, block);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db, "INSERT INTO search_row VALUES(?1, ?2, ?3)", -1, &add,
					NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db, "UPDATE search_row SET reach = ?2 WHERE block = ?1", -1,
					&raise, NULL);
	for (; rc == SQLITE_OK && block < end; block++) {
		rc = read_steps_encode(db, block, &rows, &reach);
		/* an event is missing: no block ever comes here or behind */
		if (rc == SQLITE_DONE) {
			*left_out = false;
			rc = SQLITE_OK;
			break;
		}
		if (rc == SQLITE_OK) {
			sqlite3_bind_int64(add, 1, (int64_t)block);
			sqlite3_bind_int64(add, 2, (int64_t)((block + 1) * STEPS_BLOCK));
			sqlite3_bind_blob64(add, 3, rows.data, rows.len, SQLITE_STATIC);
			rc = read_steps_run(add);
		}
		for (size_t at = 0; rc == SQLITE_OK && at < reach.len; at += 2 * sizeof(uint64_t)) {
			int64_t pair[2];
			memcpy(pair, reach.data + at, sizeof(pair));
			sqlite3_bind_int64(raise, 1, pair[0]);
			sqlite3_bind_int64(raise, 2, pair[1]);
			rc = read_steps_run(raise);
		}
	}
	sqlite3_finalize(add);
	sqlite3_finalize(raise);
	return rc;
}

/* --- checking --------------------------------------------------------------------------------- */

/* How far each block says that the steps of its actions reach, of one moment: a writer raises them
 * as it adds blocks. Stops at a block that is not the next one. */
static int read_reach(sqlite3 *db, struct buf *out, uint64_t *wrong)
{
	sqlite3_stmt *st = NULL;
	uint64_t nr = 0;
	int rc = sqlite3_prepare_v2(db, "SELECT block, reach FROM search_row ORDER BY block", -1,
				    &st, NULL);
	if (rc != SQLITE_OK) /* the file has no such table */
		return SQLITE_OK;
	while ((rc = sqlite3_step(st)) == SQLITE_ROW && !*wrong) {
		int64_t reach = sqlite3_column_int64(st, 1);
		if (sqlite3_column_int64(st, 0) != (int64_t)nr)
			*wrong = nr * STEPS_BLOCK + 1;
		buf_append(out, &reach, sizeof(reach));
		nr++;
	}
	sqlite3_finalize(st);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Does the row of @block hold @rows? */
static bool read_steps_block_is(sqlite3_stmt *st, uint64_t block, const struct buf *rows)
{
	sqlite3_bind_int64(st, 1, (int64_t)block);
	sqlite3_bind_int64(st, 2, BLOCK_MOST);
	bool same = sqlite3_step(st) == SQLITE_ROW &&
		    (size_t)sqlite3_column_bytes(st, 0) == rows->len &&
		    !memcmp(sqlite3_column_blob(st, 0), rows->data, rows->len);
	sqlite3_reset(st);
	return same;
}

int steps_check(sqlite3 *db, uint64_t *wrong)
{
	CLEANUP(buf_release)
	struct buf rows = BUF_INIT, reach = BUF_INIT, said = BUF_INIT, true_reach = BUF_INIT;
	sqlite3_stmt *st = NULL;
	*wrong = 0;
	int rc = read_reach(db, &said, wrong);
	uint64_t blocks = said.len / sizeof(uint64_t);
	if (rc == SQLITE_OK && blocks && !*wrong)
		rc = sqlite3_prepare_v2(db, read_steps_block_sql, -1, &st, NULL);
	for (uint64_t b = 0; rc == SQLITE_OK && st && b < blocks && !*wrong; b++) {
		uint64_t end = (b + 1) * STEPS_BLOCK;
		rc = read_steps_encode(db, b, &rows, &reach);
		if (rc == SQLITE_DONE || (rc == SQLITE_OK && !read_steps_block_is(st, b, &rows)))
			*wrong = b * STEPS_BLOCK + 1;
		rc = rc == SQLITE_DONE ? SQLITE_OK : rc;
		buf_append(&true_reach, &end, sizeof(end));
		for (size_t at = 0; at < reach.len; at += 2 * sizeof(uint64_t)) {
			uint64_t pair[2];
			memcpy(pair, reach.data + at, sizeof(pair));
			memcpy(true_reach.data + pair[0] * sizeof(uint64_t), &pair[1],
			       sizeof(uint64_t));
		}
	}
	sqlite3_finalize(st);
	for (uint64_t b = 0; rc == SQLITE_OK && b < blocks && !*wrong; b++)
		if (memcmp(said.data + b * sizeof(uint64_t), true_reach.data + b * sizeof(uint64_t),
			   sizeof(uint64_t)) != 0)
			*wrong = b * STEPS_BLOCK + 1;
	return rc;
}
