/* A program's terminal as a pane. Its drawing appears, and its requests to the real terminal don't, whatever the
 * chunks of its bytes. */
#include <malloc.h>
#include <string.h>

#include "base/text/utf8.h"
#include "base/text/width.h"
#include "tap.h"
#include "ui/term/vt.h"

static char *shown(struct vt *v)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct buf out = BUF_INIT;
	struct text t;
	text_init(&t, &a, 400, 2, false);
	vt_text(v, &t);
	text_plain(&t, false, &out);
	return buf_take(&out);
}

static void shows(const char *bytes, const char *want, const char *name)
{
	struct vt *v = vt_new(24, 80, false);
	vt_feed(v, bytes, strlen(bytes));
	CLEANUP(free_ptr) char *got = shown(v);
	if (want)
		is_str(got, want, name);
	else
		ok(*got, "%s: '%s'", name, got);
	vt_free(&v);
}

static void draws(void)
{
	shows("one\r\ntwo", "one\ntwo\n", "lines");
	shows("12345\r\x1b[2Cxx", "12xx5\n", "the cursor moves");
	shows("junk\x1b[2J\x1b[Hclean", "clean\n", "the screen is cleared");
	shows("\x1b[?1049hfull\x1b[?1049lback", "back\n", "the other screen comes and goes");
	shows("a\xff\xf0\x9f\x91" "b\xc3", "a\xef\xbf\xbd\xef\xbf\xbd" "b\n", "a replacement for each run of invalid bytes; an incomplete character waits");
	shows("a-\x1b[3bz\xe6\x96\x87\x1b[b", "a----z\xe6\x96\x87\xe6\x96\x87\n", "characters are repeated");
	shows("a\x1b[?5b\x1b[5 bz", "az\n", "other sequences with b repeat nothing");
	shows("\x1b[b\x1b[5;3b\xcc\x81\x1b[bz\xe2\x80\x8b\x1b[b", NULL, "nothing can be repeated, or what takes no cell: it ends");
	shows("\x1b%@\xc5\x9b\x62\xc2\x9b\x62z", NULL, "another coding: it ends");
	shows("\xe6\x96\x87\xe5\xad\x97 e\xcc\x81", "\xe6\x96\x87\xe5\xad\x97 e\xcc\x81\n", "wide and combining");
}

/* A program draws, the terminal gets smaller, and it draws on: libvterm 0.1 alone would write outside of its cells. */
static void becomes_smaller(const char *before, int rows, const char *after, const char *want, const char *name)
{
	struct vt *v = vt_new(9, 30, false);
	vt_feed(v, before, strlen(before));
	vt_resize(v, rows, 10);
	vt_feed(v, after, strlen(after));
	CLEANUP(free_ptr) char *got = shown(v);
	is_str(got, want, name);
	vt_free(&v);
}

static void sizes(void)
{
	becomes_smaller("\x1b[9;1Hlast\x1b[H", 5, "\x1b[2Kfirst", "\n\n\n\nfirst\n\n\n\nlast\n", "the cursor is in a row that goes");
	becomes_smaller("\x1b[9;1Hlast\x1b[2;9r\x1b[?6h\x1b[H", 5, "\x1b[2Kx", "\n\n\n\nx\n\n\n\nlast\n", "and inside of margins");
	becomes_smaller("\x1b[8;9r\x1b[Hone", 3, "\r\ntwo\r\n3\r\n4\x1b[2M", "one\ntwo\n3\n", "margins below the new size");
	becomes_smaller("\x1b[8;9r\x1b[Hone\x1b]0;ti", 3, "tle\a", "onetle\n", "also when a sequence has begun");
	becomes_smaller("\x1b[?69h\x1b[20;25s\x1b[9;24H", 5, "\x1b[Hx\x1b[2@", "\n\n\n\nx\n", "left and right margins");
}

static void keeps_to_itself(void)
{
	shows("\x1b]0;title\x07" "a", "a\n", "a title");
	shows("\x1b]52;c;cm0=\x07" "a", "a\n", "the clipboard");
	shows("\x1bP$qm\x1b\\" "a\x1b[6n\x1b[c\x1b[>c", "a\n", "reports");
	shows("a\x1b[?1000h\x1b[?2004h\x1b[5i\x07", "a\n", "modes, printing, the bell");
	struct vt *v = vt_new(24, 80, false);
	static const char c1[] = "\xc2\x9b" "31m\x9b\x90 \xe2\x80\xaeX\xef\xbb\xbf";
	vt_feed(v, c1, sizeof(c1) - 1);
	CLEANUP(free_ptr) char *got = shown(v);
	bool fine = utf8_valid(got, strlen(got));
	for (const char *p = got; fine && *p;) {
		uint32_t cp;
		size_t used;
		fine = utf8_next(p, strlen(p), &cp, &used) == UTF8_OK && !text_is_hidden(cp) &&
		       (cp == '\n' || (cp >= 0x20 && cp < 0x7f) || cp >= 0xa0);
		p += used;
	}
	ok(fine, "no control and no hidden character is in a cell: '%s'", got);
	vt_free(&v);
}

