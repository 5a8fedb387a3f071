/* Builds the blocks of values from their events, and compares them. The SQL of filters
 * (query/filter_sql.c) defines the same fields: every event that a filter finds by a field must be
 * in the field's list here. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/leb128.h"
#include "base/mem.h"
#include "record/read/values.h"
#include "wire/event.h"

enum {
	AT_ONCE = 2,
	/* blocks that are added by one call */ EXACT = 53 /* bits of a number that is kept */
};

/* The kinds of bodies that hold values. */
enum ask { ASK_OWN, ASK_ENDED, ASK_JUDGED, ASK_DECIDED, ASK_SNAPSHOT, ASK_TURN, ASK_NOTE, ASK_NR };
static const char *const ask_sql[ASK_NR] = {
	[ASK_OWN] = "SELECT json_extract(?1,'$.cost_uusd'), " VALUES_DATA_LINES(
		"?1") ", json_extract(?1,'$.host')",
	[ASK_ENDED] =
		"SELECT json_extract(?1,'$.code'), json_extract(?1,'$.dur_us'), json_extract(?1,'$.cost_uusd'),"
		" json_extract(?1,'$.tokens'), json_extract(?1,'$.lines'), " VALUES_ERROR("?1"),
	[ASK_JUDGED] = "SELECT json_extract(?1,'$.verdict'), json_extract(?1,'$.risk')",
	[ASK_DECIDED] = "SELECT json_extract(?1,'$.decision')",
	[ASK_SNAPSHOT] = "SELECT json_array_length(?1,'$.changes')>0",
	[ASK_TURN] = "SELECT json_extract(?1,'$.n')",
	[ASK_NOTE] =
		"SELECT CASE WHEN json_valid(?1) THEN ifnull(json_extract(?1,'$.level')='mark',0) ELSE 0 END",
};

struct pair {
	uint32_t index;
	int64_t value;
};

struct column {
	int field;
	struct pair *pair; /* owned */
	size_t nr, cap;
	int64_t low, high;
};

struct maker {
	sqlite3 *db;
	sqlite3_stmt *events, *ended, *ask[ASK_NR];
	/* of the block */
	uint64_t block;
	struct column *column; /* owned, with their pairs */
	size_t nr, cap;
	/* an action that begins there, and has not ended in the block */
	bool goes_on[VALUES_BLOCK];
	struct buf rows;
};

static void maker_release(struct maker *m)
{
	sqlite3_finalize(m->events);
	sqlite3_finalize(m->ended);
	for (size_t i = 0; i < ASK_NR; i++)
		sqlite3_finalize(m->ask[i]);
	for (size_t i = 0; i < m->cap; i++)
		free(m->column[i].pair);
	free(m->column);
	buf_release(&m->rows);
}

static int maker_init(struct maker *m, sqlite3 *db)
{
	static const char events[] =
		"SELECT seq, cause, action, ts_us, kind, body FROM event WHERE seq > ?1 ORDER BY seq LIMIT ?2";
	static const char ended[] =
		"SELECT 1 FROM event WHERE action = ?1 AND action > 0 AND kind = 105 LIMIT 1";
	*m = (struct maker){ .db = db };
	int rc = sqlite3_prepare_v2(db, events, -1, &m->events, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db, ended, -1, &m->ended, NULL);
	for (size_t i = 0; rc == SQLITE_OK && i < ASK_NR; i++)
		rc = sqlite3_prepare_v2(db, ask_sql[i], -1, &m->ask[i], NULL);
	return rc;
}

/* --- one block -------------------------------------------------------------------------------- */

static struct column *values_make_column_of(struct maker *m, int field)
{
	for (size_t i = 0; i < m->nr; i++)
		if (m->column[i].field == field)
			return &m->column[i];
	if (m->nr == m->cap) {
		m->cap = m->cap ? 2 * m->cap : 32;
		m->column = mem_realloc(m->column, m->cap * sizeof(*m->column));
		memset(m->column + m->nr, 0, (m->cap - m->nr) * sizeof(*m->column));
	}
	struct column *c = &m->column[m->nr++];
	c->field = field;
	c->nr = 0;
	return c;
}

