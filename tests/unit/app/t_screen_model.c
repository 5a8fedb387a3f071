/* A program's screen that is made late is the screen that was made at once. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "tap.h"
#include "terminal/screen_model.h"

static void one_frame(struct buf *b, unsigned i)
{
	buf_printf(b, "\x1b[?2026h\x1b[%u;%uH\x1b[3%um", i % 24 + 1, i % 70 + 1, i % 8);
	buf_printf(b, "frame %u \xe4\xb8\xad", i);
	if (i % 7 == 0)
		buf_puts(b, "\x1b[K\r\nscrolled\r\n");
	buf_puts(b, "\x1b[0m\x1b[?2026l");
}

/* @each: settled after every piece. */
static void frame_by_frame(struct buf *painted, unsigned frames, bool each, size_t piece)
{
	CLEANUP(buf_release) struct buf all = BUF_INIT;
	struct screen_model *m = screen_model_new(24, 80);
	for (unsigned i = 0; i < frames; i++)
		one_frame(&all, i);
	for (size_t at = 0; at < all.len; at += piece) {
		screen_model_feed(m, all.data + at, all.len - at < piece ? all.len - at : piece);
		if (each)
			screen_model_settle(m);
	}
	screen_model_paint(m, painted);
	screen_model_free(&m);
}

int main(void)
{
	CLEANUP(buf_release) struct buf late = BUF_INIT, soon = BUF_INIT, back = BUF_INIT;
	CLEANUP(buf_release) struct buf again = BUF_INIT;
	frame_by_frame(&late, 500, false, 1000);
	frame_by_frame(&soon, 500, true, 7);
	ok(late.len == soon.len && !memcmp(late.data, soon.data, late.len),
	   "late or at once, in any pieces: the same screen");

	struct screen_model *m = screen_model_new(24, 80);
	screen_model_feed(m, "first", 5);
	ok(screen_model_pending(m), "output is pending");
	screen_model_resize(m, 10, 40);
	ok(!screen_model_pending(m), "before another size it becomes cells");
	for (int i = 0; i < 100;
	     i++) { /* attach and detach: painted onto an empty screen each time */
		struct screen_model *other = screen_model_new(10, 40);
		buf_reset(&back);
		screen_model_paint(m, &back);
		screen_model_free(&m);
		screen_model_feed(other, back.data, back.len);
		m = other;
	}
	screen_model_paint(m, &again);
	ok(again.len == back.len && !memcmp(again.data, back.data, back.len),
	   "a hundred repaints change nothing");
	screen_model_free(&m);

	m = screen_model_new(24, 80);
	static char line[4096];
	memset(line, 'x', sizeof(line));
	memcpy(line + sizeof(line) - 2, "\r\n", 2);
	for (int i = 0; i < 3000; i++)
		screen_model_feed(m, line, sizeof(line));
	screen_model_feed(m, "\x1b[2J\x1b[Hat last", 15);
	buf_reset(&back);
	screen_model_paint(m, &back);
	ok(memmem(back.data, back.len, "at last", 7), "of a flood its end is kept");
	ok(!memmem(back.data, back.len, "xxx", 3), "without what was cleared");
	screen_model_free(&m);
	return done_testing();
}
