#include "base/text/json_stream.h"

#include <stdlib.h>

#include "base/mem.h"

struct json_pipe {
	FILE *to;
	struct json_held held;
};

void json_stream_rest(struct json_held *held, struct buf *out)
{
	buf_append(out, held->byte, held->nr);
	held->nr = 0;
}

/* UTF-8: C2 80..9F, and E2 80 A8 or A9. */
static void json_escape_byte(struct json_held *h, unsigned char c, struct buf *out)
{
	if (h->nr == 1 && h->byte[0] == 0xc2 && c >= 0x80 && c <= 0x9f) {
		h->nr = 0;
		buf_printf(out, "\\u%04x", (unsigned)c);
		return;
	}
	if (h->nr == 1 && h->byte[0] == 0xe2 && c == 0x80) {
		h->byte[h->nr++] = c;
		return;
	}
	if (h->nr == 2 && (c == 0xa8 || c == 0xa9)) {
		h->nr = 0;
		buf_printf(out, "\\u%04x", 0x2000U + c - 0x80);
		return;
	}
	json_stream_rest(h, out);
	if (c == 0xc2 || c == 0xe2)
		h->byte[h->nr++] = c;
	else if (c == 0x7f)
		buf_puts(out, "\\u007f");
	else
		buf_putc(out, (char)c);
}

void json_stream_escape(struct json_held *held, const char *bytes, size_t len, struct buf *out)
{
	for (size_t i = 0; i < len; i++)
		json_escape_byte(held, (unsigned char)bytes[i], out);
}

static ssize_t json_pipe_write(void *cookie, const char *bytes, size_t len)
{
	struct json_pipe *p = cookie;
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	json_stream_escape(&p->held, bytes, len, &out);
	if (fwrite(buf_cstr(&out), 1, out.len, p->to) != out.len || fflush(p->to) != 0)
		return 0;
	return (ssize_t)len;
}

static int json_pipe_close(void *cookie)
{
	struct json_pipe *p = cookie;
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	json_stream_rest(&p->held, &out);
	int rc = fwrite(buf_cstr(&out), 1, out.len, p->to) == out.len && fflush(p->to) == 0 ? 0
											    : EOF;
	free(p);
	return rc;
}

FILE *json_stream_new(FILE *to)
{
	struct json_pipe *p = NEW(struct json_pipe);
	p->to = to;
	FILE *f = fopencookie(
		p, "w",
		(cookie_io_functions_t){ .write = json_pipe_write, .close = json_pipe_close });
	if (!f)
		free(p);
	else
		setvbuf(f, NULL, _IOFBF, 64 << 10);
	return f;
}
