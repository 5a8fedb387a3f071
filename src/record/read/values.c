/* Queries of the blocks; values_make.c writes them. */
#include "record/read/values.h"

#include <string.h>

#include "base/leb128.h"
#include "base/mem.h"

enum { ROW_MOST = 20 * VALUES_BLOCK /* bytes: a pair has at most nineteen */ };

/* The head of a block, its odd list, and the field. A blob above the maximum length was not written
 * by a recorder. */
static const char values_block_sql[] =
	"SELECT place & 0xfffff, low, high, CASE WHEN length(rows) <= ?4 THEN rows END FROM search_value"
	" WHERE place IN (?1, ?2, ?3) ORDER BY place";

int64_t value_of_text(const char *text)
{
	uint32_t h = 2166136261u;
	for (; *text; text++) {
		uint8_t c = (uint8_t)*text;
		if (c < 0x80) /* what is a letter beyond that is a matter of the locale */
			h = (h ^ (c >= 'A' && c <= 'Z' ? c | 0x20u : c)) * 16777619u;
	}
	return h;
}

bool values_has_numbers(int field)
{
	return field >= VALUE_EXIT && field < VALUE_ODD;
}

int64_t values_place(uint64_t block, int field)
{
	return (int64_t)(block << VALUES_FIELDS) + field;
}

bool values_last(sqlite3 *db, uint64_t limit, uint64_t *block, bool *stop)
{
	static const char sql[] =
		"SELECT place >> ?2, EXISTS(SELECT 1 FROM search_value h WHERE h.place = v.place >> ?2 << ?2 AND length(h.rows) > 0)"
		" FROM search_value v WHERE place >= 0 AND place < ?1 << ?2 ORDER BY place DESC LIMIT 1";
	sqlite3_stmt *st = NULL;
	bool there = false;
	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK) {
		sqlite3_bind_int64(st, 1, (int64_t)(limit < 1u << 31 ? limit : 1u << 31));
		sqlite3_bind_int(st, 2, VALUES_FIELDS);
		there = sqlite3_step(st) == SQLITE_ROW;
		*block = there ? (uint64_t)sqlite3_column_int64(st, 0) : 0;
		*stop = there && sqlite3_column_int(st, 1);
	}
	sqlite3_finalize(st);
	return there;
}

/* A block that reaches further than the events was not put there by a recorder. */
void values_init(struct values *v, sqlite3 *db)
{
	static const char reach[] = "SELECT max(seq) FROM event";
	sqlite3_stmt *st = NULL;
	uint64_t block;
	*v = (struct values){ .db = db };
	if (sqlite3_prepare_v2(db, reach, -1, &st, NULL) == SQLITE_OK &&
	    sqlite3_step(st) == SQLITE_ROW && sqlite3_column_int64(st, 0) > 0 &&
	    values_last(db, (uint64_t)sqlite3_column_int64(st, 0) / VALUES_BLOCK, &block,
			&v->ended))
		v->covered = (block + !v->ended) * VALUES_BLOCK;
	sqlite3_finalize(st);
}

void values_release(struct values *v)
{
	sqlite3_finalize(v->st);
	v->st = NULL;
}

bool values_decode(int field, int64_t low, const void *rows, size_t len, values_pair_fn *fn,
		   void *self)
{
	const uint8_t *p = rows, *end = p + len;
	bool numbers = values_has_numbers(field);
	uint64_t index = 0, gap, above = 0;
	while (p < end) {
		if (!leb128_get(&p, end, &gap) || gap >= VALUES_BLOCK ||
		    (numbers && !leb128_get(&p, end, &above)))
			return false;
		index += gap;
		if (index >= VALUES_BLOCK)
			return false;
		fn(self, (uint32_t)index, (int64_t)((uint64_t)low + above));
	}
	return true;
}

struct asked {
	values_fn *fn;
	void *self;
	uint64_t first; /* of the block */
	int64_t low, high;
	bool odd;
};

static void on_pair(void *self, uint32_t index, int64_t value)
{
	const struct asked *a = self;
	if (a->odd || (value >= a->low && value <= a->high))
		a->fn(a->self, a->first + index, value, a->odd);
}

static void values_tell_all(const struct asked *a, bool odd)
{
	for (uint64_t i = 0; i < VALUES_BLOCK; i++)
		a->fn(a->self, a->first + i, a->low, odd);
}

/* False: it does not say what it should. */
static bool tell_row(struct asked *a, int field, sqlite3_stmt *st)
{
	int64_t low = sqlite3_column_int64(st, 1), high = sqlite3_column_int64(st, 2);
	a->odd = field == VALUE_ODD;
	if (values_has_numbers(field) && (high < a->low || low > a->high))
		return true;
	if (!sqlite3_column_blob(st, 3) || !sqlite3_column_bytes(st, 3))
		return false;
	return values_decode(field, low, sqlite3_column_blob(st, 3),
			     (size_t)sqlite3_column_bytes(st, 3), on_pair, a);
}

static int values_one_block(struct values *v, uint64_t block, int field, struct asked *a)
{
	bool head = false, whole = true;
	int rc;
	a->first = block * VALUES_BLOCK + 1;
	sqlite3_bind_int64(v->st, 1, values_place(block, VALUE_TIME));
	sqlite3_bind_int64(v->st, 2, values_place(block, VALUE_ODD));
	sqlite3_bind_int64(v->st, 3, values_place(block, field));
	while ((rc = sqlite3_step(v->st)) == SQLITE_ROW) {
		int is = sqlite3_column_int(v->st, 0);
		head = head || is == VALUE_TIME;
		if (is != VALUE_TIME && whole)
			whole = tell_row(a, is, v->st);
		else if (field == VALUE_TIME && sqlite3_column_int64(v->st, 1) <= a->high &&
			 sqlite3_column_int64(v->st, 2) >= a->low)
			values_tell_all(a, false);
	}
	sqlite3_reset(v->st);
	if (!head || !whole)
		values_tell_all(a, true);
	return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int values_each(struct values *v, int field, uint64_t after, uint64_t upto, int64_t low,
		int64_t high, values_fn *fn, void *self, struct err *err)
{
	struct asked a = { .fn = fn, .self = self, .low = low, .high = high };
	int rc = SQLITE_OK;
	upto = upto < v->covered ? upto : v->covered;
	if (upto <= after)
		return 0;
	if (!v->st &&
	    (rc = sqlite3_prepare_v2(v->db, values_block_sql, -1, &v->st, NULL)) == SQLITE_OK)
		sqlite3_bind_int(v->st, 4, ROW_MOST);
	for (uint64_t block = after / VALUES_BLOCK;
	     rc == SQLITE_OK && block <= (upto - 1) / VALUES_BLOCK; block++)
		rc = values_one_block(v, block, field, &a);
	return rc == SQLITE_OK ? 0 : err_set(err, ERR_DAMAGED, "search: %s", sqlite3_errmsg(v->db));
}
