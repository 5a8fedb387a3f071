#include "http/websock_frame.h"

#include <string.h>

#include "base/hash.h"
#include "base/text/utf8.h"

static bool is_control(unsigned op)
{
	return op >= WS_CLOSE;
}

enum { MASK_LEN = 4 };

/* How many bytes the head has without its mask, as far as its first two tell. */
static size_t plain_len(const struct buf *head)
{
	unsigned n = head->len > 1 ? (uint8_t)head->data[1] & 127u : 0;
	return n == 126 ? 4 : n == 127 ? 10 : 2;
}

static size_t head_len(const struct buf *head)
{
	return plain_len(head) + (head->len > 1 && (head->data[1] & 128) ? MASK_LEN : 0);
}

static const char *websock_frame_take_head(struct websock_reader *r)
{
	const uint8_t *p = (const uint8_t *)r->head.data;
	unsigned op = p[0] & 15u;
	uint64_t n = p[1] & 127u;
	size_t plain = plain_len(&r->head);
	for (size_t i = 2; i < plain; i++)
		n = (i == 2 ? 0 : n << 8) | p[i];
	r->fin = (p[0] & 128) != 0;
	if (p[0] & 0x70)
		return "a reserved bit is set";
	if (((p[1] & 128) != 0) != r->of_client)
		return r->of_client ? "a frame of the client is not masked"
				    : "a frame of the server is masked";
	if ((plain == 4 && n < 126) || (plain == 10 && n < 65536) || n >> 63)
		return "a length is not in its shortest form";
	if (op > WS_BYTES && (op < WS_CLOSE || op > WS_PONG))
		return "an unknown opcode";
	if (is_control(op) && (!r->fin || n > WS_CONTROL_MAX))
		return "a control frame in parts, or too long";
	if (!is_control(op) && (op == WS_MORE) != (r->op != 0))
		return "the parts of a message do not follow one another";
	if (!is_control(op) && n > WS_MESSAGE_MAX - r->message.len)
		return "a message is too long";
	if (!is_control(op) && op)
		r->op = op;
	r->frame = op;
	r->left = n;
	r->in_payload = true;
	r->masked = 0;
	if (r->of_client)
		memcpy(r->mask, p + plain, MASK_LEN);
	return NULL;
}

/* Codes allowed in a frame (RFC 6455, 7.4): 1005, 1006, and 1015 are for use inside a
 * program. */
static bool is_code(unsigned code)
{
	return code >= 1000 && code < 5000 && code != 1004 && code != 1005 && code != 1006 &&
	       code != 1015;
}

static const char *close_wrong(const struct buf *b)
{
	const uint8_t *p = (const uint8_t *)b->data;
	if (b->len == 1)
		return "a close frame with half a code";
	if (b->len && !is_code((unsigned)p[0] << 8 | p[1]))
		return "a close frame with an invalid code";
	return b->len > 2 && !utf8_valid(b->data + 2, b->len - 2)
		       ? "the reason of a close frame is not UTF-8"
		       : NULL;
}

/* The frame is whole. */
static int websock_frame_give(struct websock_reader *r, const char **why_out)
{
	bool control = is_control(r->frame);
	struct buf *b = control ? &r->control : &r->message;
	r->in_payload = false;
	buf_reset(&r->head);
	if (!control && !r->fin)
		return 0;
	unsigned op = control ? r->frame : r->op;
	*why_out = op == WS_TEXT && !utf8_valid(buf_cstr(b), b->len) ? "a text that is not UTF-8"
		   : op == WS_CLOSE				     ? close_wrong(b)
								     : NULL;
	if (*why_out)
		return -1;
	if (!control)
		r->op = 0;
	r->closed |= op == WS_CLOSE;
	struct buf whole = *b;
	memset(b, 0, sizeof(*b));
	bool go_on = r->on_message(r->self, (enum websock_op)op, buf_cstr(&whole), whole.len);
	buf_release(&whole);
	return go_on ? 0 : 1;
}

static void take_payload(struct websock_reader *r, const char *p, size_t n)
{
	struct buf *b = is_control(r->frame) ? &r->control : &r->message;
	size_t at = b->len;
	buf_append(b, p, n);
	for (; r->of_client && at < b->len; at++)
		b->data[at] ^= (char)r->mask[r->masked++ % MASK_LEN];
}

int websock_feed(struct websock_reader *r, const void *bytes, size_t len, const char **why_out)
{
	const char *p = bytes, *end = p + len;
	while (p < end || (r->in_payload && !r->left)) {
		if (r->closed) {
			*why_out = "something follows a close frame";
			return -1;
		}
		if (!r->in_payload) {
			buf_putc(&r->head, *p++);
			*why_out = r->head.len >= 2 && r->head.len == head_len(&r->head)
					   ? websock_frame_take_head(r)
					   : NULL;
			if (*why_out)
				return -1;
			continue;
		}
		size_t n = (uint64_t)(end - p) < r->left ? (size_t)(end - p) : (size_t)r->left;
		take_payload(r, p, n);
		p += n;
		r->left -= n;
		int rc = r->left ? 0 : websock_frame_give(r, why_out);
		if (rc)
			return rc;
	}
	return 0;
}

void websock_reader_release(struct websock_reader *r)
{
	buf_release(&r->head);
	buf_release(&r->message);
	buf_release(&r->control);
}

static void websock_frame_put_head(struct buf *out, enum websock_op op, size_t len,
				   unsigned mask_bit)
{
	buf_putc(out, (char)(128 | op));
	unsigned wide = len < 126 ? 0 : len < 65536 ? 2 : 8;
	buf_putc(out, (char)(mask_bit | (unsigned)(wide == 0 ? len : wide == 2 ? 126 : 127)));
	for (unsigned i = wide; i; i--)
		buf_putc(out, (char)((uint64_t)len >> (8 * (i - 1)) & 255));
}

void websock_frame(struct buf *out, enum websock_op op, const void *bytes, size_t len)
{
	uint8_t mask[MASK_LEN];
	random_bytes(mask, sizeof(mask));
	websock_frame_put_head(out, op, len, 128);
	buf_append(out, mask, sizeof(mask));
	size_t at = out->len;
	buf_append(out, bytes, len);
	for (size_t i = 0; i < len; i++)
		out->data[at + i] ^= (char)mask[i % MASK_LEN];
}

void websock_frame_plain(struct buf *out, enum websock_op op, const void *bytes, size_t len)
{
	websock_frame_put_head(out, op, len, 0);
	buf_append(out, bytes, len);
}
