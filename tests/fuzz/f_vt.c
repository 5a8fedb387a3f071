/* The output of a program that had a terminal: whatever its bytes, at most as many rows as are kept, no control in them; the
 * same screen whole or in two pieces, but where the second begins in or with a mark that belongs to the character before it:
 * libvterm 0.1 does not always join those. First three bytes: rows, columns, where it is cut. */
#include <stdlib.h>
#include <string.h>

#include "base/text/utf8.h"
#include "base/text/width.h"
#include "ui/term/vt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* libvterm 0.1 answers a DECRQSS that it does not know by "%.s" of a number: libc reads nothing of it, the checker does. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "check_printf=0";
}

/* It replaces the terminal by one that shows the same. */
static void keyframe_of(struct vt **v, const uint8_t *p, size_t len)
{
	struct modes m = { 0 };
	CLEANUP(buf_release) struct buf before = BUF_INIT, after = BUF_INIT, key = BUF_INIT;
	modes_feed(&m, p, len);
	vt_paint(*v, &before);
	if (!vt_again(v, &m, &key))
		return;
	vt_paint(*v, &after);
	if (before.len != after.len || memcmp(before.data, after.data, after.len) != 0)
		abort();
}

static void read_it(const uint8_t *data, const uint8_t *p, size_t len, size_t cut, struct buf *out)
{
	int rows = 1 + data[0] % 60, cols = 1 + data[1] % 140;
	struct vt *v = vt_new(rows, cols, data[0] & 64);
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct text t;
	text_init(&t, &a, cols, 0, false);
	vt_feed(v, p, cut);
	vt_feed(v, p + cut, len - cut);
	vt_text(v, &t);
	if (t.nr > (size_t)rows + VT_BACK_MAX)
		abort();
	text_plain(&t, false, out);
	keyframe_of(&v, p, len);
	vt_free(&v);
	for (size_t i = 0; i < out->len; i++)
		if ((unsigned char)out->data[i] < ' ' && out->data[i] != '\n')
			abort();
}

/* The character that has byte @at of @p goes into the cell of the one before it. */
static bool joins(const uint8_t *p, size_t len, size_t at)
{
	uint32_t cp;
	size_t used;
	for (; len > 0; p += used, len -= used, at -= used) {
		enum utf8_result r = utf8_next(p, len, &cp, &used);
		if (at < used)
			return r == UTF8_OK && text_width(cp) == 0;
	}
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 3 || size > 1 << 14)
		return 0;
	CLEANUP(buf_release) struct buf one = BUF_INIT, two = BUF_INIT;
	read_it(data, data + 3, size - 3, size - 3, &one);
	read_it(data, data + 3, size - 3, data[2] * (size - 3) / 255, &two);
	size_t cut = data[2] * (size - 3) / 255;
	bool joined = joins(data + 3, size - 3, cut);
	if (!joined && (one.len != two.len || (one.len && memcmp(one.data, two.data, one.len) != 0)))
		abort();
	return 0;
}