static void values_make_add(struct maker *m, int field, uint32_t index, int64_t value)
{
	struct column *c = values_make_column_of(m, field);
	if (c->nr && c->pair[c->nr - 1].index == index && c->pair[c->nr - 1].value == value)
		return;
	GROW(c->pair, c->nr, c->cap);
	c->low = !c->nr || value < c->low ? value : c->low;
	c->high = !c->nr || value > c->high ? value : c->high;
	c->pair[c->nr++] = (struct pair){ index, value };
}

static void add_odd(struct maker *m, uint32_t index)
{
	values_make_add(m, VALUE_ODD, index, 0);
}

static void add_number(struct maker *m, int field, uint32_t index, sqlite3_stmt *st, int at)
{
	const int64_t most = INT64_C(1) << EXACT;
	int type = sqlite3_column_type(st, at);
	int64_t v = type == SQLITE_INTEGER ? sqlite3_column_int64(st, at) : 0;
	if (type != SQLITE_NULL && (type != SQLITE_INTEGER || v > most || v < -most))
		add_odd(m, index);
	else if (type != SQLITE_NULL)
		values_make_add(m, field, index, v);
}

static void add_flag(struct maker *m, int field, uint32_t index, sqlite3_stmt *st, int at)
{
	if (sqlite3_column_int(st, at))
		values_make_add(m, field, index, 0);
}

/* The answer, or NULL where the body is not JSON: then its values are unknown. */
static sqlite3_stmt *values_make_answer(struct maker *m, enum ask which, uint32_t index,
					const char *body, int len)
{
	sqlite3_stmt *st = m->ask[which];
	sqlite3_reset(st);
	sqlite3_bind_text(st, 1, body, len, SQLITE_STATIC);
	if (sqlite3_step(st) == SQLITE_ROW)
		return st;
	sqlite3_reset(st);
	add_odd(m, index);
	return NULL;
}

/* The place of the name that it is; 0: another, -1: none. */
static int values_make_place_of(sqlite3_stmt *st, int at, const char *const *names, size_t nr)
{
	const char *text = (const char *)sqlite3_column_text(st, at);
	for (size_t i = 0; text && i < nr; i++)
		if (names[i] && !strcasecmp(names[i], text))
			return (int)i;
	return text ? 0 : -1;
}

static void values_make_judged(struct maker *m, uint32_t index, sqlite3_stmt *st)
{
	static const char *const verdicts[] = { NULL, "allow", "ask", "deny", "held" };
	static const char *const risks[] = { NULL, "none", "low", "medium", "high" };
	int verdict = values_make_place_of(st, 0, verdicts, ARRAY_LEN(verdicts)),
	    risk = values_make_place_of(st, 1, risks, ARRAY_LEN(risks));
	if (verdict >= 0 && verdict != 1)
		values_make_add(m, VALUE_VERDICT, index, verdict);
	if (risk >= 0 && risk != RISK_IS_NONE) /* as most have */
		values_make_add(m, VALUE_RISK, index, risk);
}

static void values_make_decided(struct maker *m, uint32_t index, sqlite3_stmt *st)
{
	const char *text = (const char *)sqlite3_column_text(st, 0);
	if (text && !strcmp(text, "edit"))
		values_make_add(m, VALUE_EDITED, index, 0);
	else if (text &&
		 (!strcmp(text, "deny") || !strcmp(text, "deny_pause") || !strcmp(text, "kill")))
		values_make_add(m, VALUE_VERDICT, index, VERDICT_DENY);
}

static void values_make_ended(struct maker *m, uint32_t index, sqlite3_stmt *st)
{
	static const int fields[] = { VALUE_EXIT, VALUE_DUR, VALUE_COST, VALUE_TOKENS,
				      VALUE_LINES };
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		add_number(m, fields[i], index, st, (int)i);
	add_flag(m, VALUE_ERROR, index, st, (int)ARRAY_LEN(fields));
}

/* A step of an action, that is not redacted; those that say nothing that is asked for are not
 * read. */
