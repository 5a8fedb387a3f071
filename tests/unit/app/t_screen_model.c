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

static unsigned next_random(unsigned *seed)
{
	*seed = *seed * 1103515245u + 12345u;
	return *seed >> 16 & 0x7fff;
}

/* Plain lines with the sequences that real programs write between them. */
static void random_output(struct buf *b, unsigned seed, size_t len)
{
	static const char *const other[] = {
		"\x1b[5;9r",	   "\x1b[r",	      "\x1b[H",
		"\x1b[2J",	   "\x1b[?1049h",     "\x1b[?1049l",
		"\x1b]0;a\r\nb\a", "\x1b]8;;x\x1b\\", "\x1b[3;4H",
		"\x1b[?2026h",	   "\x1b(B",	      "\v",
		"\x1b[!p",	   "\x1b[12S",	      "\x1bPq#0\r\n\x1b\\",
	};
	static const char *const style[] = { "\x1b[31m", "\x1b[m", "\x1b[44m", "\x1b[0m",
					     "\x1b[1;7m" };
	while (b->len < len) {
		unsigned lines = next_random(&seed) % 300;
		for (unsigned i = 0; i < lines; i++) {
			if (next_random(&seed) % 9 == 0)
				buf_puts(b, style[next_random(&seed) % 5]);
			buf_printf(b, "%u\tline \xe4\xb8\xad %0*u", i,
				   (int)(next_random(&seed) % 90), seed);
			buf_puts(b, next_random(&seed) % 50 ? "\r\n" : "\n");
		}
		buf_puts(b, other[next_random(&seed) % (sizeof(other) / sizeof(*other))]);
	}
}

/* Fed at once it drops lines, fed line by line it does not. */
static bool same_screen(unsigned seed)
{
	CLEANUP(buf_release) struct buf all = BUF_INIT, late = BUF_INIT, soon = BUF_INIT;
	struct screen_model *a = screen_model_new(24, 80), *b = screen_model_new(24, 80);
	random_output(&all, seed, 200 << 10);
	for (size_t at = 0; at < all.len;) {
		size_t n = 1 + next_random(&seed) % 500;
		n = n < all.len - at ? n : all.len - at;
		screen_model_feed(b, all.data + at, n);
		screen_model_settle(b);
		at += n;
	}
	screen_model_feed(a, all.data, all.len);
	for (int i = 0; i < 2; i++) { /* the second time: with the style that is left */
		screen_model_paint(a, &late);
		screen_model_paint(b, &soon);
		screen_model_feed(a, "styled\r\n", 8);
		screen_model_feed(b, "styled\r\n", 8);
	}
	screen_model_free(&a);
	screen_model_free(&b);
	return late.len == soon.len && !memcmp(late.data, soon.data, late.len);
}

/* 4 MB of lines with links, which are not plain, between <begin> and <end>. */
static void flood_of_links(struct buf *painted, const char *begin, const char *end, bool each)
{
	struct screen_model *m = screen_model_new(24, 80);
	screen_model_feed(m, "main\x1b[?1049hother", 17);
	screen_model_settle(m);
	screen_model_feed(m, begin, strlen(begin));
	for (unsigned i = 0; i < 200; i++) {
		CLEANUP(buf_release) struct buf lines = BUF_INIT;
		while (lines.len < 20000)
			buf_printf(&lines, "\x1b]8;;x\x1b\\line %u\x1b]8;;\x1b\\\r\n", i);
		screen_model_feed(m, lines.data, lines.len);
		if (each)
			screen_model_settle(m);
	}
	screen_model_feed(m, end, strlen(end));
	screen_model_paint(m, painted);
	screen_model_free(&m);
}

int main(void)
{
	int same = 0;
	static const struct {
		const char *begin, *end;
	} row[] = {
		{ "\x1b[?1049l", "\x1b[?1049h\x1b[2Jagain\x1b[?1049l" },
		{ "\x1b[?7l", "\x1b[1;75Hlonger than a row\r\n" },
	};
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		CLEANUP(buf_release) struct buf a = BUF_INIT, b = BUF_INIT;
		flood_of_links(&a, row[i].begin, row[i].end, false);
		flood_of_links(&b, row[i].begin, row[i].end, true);
		ok(a.len == b.len && !memcmp(a.data, b.data, a.len), "modes that dropped lines of a flood set are kept (%zu)", i);
	}
	const int outputs = getenv("LONG") ? 30 : 8;
	for (int seed = 1; seed <= outputs; seed++)
		same += same_screen((unsigned)seed);
	ok(same == outputs, "random outputs: dropped lines change no screen (%d of %d)", same, outputs);
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

	m = screen_model_new(24, 80);
	screen_model_feed(m, "\x1b[?1049h\x1b[1;70Honce", 19);
	for (unsigned i = 0; i < 200; i++) { /* 4 MB that never touch the first row */
		CLEANUP(buf_release) struct buf frames = BUF_INIT;
		while (frames.len < 20000)
			buf_printf(&frames, "\x1b[%u;1Hframe %u\x1b[K", i % 20 + 3, i);
		screen_model_feed(m, frames.data, frames.len);
	}
	buf_reset(&back);
	screen_model_paint(m, &back);
	ok(memmem(back.data, back.len, "once", 4), "a flood of frames keeps what it leaves alone");
	screen_model_free(&m);
	return done_testing();
}
