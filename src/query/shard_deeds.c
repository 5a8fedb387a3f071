/* Actions of a shard's sessions, as `policy past` judges them. */
#include <stdlib.h>

#include "base/leb128.h"
#include "query/shard_priv.h"

size_t shard_deed_count(struct shard *s)
{
	sqlite3_stmt *st = shard_select(s, "SELECT max(n) FROM deed");
	size_t nr = 0;
	if (shard_step(s, st) == SQLITE_ROW && sqlite3_column_type(st, 0) == SQLITE_INTEGER)
		nr = (size_t)sqlite3_column_int64(st, 0) + 1;
	sqlite3_finalize(st);
	return nr;
}

int shard_deeds_each(struct shard *s, uint32_t from, uint32_t to, shard_deed_fn *fn, void *self)
{
	sqlite3_stmt *st =
		shard_select(s, "SELECT n,body FROM deed WHERE n>=?1 AND n<?2 ORDER BY n");
	int rc = SQLITE_ERROR;
	sqlite3_bind_int64(st, 1, from);
	sqlite3_bind_int64(st, 2, to);
	while ((rc = shard_step(s, st)) == SQLITE_ROW)
		fn(self, (uint32_t)sqlite3_column_int64(st, 0),
		   (const char *)sqlite3_column_text(st, 1), (size_t)sqlite3_column_bytes(st, 1));
	sqlite3_finalize(st);
	return rc == SQLITE_DONE ? 0 : -1;
}

int shard_deeds_of(struct shard *s, size_t i, struct shard_deed **out, size_t *nr_out)
{
	sqlite3_stmt *st = shard_select(s, "SELECT deeds FROM done WHERE n=?1");
	size_t nr = 0, cap = 0;
	struct shard_deed *list = NULL;
	uint64_t id = 0, more, deed;
	int rc = -1;
	sqlite3_bind_int64(st, 1, (sqlite3_int64)i);
	if (shard_step(s, st) == SQLITE_ROW) {
		const uint8_t *p = sqlite3_column_blob(st, 0),
			      *end = p ? p + sqlite3_column_bytes(st, 0) : p;
		while (p < end && leb128_get(&p, end, &more) && leb128_get(&p, end, &deed)) {
			GROW(list, nr, cap);
			list[nr++] = (struct shard_deed){ id += more, (uint32_t)deed };
		}
		rc = p == end ? 0 : -1;
	}
	sqlite3_finalize(st);
	if (rc < 0)
		free(take(&list));
	*out = list;
	*nr_out = rc < 0 ? 0 : nr;
	return rc;
}
