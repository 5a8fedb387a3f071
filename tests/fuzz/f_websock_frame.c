/* Frames of WebSocket: an accepted frame is the same in chunks of any size and follows the rules. A reader accepts
 * our frames. */
#include <stdlib.h>
#include <string.h>

#include "http/websock_frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct seen {
	struct buf all;
	size_t nr;
	bool closed;
};

static bool note(void *self, enum websock_op op, const void *bytes, size_t len)
{
	struct seen *s = self;
	if (s->closed || (op >= WS_CLOSE && len > WS_CONTROL_MAX) || op == WS_MORE)
		abort();
	s->closed = op == WS_CLOSE;
	s->nr++;
	buf_putc(&s->all, (char)op);
	buf_u32le(&s->all, (uint32_t)len);
	buf_append(&s->all, bytes, len);
	return true;
}

static int run(bool of_client, const uint8_t *data, size_t len, size_t step, struct seen *s)
{
	struct websock_reader r = { .on_message = note, .self = s, .of_client = of_client };
	const char *why = NULL;
	int rc = 0;
	for (size_t at = 0; rc == 0 && at < len; at += step)
		rc = websock_feed(&r, data + at, len - at < step ? len - at : step, &why);
	if (rc < 0 && !(why && *why))
		abort();
	websock_reader_release(&r);
	return rc;
}

/* Our frames as a client or as a server are accepted by the other side. */
static void round_trip(bool of_client, const uint8_t *data, size_t len)
{
	struct buf b = BUF_INIT;
	struct seen s = { 0 };
	if (of_client)
		websock_frame(&b, WS_BYTES, data, len);
	else
		websock_frame_plain(&b, WS_BYTES, data, len);
	if (run(of_client, (const uint8_t *)b.data, b.len, b.len, &s) != 0 || s.nr != 1 || s.all.len != len + 5 ||
	    (len && memcmp(s.all.data + 5, data, len) != 0))
		abort();
	buf_release(&b);
	buf_release(&s.all);
}

static void both_ways(bool of_client, const uint8_t *data, size_t len)
{
	struct seen whole = { 0 }, cut = { 0 };
	int a = run(of_client, data, len, len ? len : 1, &whole), b = run(of_client, data, len, 1, &cut);
	if (a != b || whole.nr != cut.nr || whole.all.len != cut.all.len || memcmp(buf_cstr(&whole.all), buf_cstr(&cut.all), cut.all.len) != 0)
		abort();
	buf_release(&whole.all);
	buf_release(&cut.all);
	round_trip(of_client, data, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	both_ways(false, data, len);
	both_ways(true, data, len);
	return 0;
}
