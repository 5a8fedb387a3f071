#include "record/read/text.h"

#include "record/read/codec.h"
#include "wire/event.h"

static int segment_text(sqlite3 *db, uint64_t seq, struct buf *out, struct err *err)
{
	sqlite3_stmt *st;
	if (sqlite3_prepare_v2(db, "SELECT len, codec, data FROM segment WHERE seq = ?1", -1, &st, NULL) != SQLITE_OK)
		return err_set(err, ERR_IO, "cannot read output: %s", sqlite3_errmsg(db));
	sqlite3_bind_int64(st, 1, (int64_t)seq);
	int result = 0;
	if (sqlite3_step(st) == SQLITE_ROW && sqlite3_column_type(st, 2) != SQLITE_NULL)
		result = codec_unpack((enum codec)sqlite3_column_int(st, 1), sqlite3_column_blob(st, 2),
				      (size_t)sqlite3_column_bytes(st, 2), (size_t)sqlite3_column_int64(st, 0), out, err) < 0
				 ? -1
				 : 1;
	sqlite3_finalize(st);
	return result;
}

int text_of_event(sqlite3 *db, uint64_t seq, struct buf *out, struct err *err)
{
	sqlite3_stmt *st;
	buf_reset(out);
	if (sqlite3_prepare_v2(db, "SELECT kind, body FROM event WHERE seq = ?1", -1, &st, NULL) != SQLITE_OK)
		return err_set(err, ERR_IO, "cannot read an event: %s", sqlite3_errmsg(db));
	sqlite3_bind_int64(st, 1, (int64_t)seq);
	int result = 0, kind = 0;
	if (sqlite3_step(st) == SQLITE_ROW && sqlite3_column_type(st, 1) != SQLITE_NULL) {
		kind = sqlite3_column_int(st, 0);
		buf_append(out, sqlite3_column_text(st, 1), (size_t)sqlite3_column_bytes(st, 1));
		result = 1;
	}
	sqlite3_finalize(st);
	if (result == 1 && kind == EV_OUTPUT) {
		buf_reset(out);
		return segment_text(db, seq, out, err);
	}
	return result;
}
