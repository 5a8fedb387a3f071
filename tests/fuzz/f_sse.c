/* A stream of events means the same however it is cut: fed whole, and fed in two pieces at a place that the input says. */
#include "http/sse.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void keep(void *self, const struct sse_event *ev)
{
	struct buf *b = self;
	buf_printf(b, "%zu:%s|%zu:%s|%zu:%d:", strlen(ev->type), ev->type, strlen(ev->id), ev->id, ev->len, ev->last);
	buf_append(b, ev->data, ev->len);
}

static struct buf read_it(const uint8_t *p, size_t len, size_t cut)
{
	struct buf got = BUF_INIT;
	struct err err = ERR_INIT;
	struct sse s;
	sse_init(&s, 1 << 16, keep, &got);
	if (sse_feed(&s, p, cut, &err) == 0 && sse_feed(&s, p + cut, len - cut, &err) < 0)
		buf_puts(&got, "too large");
	sse_end(&s);
	sse_release(&s);
	return got;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2 || size > 1 << 15)
		return 0;
	size_t cut = (size_t)(data[0] | data[1] << 8) % (size - 1);
	struct buf whole = read_it(data + 2, size - 2, 0), cut_up = read_it(data + 2, size - 2, cut);
	if (whole.len != cut_up.len || (whole.len && memcmp(whole.data, cut_up.data, whole.len) != 0))
		abort();
	buf_release(&whole);
	buf_release(&cut_up);
	return 0;
}