static void values_make_step(struct maker *m, uint32_t index, int kind, const char *body, int len)
{
	sqlite3_stmt *st = NULL;
	if (kind == EV_ACTION_ENDED && (st = values_make_answer(m, ASK_ENDED, index, body, len)))
		values_make_ended(m, index, st);
	else if (kind == EV_ACTION_JUDGED &&
		 (st = values_make_answer(m, ASK_JUDGED, index, body, len)))
		values_make_judged(m, index, st);
	else if (kind == EV_ACTION_DECIDED &&
		 (st = values_make_answer(m, ASK_DECIDED, index, body, len)))
		values_make_decided(m, index, st);
	if (st)
		sqlite3_reset(st);
}

/* The recorder's body for output: its place, and hashes. */
static bool is_plain_output(const char *body, size_t len)
{
	/* query/filter_literal.c has them, too */
	static const char *const words[] = { "stream", "off", "len", "segment", "hash" };
	const char *end = body + len;
	while (body < end) {
		size_t n = 0, hex = 0;
		for (; body + n < end &&
		       ((body[n] >= 'a' && body[n] <= 'z') || (body[n] >= '0' && body[n] <= '9'));
		     n++)
			hex += body[n] <= 'f';
		bool known = hex == n;
		for (size_t i = 0; i < ARRAY_LEN(words) && !known; i++)
			known = strlen(words[i]) == n && !memcmp(words[i], body, n);
		if (!known || (!n && !memchr("{}\":,", *body, 5)))
			return false;
		body += n ? n : 1;
	}
	return true;
}

static bool values_make_has(const char *body, size_t len, const char *what)
{
	return memmem(body, len, what, strlen(what)) != NULL;
}

/* A name may also be written with \u or \x. */
static bool says_something(const char *body, size_t len)
{
	return values_make_has(body, len, "cost_uusd") || values_make_has(body, len, "data") ||
	       values_make_has(body, len, "host") || values_make_has(body, len, "\\u") ||
	       values_make_has(body, len, "\\x");
}

static void values_make_own(struct maker *m, uint32_t index, const char *body, int len)
{
	sqlite3_stmt *st = says_something(body, (size_t)len)
				   ? values_make_answer(m, ASK_OWN, index, body, len)
				   : NULL;
	if (!st)
		return;
	add_number(m, VALUE_COST, index, st, 0);
	add_number(m, VALUE_LINES, index, st, 1);
	const char *host = (const char *)sqlite3_column_text(st, 2);
	if (host)
		values_make_add(m, VALUE_HOST, index, value_of_text(host));
	sqlite3_reset(st);
}

static void values_make_note(struct maker *m, uint32_t index, int64_t cause, const char *body,
			     int len)
{
	sqlite3_stmt *st = body ? values_make_answer(m, ASK_NOTE, index, body, len) : NULL;
	if (cause < 0 || cause >= INT64_C(1) << EXACT)
		add_odd(m, index);
	else
		values_make_add(m, VALUE_NOTED, index,
				cause * 2 + (st && sqlite3_column_int(st, 0)));
	sqlite3_reset(m->ask[ASK_NOTE]);
}

/* A row of an event that belongs to no step. */
static void values_make_row(struct maker *m, uint32_t index, int64_t kind, int64_t cause,
			    const char *body, int len)
{
	sqlite3_stmt *st = NULL;
	if (kind < 0 || kind > UINT16_MAX)
		add_odd(m, index);
	else if (kind != EV_ACTION_REQUESTED)
		values_make_add(m, VALUE_KIND + (int)kind, index, 0);
	m->goes_on[index] = kind == EV_ACTION_REQUESTED;
	if (kind == EV_NOTE)
		values_make_note(m, index, cause, body, len);
	if (!body)
		return;
	values_make_own(m, index, body, len);
	if (kind == EV_AGENT_TURN && (st = values_make_answer(m, ASK_TURN, index, body, len)))
		add_number(m, VALUE_TURN, index, st, 0);
	if (st)
		sqlite3_reset(st);
}

