/* Blocks of the search index in a foreign session file: the steps of 4096 events, and the numbers and lists of events.
 * An answer is never outside of the events, whatever a block says. */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "record/read/schema.h"
#include "record/read/steps.h"
#include "record/read/values.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { EVENTS = 2 * STEPS_BLOCK };

static sqlite3 *db;

static void run(const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		abort();
}

static void begin(void)
{
	if (sqlite3_open(":memory:", &db) != SQLITE_OK)
		abort();
	run(schema_tables());
	run(schema_views());
	run("INSERT INTO event VALUES(8192, 0, 0, 0, 0, 0, 0, 1, NULL, NULL, x'00', x'00');"
	    "INSERT INTO mark VALUES('indexed', 8192)");
}

static void put(const char *sql, int64_t key, int64_t low, int64_t high, const void *rows, size_t len)
{
	sqlite3_stmt *st = NULL;
	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
		abort();
	sqlite3_bind_int64(st, 1, key);
	sqlite3_bind_int64(st, 2, low);
	sqlite3_bind_int64(st, 3, high);
	sqlite3_bind_blob(st, 4, rows, (int)len, SQLITE_STATIC);
	(void)sqlite3_step(st); /* NULL for no bytes is refused */
	sqlite3_finalize(st);
}

static void check_steps(void)
{
	struct steps t;
	struct err err = ERR_INIT;
	CLEANUP(buf_release) struct buf open = BUF_INIT;
	steps_init(&t, db);
	if (t.covered > EVENTS)
		abort();
	for (uint64_t seq = 1; seq <= EVENTS; seq += 101) {
		uint64_t owner = steps_owner(&t, seq), reach = steps_reach(&t, 0, seq);
		if (owner > seq || owner == 0 || reach < seq || reach > EVENTS)
			abort();
	}
	(void)!steps_open(&t, 0, EVENTS, 1, &open, &err);
	steps_release(&t);
}

struct seen {
	int64_t low, high;
};

static void on_value(void *self, uint64_t seq, int64_t value, bool odd)
{
	const struct seen *s = self;
	if (seq < 1 || seq > EVENTS || (!odd && (value < s->low || value > s->high)))
		abort();
}

static void check_values(int field, int64_t low)
{
	struct values v;
	struct err err = ERR_INIT;
	struct seen s = { low, low < INT64_MAX - 1000 ? low + 1000 : INT64_MAX };
	values_init(&v, db);
	if (v.covered > EVENTS)
		abort();
	(void)!values_each(&v, field, 0, EVENTS, s.low, s.high, on_value, &s, &err);
	values_release(&v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int64_t low, high;
	if (size < 24 || size > 1 << 16)
		return 0;
	if (!db)
		begin();
	run("DELETE FROM search_row; DELETE FROM search_value");
	memcpy(&low, data + 4, sizeof(low));
	memcpy(&high, data + 12, sizeof(high));
	size_t half = 20 + (size - 20) * data[1] / 255;
	int field = VALUE_EXIT + data[0] % 12;
	put("INSERT INTO search_row(block, reach, rows) VALUES(?1, ?2, ?4)", 0, high, 0, data + 20, half - 20);
	put("INSERT INTO search_row(block, reach, rows) VALUES(?1, ?2, ?4)", 1, low, 0, data + half, size - half);
	put("INSERT INTO search_value(place, low, high, rows) VALUES(?1, ?2, ?3, ?4)", values_place(0, VALUE_TIME), low, high, data, 4);
	put("INSERT INTO search_value(place, low, high, rows) VALUES(?1, ?2, ?3, ?4)", values_place(0, field), low, high, data + half,
	    size - half);
	put("INSERT INTO search_value(place, low, high, rows) VALUES(?1, ?2, ?3, ?4)", values_place(1, field), low, high, data + 20,
	    half - 20);
	check_steps();
	check_values(field, low);
	return 0;
}
