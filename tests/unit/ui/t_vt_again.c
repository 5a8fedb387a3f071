/* A keyframe: a terminal made from it and one that was fed from the start show the same afterwards, whatever the program
 * writes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"
#include "ui/term/vt.h"

static uint64_t seed;

static unsigned any(unsigned below)
{
	seed = seed * 6364136223846793005U + 1442695040888963407U;
	return (unsigned)(seed >> 33) % below;
}

static void one_piece(struct buf *b, int rows, int cols)
{
	static const char *const fixed[] = {
		"\x1b[?1049h", "\x1b[?1049l", "\x1b[?1047h", "\x1b[?1047l", "\x1b[?6h",	 "\x1b[?6l",   "\x1b[?7l",	   "\x1b[?7h",
		"\x1b[4h",     "\x1b[4l",     "\x1b[20h",    "\x1b[20l",    "\x1b" "7",	 "\x1b" "8",   "\x1b(0",	   "\x1b(B",
		"\x1b)0",      "\x0e",	      "\x0f",	     "\x1b*A",	    "\x1bn",	 "\x1bH",      "\x1b[3g",	   "\x1b[g",
		"\x1bM",       "\x1b" "D",    "\x1b" "E",    "\x1b[?25l",   "\x1b[?25h", "\x1b[r",     "\x1b[?69h",	   "\x1b[?69l",
		"\x1b[!p",     "\x1b" "c",    "\x1b[?2004h", "\x1b[>1u",    "\x1b[2 q",	 "\x1b[?2026h", "\x1b]0;title\a", "\x1b[m",
		"\x1b#8",      "\x1b#6",      "\x1b#5",	     "\x1b[?5h",    "\x1b[?5l",	 "\x1bN",      "x\x1b[2b",	   "\x1b[s",
	};
	static const char *const text[] = { "word", "\xe6\x96\x87\xe5\xad\x97", "e\xcc\x81", "\xf0\x9f\x98\x80", "q#x", "\xe2\x94\x82 ", "a longer run of text ", " " };
	switch (any(16)) {
	case 0:
	case 1:
	case 2:
	case 3:
		buf_puts(b, text[any(sizeof(text) / sizeof(*text))]);
		return;
	case 4:
		buf_puts(b, any(2) ? "\r\n" : any(2) ? "\t" : any(2) ? "\b" : "\n");
		return;
	case 5:
	case 6:
		buf_printf(b, "\x1b[%u;%uH", 1 + any((unsigned)rows + 1), 1 + any((unsigned)cols + 1));
		return;
	case 7:
		buf_printf(b, "\x1b[%u;%um", any(10), 30 + any(8) + 10 * any(2));
		return;
	case 8:
		buf_printf(b, "\x1b[48;2;%u;9;9;38;5;%um", any(256), any(256));
		return;
	case 9:
		buf_printf(b, "\x1b[%u;%ur", 1 + any((unsigned)rows), 1 + any((unsigned)rows));
		return;
	case 10:
		buf_printf(b, "\x1b[%u%c", 1 + any(4), "ABCDXPLM@STZI"[any(13)]);
		return;
	case 11:
		buf_printf(b, "\x1b[%u%c", any(3), any(2) ? 'J' : 'K');
		return;
	case 12:
		buf_printf(b, "\x1b[%u;%us", 1 + any((unsigned)cols), 1 + any((unsigned)cols));
		return;
	case 13:
		buf_printf(b, "\x1b[%uG", (unsigned)cols - any(3));
		return;
	default:
		buf_puts(b, fixed[any(sizeof(fixed) / sizeof(*fixed))]);
	}
}

static bool same_now(const struct vt *a, const struct vt *b)
{
	CLEANUP(buf_release) struct buf x = BUF_INIT, y = BUF_INIT;
	vt_paint(a, &x);
	vt_paint(b, &y);
	return x.len == y.len && !memcmp(x.data, y.data, x.len);
}

static struct vt *copy_of(int rows, int cols, const struct buf *all, const struct modes *m, struct buf *key)
{
	struct vt *v = vt_new(rows, cols, false);
	vt_feed(v, all->data, all->len);
	if (!vt_again(&v, m, key))
		return NULL;
	vt_free(&v);
	v = vt_new(rows, cols, false);
	vt_feed(v, key->data, key->len);
	return v;
}

/* What is written after it goes to both, and is compared after each sequence. */
static bool goes_with(struct vt *whole, struct vt *made, int *rows, int *cols)
{
	for (int i = 0; i < 60; i++) {
		CLEANUP(buf_release) struct buf b = BUF_INIT;
		if (any(40) == 0) {
			*rows = 3 + (int)any(8);
			*cols = 4 + (int)any(30);
			vt_resize(whole, *rows, *cols);
			vt_resize(made, *rows, *cols);
		}
		one_piece(&b, *rows, *cols);
		vt_feed(whole, b.data, b.len);
		vt_feed(made, b.data, b.len);
		if (!same_now(whole, made)) {
			printf("# after %zu bytes more: %s\n", b.len, buf_cstr(&b) + (*b.data == '\x1b'));
			return false;
		}
	}
	return true;
}

