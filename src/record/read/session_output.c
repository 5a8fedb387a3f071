/* Part of session.c: output of actions, whole and in the order in which it came. */
#include <inttypes.h>

#include "record/read/read_priv.h"
#include "record/read/session.h"

/* --- output ----------------------------------------------------------------------------------- */

uint64_t session_output_size(struct session *s, uint64_t action, int stream)
{
	struct err err;
	uint64_t size = 0;
	sqlite3_stmt *st = session_sql(s, READ_SIZE, &err);
	if (!st)
		return 0;
	sqlite3_bind_int64(st, 1, (int64_t)action);
	sqlite3_bind_int(st, 2, stream);
	if (sqlite3_step(st) == SQLITE_ROW && sqlite3_column_int64(st, 0) > 0)
		size = (uint64_t)sqlite3_column_int64(st, 0);
	sqlite3_reset(st);
	return size;
}

/* Appends "<redacted 512 bytes>", filled up with spaces to @len so that offsets stay what they
 * are. */
static void put_redacted(struct buf *out, size_t len)
{
	size_t before = out->len;
	buf_printf(out, "<redacted %zu bytes>", len);
	if (out->len > before + len) {
		out->len = before + len;
		out->data[out->len] = 0;
	}
	while (out->len < before + len)
		buf_putc(out, ' ');
}

enum { REDACTED_MAX = 64 << 20 }; /* a thousand times what one segment holds */

static int segment_bytes(sqlite3_stmt *st, int at_len, int at, struct buf *out, struct err *err)
{
	size_t len;
	buf_reset(out);
	if (!bytes_column(st, at_len, &len, err))
		return -1;
	if (read_session_unpack(st, at, len, out, err) == 0)
		return 0;
	if (err->code != ERR_CANCELLED)
		return -1;
	if (len > REDACTED_MAX)
		return err_set(err, ERR_DAMAGED, "a redacted output has a length out of range: %zu",
			       len);
	*err = ERR_INIT; /* a caller may test it after several reads */
	put_redacted(out, len);
	return 0;
}

int session_output(struct session *s, uint64_t action, int stream, uint64_t off, size_t max,
		   struct buf *out, struct err *err)
{
	CLEANUP(buf_release) struct buf piece = BUF_INIT;
	sqlite3_stmt *st = session_sql(s, READ_OUTPUT, err);
	uint64_t end = max > (uint64_t)INT64_MAX - off ? (uint64_t)INT64_MAX : off + max;
	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, (int64_t)action);
	sqlite3_bind_int(st, 2, stream);
	sqlite3_bind_int64(st, 3, (int64_t)off);
	sqlite3_bind_int64(st, 4, (int64_t)end);
	int rc, result = 0;
	while (result == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		uint64_t from = (uint64_t)sqlite3_column_int64(st, 0);
		result = segment_bytes(st, 1, 2, &piece, err);
		size_t len = piece.len;
		if (result == 0 && from > INT64_MAX - CODEC_MAX)
			result = err_set(err, ERR_DAMAGED, "an output offset is out of range");
		if (result < 0 || from + len <= off)
			continue;
		size_t skip = from < off ? (size_t)(off - from) : 0;
		size_t n = len - skip;
		if (from + len > end)
			n -= (size_t)(from + len - end);
		buf_append(out, piece.data + skip, n);
	}
	if (result == 0 && rc != SQLITE_DONE)
		result = session_failed(s, err);
	sqlite3_reset(st);
	return result;
}

/* One stream's segments, read chunk by chunk. */
struct chunks {
	int stream;
	uint64_t next_off;
	struct buf data, times;
	size_t at, time_at; /* in data and times */
	int64_t ts_us;
	size_t len; /* of the present chunk; 0 = none left */
};

static uint64_t read_session_get_number(const struct buf *b, size_t *at)
{
	uint64_t v = 0;
	for (unsigned shift = 0; *at < b->len && shift < 64; shift += 7) {
		uint8_t c = (uint8_t)b->data[(*at)++];
		v |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80))
			break;
	}
	return v;
}

