/* Only invisible bytes are left out of a frame: a terminal with the short frames shows the same as one with the long
 * frames. */
#include <string.h>

#include "tap.h"
#include "ui/term/squeeze.h"
#include "ui/term/vt.h"

enum { ROWS = 6, COLS = 40, FRAMES = 400 };

static void becomes(const char *frame, const char *want, const char *name)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	struct squeeze s = SQUEEZE_INIT;
	s.rows = ROWS;
	squeeze_frame(&s, frame, strlen(frame), &out);
	is_str(buf_cstr(&out), want, name);
}

static void cases(void)
{
	becomes("\x1b[32mok\x1b[39m\x1b(B\x1b[m \x1b[90mdim\x1b[39m\x1b(B\x1b[m", "\x1b[32mok \x1b[90mdim", "colours with a blank between");
	becomes("\x1b(B\x1b[0;1;7mX\x1b(B\x1b[0;7mY \x1b(B\x1b[mZ", "\x1b[1;7mX\x1b[0;7mY \x1b[mZ", "reversed blanks are seen");
	becomes("\x1b[4ma\x1b[24m \x1b[1mb", "\x1b[4ma\x1b[m \x1b[1mb", "an underline ends");
	becomes("\x1b[38;5;200ma\x1b[38;5;200mb", "\x1b[38;5;200m" "ab", "the same again");
	becomes("\x1b[5ma\x1b[32mb\x1b[mc", "\x1b[5ma\x1b[32mb\x1b[mc", "an unknown sequence passes through");
	becomes("\x1b[7m\x1b[K\x1b[m", "\x1b[7m\x1b[K", "erasing comes after a reverse");
	becomes("\x1b[2;5H\x1b[3;20r\x1bM\r\n\x1b[31m", "\x1b[2;5H\x1b[3;20r\x1bM\r\n", "moves need no colour");
	becomes("\x1b[2;5r\x1b[2;1H\n\x1b[1;6r\x1b[1;5r", "\x1b[2;5r\x1b[2;1H\n\x1b[r\x1b[1;5r", "a region of all rows gets its short sequence");
	becomes("\x1b[m\x0f" "a\x1b[", "a\x1b[", "half a sequence at the end");
}

static unsigned chance(unsigned below)
{
	static uint64_t state = 11;
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % below;
}

/* A frame as curses makes them. */
static void make_frame(struct buf *b)
{
	static const char *const off[] = { "\x1b[39m\x1b(B\x1b[m", "\x1b(B\x1b[m", "\x1b[m\x0f" };
	for (unsigned i = 0, n = 1 + chance(12); i < n; i++) {
		if (chance(2))
			buf_printf(b, "\x1b[%u;%uH", 1 + chance(ROWS), 1 + chance(COLS - 12));
		if (chance(2))
			buf_printf(b, "\x1b[%um", (unsigned[]){ 30, 90 }[chance(2)] + chance(8));
		if (chance(3) == 0)
			buf_printf(b, "\x1b(B\x1b[0;%um", (unsigned[]){ 1, 4, 7 }[chance(3)]);
		for (unsigned k = chance(6); k > 0; k--)
			buf_printf(b, "%c", chance(3) ? 'a' + (int)chance(26) : ' ');
		if (chance(4) == 0)
			buf_printf(b, "%s%s", off[chance(3)], chance(2) ? "\x1b[K" : "\x1b[3X");
		if (chance(3) == 0)
			buf_printf(b, "%s", off[chance(3)]);
		if (chance(20) == 0)
			buf_printf(b, "\x1b[2;5r\x1b[2;1H\x1bM\x1b[1;%dr", ROWS);
	}
}

/* All that can be seen: a blank shows neither its color nor that it is bold. */
static char *picture(struct vt *v)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct buf out = BUF_INIT;
	struct text t;
	text_init(&t, &a, COLS, 0, false);
	vt_text(v, &t);
	for (size_t i = 0; i < t.nr; i++) {
		struct text_walk w = text_walk_row(&t.row[i]);
		struct glyph g;
		while (text_walk_next(&w, &g)) {
			bool blank = g.s[0] == ' ' && !(g.flags & (GLYPH_UNDERLINE | GLYPH_REVERSE));
			buf_append(&out, g.s, g.len);
			if (!blank)
				buf_printf(&out, "{%u %u}", g.fg, g.flags);
		}
		while (out.len > 0 && out.data[out.len - 1] == ' ')
			out.len--;
		buf_printf(&out, "\n");
	}
	return buf_take(&out);
}

static void looks_the_same(void)
{
	struct squeeze s = SQUEEZE_INIT;
	s.rows = ROWS;
	struct vt *a = vt_new(ROWS, COLS, false), *b = vt_new(ROWS, COLS, false);
	size_t wrong = 0, before = 0, after = 0;
	for (int i = 0; i < FRAMES; i++) {
		CLEANUP(buf_release) struct buf frame = BUF_INIT, less = BUF_INIT;
		make_frame(&frame);
		squeeze_frame(&s, frame.data, frame.len, &less);
		vt_feed(a, frame.data, frame.len);
		vt_feed(b, less.data, less.len);
		before += frame.len;
		after += less.len;
		CLEANUP(free_ptr) char *x = picture(a);
		CLEANUP(free_ptr) char *y = picture(b);
		if (strcmp(x, y) != 0 && wrong++ == 0)
			printf("# frame %d\n# %s\n# %s\n", i, x, y);
	}
	ok(wrong == 0, "%d frames: the same is seen", FRAMES);
	ok(after < before * 9 / 10, "%zu bytes of %zu", after, before);
	vt_free(&a);
	vt_free(&b);
}

int main(void)
{
	cases();
	looks_the_same();
	return done_testing();
}
