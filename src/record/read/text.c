#include "record/read/text.h"

#include <string.h>

#include "base/text/screen_words.h"
#include "base/text/utf8.h"
#include "base/text/width.h"
#include "record/read/codec.h"
#include "wire/event.h"

static sqlite3_stmt *read_text_prepared(struct text_reader *t, sqlite3_stmt **st, const char *sql,
					struct err *err)
{
	if (!*st &&
	    sqlite3_prepare_v3(t->db, sql, -1, SQLITE_PREPARE_PERSISTENT, st, NULL) != SQLITE_OK)
		err_set(err, ERR_IO, "can't read the session file: %s", sqlite3_errmsg(t->db));
	return *st;
}

void text_reader_release(struct text_reader *t)
{
	sqlite3_finalize(t->event);
	sqlite3_finalize(t->segment);
	t->event = t->segment = NULL;
}

static int segment_text(struct text_reader *t, uint64_t seq, struct buf *out, struct err *err)
{
	sqlite3_stmt *st = read_text_prepared(
		t, &t->segment, "SELECT len, codec, data FROM segment WHERE seq = ?1", err);
	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, (int64_t)seq);
	int result = 0, rc = sqlite3_step(st);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		result = err_set(err, ERR_IO, "can't read the session file: %s",
				 sqlite3_errmsg(t->db));
	else if (rc == SQLITE_ROW && sqlite3_column_type(st, 2) != SQLITE_NULL)
		result = codec_unpack((enum codec)sqlite3_column_int(st, 1),
				      sqlite3_column_blob(st, 2),
				      (size_t)sqlite3_column_bytes(st, 2),
				      (size_t)sqlite3_column_int64(st, 0), out, err) < 0
				 ? -1
				 : 1;
	sqlite3_reset(st);
	return result;
}

/* Behind the bytes themselves, which an older index has, and which verify looks for first. */
static void text_add_words(struct buf *out)
{
	CLEANUP(buf_release) struct buf words = BUF_INIT;
	if (!out->len || !memchr(out->data, 0x1b, out->len))
		return;
	screen_words(out->data, out->len, &words);
	buf_putc(out, '\n');
	buf_append(out, words.data, words.len);
}

int text_of_event(struct text_reader *t, uint64_t seq, struct buf *out, struct err *err)
{
	sqlite3_stmt *st = read_text_prepared(t, &t->event,
					      "SELECT kind, body FROM event WHERE seq = ?1", err);
	if (!st)
		return -1;
	buf_reset(out);
	sqlite3_bind_int64(st, 1, (int64_t)seq);
	int result = 0, kind = 0, rc = sqlite3_step(st);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
		result = err_set(err, ERR_IO, "can't read the session file: %s",
				 sqlite3_errmsg(t->db));
	} else if (rc == SQLITE_ROW && sqlite3_column_type(st, 1) != SQLITE_NULL) {
		kind = sqlite3_column_int(st, 0);
		buf_append(out, sqlite3_column_text(st, 1), (size_t)sqlite3_column_bytes(st, 1));
		result = 1;
	}
	sqlite3_reset(st);
	if (kind == EV_TERMINAL_SCREEN) /* the output has the same text */
		return 0;
	if (result == 1 && kind == EV_OUTPUT) {
		bool terminal = strstr(buf_cstr(out), "\"stream\":3") != NULL;
		buf_reset(out);
		result = segment_text(t, seq, out, err);
		if (result == 1 && terminal)
			text_add_words(out);
	}
	return result;
}

void text_fold(const char *bytes, size_t len, struct buf *out)
{
	buf_reset(out);
	while (len) {
		/* ASCII first, in one step: most text is */
		size_t n = 0;
		buf_reserve(out, len);
		char *to = out->data + out->len;
		for (; n < len && (uint8_t)bytes[n] < 0x80; n++)
			to[n] = (char)(bytes[n] | (bytes[n] >= 'A' && bytes[n] <= 'Z' ? 0x20 : 0));
		out->len += n;
		out->data[out->len] = 0;
		bytes += n;
		len -= n;
		if (!len)
			break;
		size_t used = 1;
		uint32_t cp = 0;
		char utf8[4];
		if (utf8_next(bytes, len, &cp, &used) == UTF8_OK)
			buf_append(out, utf8, utf8_put(text_lower(cp), utf8));
		else
			buf_append(out, bytes, used);
		bytes += used;
		len -= used;
	}
}
