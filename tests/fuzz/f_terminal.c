/* Bytes from a terminal: the same keys in chunks of any size; pasted keys are marked. First byte: the place of the
 * cut. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "ui/term/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take_keys(struct input *in, bool idle, struct buf *out)
{
	uint32_t key;
	while ((key = input_key(in, idle)) != KEY_NONE_) {
		uint32_t plain = key & ~(uint32_t)K_PASTED;
		bool character = plain <= 0x10ffff && !(plain >= 0xd800 && plain <= 0xdfff);
		if (!character && (key & K_PASTED || plain <= KEY_FIRST_ || plain > K_FOCUS_OUT))
			abort();
		buf_append(out, &key, sizeof(key));
		if (key == K_MOUSE)
			buf_printf(out, "%d %d %d;", in->mouse.kind, in->mouse.row, in->mouse.col);
	}
}

static void feed(struct input *in, const uint8_t *p, size_t len, struct buf *out)
{
	while (len) {
		size_t room = input_room(in), n = len < room ? len : room;
		if (!n)
			abort(); /* what is complete has been taken, the rest is given up in time */
		input_feed(in, p, n);
		take_keys(in, false, out);
		p += n;
		len -= n;
	}
}

static void read_it(const uint8_t *p, size_t len, size_t cut, struct buf *out)
{
	struct input in = { 0 };
	feed(&in, p, cut, out);
	feed(&in, p + cut, len - cut, out);
	take_keys(&in, true, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1 || size > 1 << 15)
		return 0;
	CLEANUP(buf_release) struct buf one = BUF_INIT, two = BUF_INIT;
	read_it(data + 1, size - 1, size - 1, &one);
	read_it(data + 1, size - 1, data[0] * (size - 1) / 255, &two);
	if (one.len != two.len || (one.len && memcmp(one.data, two.data, one.len) != 0))
		abort();
	return 0;
}
