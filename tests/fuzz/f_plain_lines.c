/* Output of a program, made shorter before it becomes cells: the screen is the same, whole or in two pieces. First three
 * bytes: rows, columns, the place of the cut. */
#include <stdlib.h>
#include <string.h>

#include "terminal/plain_lines.h"
#include "ui/term/modes.h"
#include "ui/term/vt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* libvterm 0.1 answers a DECRQSS that it does not know by "%.s" of a number: libc reads nothing of it, the checker does. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "check_printf=0";
}

static void all_of_it(struct vt *v, const uint8_t *p, size_t len, struct buf *out)
{
	vt_feed(v, p, len);
	vt_paint(v, out);
}

/* As screen_model.c does it. */
static void shorter(struct vt *v, int rows, const uint8_t *p, size_t len, size_t cut, struct buf *out)
{
	struct modes fed = { 0 };
	bool margins = false;
	CLEANUP(buf_release) struct buf later = BUF_INIT;
	for (int i = 0; i < 2; i++) {
		buf_append(&later, i ? p + cut : p, i ? len - cut : cut);
		size_t before = later.len, complete = plain_lines_drop(&later, rows, !modes_quiet(&fed), &margins);
		if (later.len > before || complete > later.len)
			abort();
		if (i)
			complete = later.len;
		modes_feed(&fed, later.data, complete);
		vt_feed(v, later.data, complete);
		buf_drop(&later, complete);
	}
	vt_paint(v, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 3 || size > 1 << 14)
		return 0;
	int rows = 1 + data[0] % 8, cols = VT_COLS_MIN + data[1] % 60;
	CLEANUP(buf_release) struct buf one = BUF_INIT, two = BUF_INIT;
	struct vt *whole = vt_new(rows, cols, false), *less = vt_new(rows, cols, false);
	all_of_it(whole, data + 3, size - 3, &one);
	shorter(less, rows, data + 3, size - 3, data[2] * (size - 3) / 255, &two);
	if (one.len != two.len || (one.len && memcmp(one.data, two.data, one.len) != 0))
		abort();
	vt_free(&whole);
	vt_free(&less);
	return 0;
}