/* False: not an event of a recorder's; nothing is known about it and the rest. */
static bool values_make_event(struct maker *m, uint32_t index)
{
	sqlite3_stmt *st = m->events;
	uint64_t seq = m->block * VALUES_BLOCK + 1 + index;
	int64_t action = sqlite3_column_int64(st, 2), kind = sqlite3_column_int64(st, 4);
	const char *body = (const char *)sqlite3_column_text(st, 5);
	int len = sqlite3_column_bytes(st, 5);
	if ((uint64_t)sqlite3_column_int64(st, 0) != seq || action < 0 || (uint64_t)action >= seq)
		return false;
	values_make_add(m, VALUE_TIME, index, sqlite3_column_int64(st, 3));
	if (kind == EV_ACTION_ENDED && (uint64_t)action > m->block * VALUES_BLOCK)
		m->goes_on[(uint64_t)action - m->block * VALUES_BLOCK - 1] = false;
	if ((kind < 101 || kind > 109) && kind != EV_OUTPUT && kind != EV_OUTPUT_GAP)
		values_make_row(m, index, kind, sqlite3_column_int64(st, 1), body, len);
	if (action && kind == EV_ACTION_HELD)
		values_make_add(m, VALUE_VERDICT, index, VERDICT_HELD);
	if (body && action && kind >= 101 && kind <= 109)
		values_make_step(m, index, (int)kind, body, len);
	if (body && kind == EV_OUTPUT && !is_plain_output(body, (size_t)len))
		values_make_add(m, VALUE_ODD_OUTPUT, index, 0);
	if (body && action && kind == EV_SNAPSHOT_TAKEN) {
		sqlite3_stmt *changes = values_make_answer(m, ASK_SNAPSHOT, index, body, len);
		if (changes)
			add_flag(m, VALUE_DIFF, index, changes, 0);
		sqlite3_reset(m->ask[ASK_SNAPSHOT]);
	}
	return true;
}

static int still_open(struct maker *m)
{
	for (uint32_t i = 0; i < VALUES_BLOCK; i++) {
		if (!m->goes_on[i])
			continue;
		sqlite3_bind_int64(m->ended, 1, (int64_t)(m->block * VALUES_BLOCK + 1 + i));
		int rc = sqlite3_step(m->ended);
		sqlite3_reset(m->ended);
		if (rc == SQLITE_DONE)
			values_make_add(m, VALUE_OPEN, i, 0);
		else if (rc != SQLITE_ROW)
			return rc;
	}
	return SQLITE_OK;
}

static int by_field(const void *a, const void *b)
{
	const struct column *x = a, *y = b;
	return (x->field > y->field) - (x->field < y->field);
}

/* Fills the columns, in the order of their fields. SQLITE_DONE: the block is not full; *stop: and
 * never will be. */
static int values_make(struct maker *m, uint64_t block, bool *stop)
{
	uint32_t nr = 0;
	int rc = SQLITE_DONE;
	*stop = false;
	m->block = block;
	m->nr = 0;
	memset(m->goes_on, 0, sizeof(m->goes_on));
	sqlite3_bind_int64(m->events, 1, (int64_t)(block * VALUES_BLOCK));
	sqlite3_bind_int(m->events, 2, VALUES_BLOCK);
	while (nr < VALUES_BLOCK && !*stop && (rc = sqlite3_step(m->events)) == SQLITE_ROW) {
		*stop = !values_make_event(m, nr);
		nr += !*stop;
	}
	sqlite3_reset(m->events);
	if (*stop || nr < VALUES_BLOCK)
		return rc == SQLITE_ROW ? SQLITE_DONE : rc;
	rc = still_open(m);
	qsort(m->column, m->nr, sizeof(*m->column), by_field);
	return rc;
}

/* The bytes of a column. */
static const struct buf *values_make_encode(struct maker *m, const struct column *c)
{
	uint32_t last = 0;
	buf_reset(&m->rows);
	for (size_t i = 0; c->field != VALUE_TIME && i < c->nr; i++) {
		leb128_put(&m->rows, c->pair[i].index - last);
		if (values_has_numbers(c->field))
			leb128_put(&m->rows, (uint64_t)c->pair[i].value - (uint64_t)c->low);
		last = c->pair[i].index;
	}
	return &m->rows;
}

/* --- writing ---------------------------------------------------------------------------------- */