static void any_state(unsigned first, unsigned nr, unsigned pieces)
{
	unsigned made = 0, wrong = 0, none = 0;
	for (seed = first * 7919; made + none < nr; seed = ++first * 7919) {
		int rows = 3 + (int)any(8), cols = 4 + (int)any(30);
		CLEANUP(buf_release) struct buf all = BUF_INIT, key = BUF_INIT;
		struct modes m = { 0 };
		for (unsigned i = any(pieces); i > 0; i--)
			one_piece(&all, rows, cols);
		modes_feed(&m, all.data, all.len);
		struct vt *whole = vt_new(rows, cols, false), *again = copy_of(rows, cols, &all, &m, &key);
		vt_feed(whole, all.data, all.len);
		if (!again)
			none++;
		else if (!same_now(whole, again) || !goes_with(whole, again, &rows, &cols)) {
			printf("# seed %u, %zu bytes\n", first, all.len);
			wrong++;
		} else
			made++;
		vt_free(&whole);
		vt_free(&again);
		made += wrong > 5 ? nr : 0;
	}
	ok(!wrong, "%u of %u states are made from their keyframe", made, nr);
	ok(none < nr / 5, "few can't be expressed: %u", none);
}

static void modes_too(void)
{
	static const char bytes[] = "\x1b[?1049h\x1b[>5u\x1b[?1003h\x1b[?2004h\x1b[?25l\x1b]0;a title\a\x1b[2;5Hhello";
	CLEANUP(buf_release) struct buf all = BUF_INIT, key = BUF_INIT;
	struct modes m = { 0 }, got = { 0 };
	buf_append(&all, bytes, sizeof(bytes) - 1);
	modes_feed(&m, all.data, all.len);
	struct vt *v = copy_of(10, 40, &all, &m, &key);
	ok(v != NULL, "a full-screen program has one");
	vt_free(&v);
	modes_feed(&got, key.data, key.len);
	is_int(modes_alternate(&got), true, "its alternate screen");
	is_int(modes_on(&got, 1003, false) && modes_on(&got, 2004, false) && !modes_on(&got, 25, true), true, "its modes");
	is_int(got.kitty[1].depth == 1 && got.kitty[1].flags[0] == 5, true, "its keyboard protocol");
	is_str(got.title, "a title", "and its title come back");
	ok(!memchr(key.data, '\n', key.len), "without line feeds");
	buf_puts(&all, "\x1b[3");
	modes_feed(&m, "\x1b[3", 3);
	ok(!copy_of(10, 40, &all, &m, &key), "inside of a sequence there is none");
}

int main(void)
{
	modes_too();
	any_state(1, getenv("LONG") ? 20000 : 200, 60);
	return done_testing();
}