static int load_segment(struct session *s, uint64_t action, struct chunks *c, struct err *err)
{
	sqlite3_stmt *st = session_sql(s, READ_EACH, err);
	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, (int64_t)action);
	sqlite3_bind_int(st, 2, c->stream);
	sqlite3_bind_int64(st, 3, (int64_t)c->next_off);
	int rc = sqlite3_step(st), result = 0;
	c->at = c->time_at = 0;
	buf_reset(&c->times);
	buf_reset(&c->data);
	if (rc == SQLITE_ROW) {
		c->ts_us = sqlite3_column_int64(st, 2);
		buf_append(&c->times, sqlite3_column_blob(st, 3),
			   (size_t)sqlite3_column_bytes(st, 3));
		result = segment_bytes(st, 1, 4, &c->data, err);
	} else if (rc != SQLITE_DONE) {
		result = session_failed(s, err);
	}
	sqlite3_reset(st);
	return result;
}

static int next_chunk(struct session *s, uint64_t action, struct chunks *c, struct err *err)
{
	c->at += c->len;
	c->next_off += c->len;
	c->len = 0;
	if (c->at == c->data.len && load_segment(s, action, c, err) < 0)
		return -1;
	if (c->at == c->data.len)
		return 0;
	c->ts_us += (int64_t)read_session_get_number(&c->times, &c->time_at);
	c->len = (size_t)read_session_get_number(&c->times, &c->time_at);
	size_t left = c->data.len - c->at;
	if (!c->len || c->len > left) /* no times: redacted */
		c->len = left;
	return 0;
}

int session_output_each(struct session *s, uint64_t action, session_output_fn *fn, void *self,
			struct err *err)
{
	struct chunks c[3] = { { .stream = 1 }, { .stream = 2 }, { .stream = 3 } };
	int result = 0;
	for (size_t i = 0; i < ARRAY_LEN(c) && result == 0; i++)
		result = next_chunk(s, action, &c[i], err);
	while (result == 0) {
		struct chunks *first = NULL;
		for (size_t i = 0; i < ARRAY_LEN(c); i++)
			if (c[i].len && (!first || c[i].ts_us < first->ts_us))
				first = &c[i];
		if (!first || !fn(self, first->stream, first->ts_us, first->data.data + first->at,
				  first->len))
			break;
		result = next_chunk(s, action, first, err);
	}
	for (size_t i = 0; i < ARRAY_LEN(c); i++) {
		buf_release(&c[i].data);
		buf_release(&c[i].times);
	}
	return result;
}

int session_segment_each(struct session *s, uint64_t segment, session_output_fn *fn, void *self,
			 struct err *err)
{
	CLEANUP(buf_release) struct buf data = BUF_INIT, times = BUF_INIT;
	sqlite3_stmt *st = session_sql(s, READ_SEGMENT, err);
	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, (int64_t)segment);
	int rc = sqlite3_step(st), result = 0, stream = 0;
	int64_t ts_us = 0;
	if (rc == SQLITE_ROW) {
		stream = sqlite3_column_int(st, 0);
		ts_us = sqlite3_column_int64(st, 2);
		buf_append(&times, sqlite3_column_blob(st, 3), (size_t)sqlite3_column_bytes(st, 3));
		result = segment_bytes(st, 1, 4, &data, err);
	} else if (rc != SQLITE_DONE) {
		result = session_failed(s, err);
	} else {
		result = err_set(err, ERR_NOENT, "session '%s' has no segment %" PRIu64, s->id,
				 segment);
	}
	sqlite3_reset(st);
	for (size_t at = 0, time_at = 0, n; result == 0 && at < data.len; at += n) {
		ts_us += (int64_t)read_session_get_number(&times, &time_at);
		n = (size_t)read_session_get_number(&times, &time_at);
		if (!n || n > data.len - at) /* no times: redacted */
			n = data.len - at;
		if (!fn(self, stream, ts_us, data.data + at, n))
			break;
	}
	return result;
}