static int values_make_put(sqlite3_stmt *st, int64_t place, int64_t low, int64_t high,
			   const void *rows, size_t len)
{
	sqlite3_bind_int64(st, 1, place);
	sqlite3_bind_int64(st, 2, low);
	sqlite3_bind_int64(st, 3, high);
	sqlite3_bind_blob64(st, 4, len ? rows : "", len, SQLITE_STATIC);
	int rc = sqlite3_step(st);
	sqlite3_reset(st);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int values_make_put_block(struct maker *m, sqlite3_stmt *st)
{
	int rc = SQLITE_OK;
	for (size_t i = 0; rc == SQLITE_OK && i < m->nr; i++) {
		const struct column *c = &m->column[i];
		const struct buf *rows = values_make_encode(m, c);
		rc = values_make_put(st, values_place(m->block, c->field), c->low, c->high,
				     rows->data, rows->len);
	}
	return rc;
}

/* Of the blocks from @from on, before @to. */
static int values_make_drop(sqlite3 *db, uint64_t from, int64_t to)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db, "DELETE FROM search_value WHERE place >= ?1 AND place < ?2",
				    -1, &st, NULL);
	if (rc == SQLITE_OK) {
		sqlite3_bind_int64(st, 1, values_place(from, 0));
		sqlite3_bind_int64(st, 2, to);
		rc = sqlite3_step(st) == SQLITE_DONE ? SQLITE_OK : SQLITE_ERROR;
	}
	sqlite3_finalize(st);
	return rc;
}