/* Characters of two, three and four bytes, byte by byte. */
static void byte_by_byte(void)
{
	static const char text[] = "a\xc3\xa4 \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x9a\x80 b";
	struct vt *v = vt_new(24, 80, false);
	for (size_t i = 0; i < sizeof(text) - 1; i++)
		vt_feed(v, text + i, 1);
	CLEANUP(free_ptr) char *got = shown(v);
	vt_free(&v);
	CLEANUP(free_ptr) char *want = mem_printf("%s\n", text);
	is_str(got, want, "characters that come byte by byte are whole");
}

static void scrolls(void)
{
	struct vt *v = vt_new(5, 20, true);
	CLEANUP(buf_release) struct buf b = BUF_INIT, want = BUF_INIT;
	for (int i = 0; i < 40; i++)
		buf_printf(i < 39 ? &b : &want, "row %d\n", i);
	vt_feed(v, b.data, b.len);
	CLEANUP(free_ptr) char *got = shown(v);
	is_str(got, b.data, "scrolled rows are kept, with bare line feeds, too");
	for (int i = 0; i < 5000; i++)
		vt_feed(v, "x\n", 2);
	CLEANUP(free_ptr) char *much = shown(v);
	is_int(strlen(much), 2 * (VT_BACK_MAX + 4), "but only up to a limit");
	vt_free(&v);
}

static void resizes(void)
{
	struct vt *v = vt_new(24, 80, false);
	vt_feed(v, "\x1b[5;3Hbefore", 12);
	vt_resize(v, 10, 60);
	vt_feed(v, "\x1b[9;1Hafter", 11);
	CLEANUP(free_ptr) char *got = shown(v);
	ok(strstr(got, "before") && strstr(got, "after"), "a smaller terminal: '%s'", got);
	for (int i = 0; i < 2000; i++) {
		vt_resize(v, i % 300 - 20, i * 7 % 500 - 20);
		vt_feed(v, "\x1b[999999999@\x1b[99999;99999Hx\x1b[999999999L\x1b[3;4r\n", 41);
	}
	vt_resize(v, 3, 10);
	vt_feed(v, "\x1b[r\x1b[2J\x1b[Hend", 13);
	CLEANUP(free_ptr) char *last = shown(v);
	vt_resize(v, 1, 1);
	vt_feed(v, "\xe6\x96\x87\xe5\xad\x97", 6);
	ok(strstr(last, "end"), "a storm of sizes and huge numbers leaves a terminal that works, in one column too");
	vt_free(&v);
}

/* libvterm 0.1 has room for 16 arguments of a sequence, and writes all it gets. */
static void many_arguments(void)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	buf_puts(&b, "\x1b\x13\xf9[1;31"); /* the two bytes in between end no sequence for it */
	for (int i = 0; i < 200; i++)
		buf_puts(&b, i % 2 ? ";4702111234474983745" : ":7");
	buf_puts(&b, "mtext\x1b[?1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;16;17;18;19h\x1b[3;4Hmore");
	for (size_t piece = 1; piece < 100; piece += 33) {
		struct vt *v = vt_new(10, 40, false);
		for (size_t at = 0; at < b.len; at += piece)
			vt_feed(v, b.data + at, b.len - at < piece ? b.len - at : piece);
		CLEANUP(free_ptr) char *got = shown(v);
		is_str(got, "text\n\n   more\n", "200 arguments are bounded, and the text behind them is shown");
		vt_free(&v);
	}
}

static void in_pieces(void)
{
	static const char text[] =
		"\x1b[31mred\x1b[0m "
		"\xe6\x96\x87\r\n\x1b]0;t\x1b\\\x1b[2;5Hx\x1bP$qm\x1b\\\x1b[4:3;58:5:1mu\xf0\x9f\x98\x80\xf0\x9f\x91\xff\xff\xfe\x91 z";
	struct vt *whole = vt_new(24, 80, true), *parts = vt_new(24, 80, true);
	vt_feed(whole, text, sizeof(text) - 1);
	for (size_t i = 0; i + 1 < sizeof(text); i++)
		vt_feed(parts, text + i, 1);
	CLEANUP(free_ptr) char *a = shown(whole);
	CLEANUP(free_ptr) char *b = shown(parts);
	is_str(b, a, "byte by byte it is the same");
	vt_free(&whole);
	vt_free(&parts);
}

static void stays_small(void)
{
	struct vt *v = vt_new(24, 80, false);
	CLEANUP(buf_release) struct buf line = BUF_INIT;
	for (int i = 0; i < 1 << 20; i++)
		buf_putc(&line, i % 97 == 0 ? '\x1b' : "[;0123456789]PX^_\\mHJ文字 abc"[i % 30]);
	size_t before = mallinfo2().uordblks;
	for (int i = 0; i < 10; i++)
		vt_feed(v, line.data, line.len);
	size_t grown = mallinfo2().uordblks - before;
	ok(grown < (size_t)VT_BACK_MAX * 80 * sizeof(struct glyph) + (4 << 20), "10 MB of junk cost %zu KB",
	   grown >> 10);
	vt_free(&v);
}

int main(void)
{
	draws();
	sizes();
	keeps_to_itself();
	byte_by_byte();
	scrolls();
	resizes();
	many_arguments();
	in_pieces();
	stays_small();
	return done_testing();
}