static int values_make_add_blocks(struct maker *m, uint64_t block, uint64_t end, bool *stop)
{
	sqlite3_stmt *st = NULL;
	/* what stands beside the blocks that count would be in the way */
	int rc = values_make_drop(m->db, block, INT64_MAX);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(m->db, "DELETE FROM search_value WHERE place < 0", NULL, NULL,
				  NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(m->db, "INSERT INTO search_value VALUES(?1, ?2, ?3, ?4)",
					-1, &st, NULL);
	for (*stop = false; rc == SQLITE_OK && block < end && !*stop; block++) {
		rc = values_make(m, block, stop);
		if (rc == SQLITE_OK)
			rc = values_make_put_block(m, st);
		else if (rc == SQLITE_DONE && *stop)
			rc = values_make_put(st, values_place(block, VALUE_TIME), 0, 0, "", 1);
	}
	sqlite3_finalize(st);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int values_add(sqlite3 *db, uint64_t upto, bool *left_out)
{
	struct maker m;
	uint64_t last = 0, block = 0, end = upto / VALUES_BLOCK;
	bool stop = false;
	if (values_last(db, end, &last, &stop))
		block = last + 1;
	*left_out = !stop && end > block + AT_ONCE;
	if (stop || end <= block)
		return SQLITE_OK;
	int rc = maker_init(&m, db);
	if (rc == SQLITE_OK)
		rc = values_make_add_blocks(&m, block, *left_out ? block + AT_ONCE : end, &stop);
	*left_out = *left_out && !stop;
	maker_release(&m);
	return rc;
}

int values_again(sqlite3 *db, uint64_t seq)
{
	struct maker m;
	sqlite3_stmt *st = NULL;
	uint64_t block = (seq - 1) / VALUES_BLOCK, last = 0;
	bool stop = false;
	if (!seq || !values_last(db, UINT32_MAX, &last, &stop) || block > last ||
	    (stop && block == last))
		return SQLITE_OK;
	int rc = maker_init(&m, db);
	if (rc == SQLITE_OK)
		rc = values_make(&m, block, &stop);
	if (rc == SQLITE_OK)
		rc = values_make_drop(db, block, values_place(block + 1, 0));
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db, "INSERT INTO search_value VALUES(?1, ?2, ?3, ?4)", -1,
					&st, NULL);
	if (rc == SQLITE_OK)
		rc = values_make_put_block(&m, st);
	sqlite3_finalize(st);
	maker_release(&m);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* --- checking --------------------------------------------------------------------------------- */

static void mark_open(void *self, uint32_t index, int64_t value)
{
	bool *listed = self;
	(void)value;
	listed[index] = true;
}

/* Actions may have ended since. */
static bool lists_open(const struct column *c, sqlite3_stmt *st)
{
	bool listed[VALUES_BLOCK] = { 0 };
	if (!values_decode(VALUE_OPEN, 0, sqlite3_column_blob(st, 3),
			   (size_t)sqlite3_column_bytes(st, 3), mark_open, listed))
		return false;
	for (size_t i = 0; c && i < c->nr; i++)
		if (!listed[c->pair[i].index])
			return false;
	return true;
}

static bool column_is(struct maker *m, const struct column *c, sqlite3_stmt *st)
{
	const struct buf *rows = values_make_encode(m, c);
	return sqlite3_column_int64(st, 1) == c->low && sqlite3_column_int64(st, 2) == c->high &&
	       (size_t)sqlite3_column_bytes(st, 3) == rows->len &&
	       (!rows->len || !memcmp(sqlite3_column_blob(st, 3), rows->data, rows->len));
}

/* Do the rows of the block say what was made of it? */
static int values_make_block_is(struct maker *m, sqlite3_stmt *st, bool *same)
{
	size_t at = 0;
	int rc;
	*same = true;
	sqlite3_bind_int64(st, 1, values_place(m->block, 0));
	sqlite3_bind_int64(st, 2, values_place(m->block + 1, 0));
	while ((rc = sqlite3_step(st)) == SQLITE_ROW && *same) {
		int field = (int)(sqlite3_column_int64(st, 0) - values_place(m->block, 0));
		const struct column *c =
			at < m->nr && m->column[at].field == field ? &m->column[at++] : NULL;
		*same = field == VALUE_OPEN ? lists_open(c, st) : c && column_is(m, c, st);
	}
	sqlite3_reset(st);
	*same = *same && at == m->nr;
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int values_make_count(sqlite3 *db, const char *sql, int64_t bind, uint64_t *out)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, bind);
	rc = sqlite3_step(st);
	*out = rc == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(st, 0) : 0;
	sqlite3_finalize(st);
	return rc == SQLITE_ROW ? SQLITE_OK : rc;
}

static int check_blocks(struct maker *m, uint64_t blocks, bool stops, uint64_t *wrong)
{
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(
		m->db,
		"SELECT place, low, high, rows FROM search_value WHERE place >= ?1 AND place < ?2 ORDER BY place",
		-1, &st, NULL);
	for (uint64_t b = 0; rc == SQLITE_OK && b < blocks && !*wrong; b++) {
		bool stop, same = false;
		rc = values_make(m, b, &stop);
		if (rc == SQLITE_OK)
			rc = values_make_block_is(m, st, &same);
		else if (rc == SQLITE_DONE) {
			same = stop && stops && b == blocks - 1;
			rc = SQLITE_OK;
		}
		*wrong = same ? 0 : b * VALUES_BLOCK + 1;
	}
	sqlite3_finalize(st);
	return rc;
}

int values_check(sqlite3 *db, uint64_t *wrong)
{
	struct maker m;
	uint64_t last = 0, head = 0, beside = 0;
	bool stop = false;
	*wrong = 0;
	if (sqlite3_table_column_metadata(db, "main", "search_value", NULL, NULL, NULL, NULL, NULL,
					  NULL) != SQLITE_OK)
		return SQLITE_OK; /* a file from before there were any */
	int rc = values_make_count(db, "SELECT max(seq) FROM event WHERE ?1", 1, &head);
	/* a block that tells of the end stands where the next would */
	uint64_t most = head / VALUES_BLOCK + 1;
	if (rc == SQLITE_OK)
		rc = values_make_count(
			db, "SELECT count(*) FROM search_value WHERE place < 0 OR place >= ?1",
			values_place(most < UINT32_MAX ? most : UINT32_MAX, 0), &beside);
	bool any = rc == SQLITE_OK && values_last(db, most, &last, &stop);
	if (beside || (any && !stop && last >= head / VALUES_BLOCK))
		*wrong = head + 1;
	if (rc != SQLITE_OK || !any || *wrong)
		return rc;
	rc = maker_init(&m, db);
	if (rc == SQLITE_OK)
		rc = check_blocks(&m, last + 1, stop, wrong);
	maker_release(&m);
	return rc;
}
