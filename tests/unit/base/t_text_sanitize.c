/* Untrusted bytes on their way to the screen: one row per case, in one piece and split at each byte. */
#include "base/text/sanitize.h"

#include "base/text/utf8.h"
#include "base/text/width.h"
#include "tap.h"

static const struct {
	const char *name, *in;
	unsigned flags;
	const char *want;
	int hidden; /* -1: not looked at */
} cases[] = {
	{ "plain text stays", "make -j8 test", 0, "make -j8 test", 0 },
	{ "CJK stays", "\xe4\xb8\xad\xe6\x96\x87 ok", 0, "\xe4\xb8\xad\xe6\x96\x87 ok", 0 },
	{ "escape is visible", "a\x1b[31mb", 0, "a^[[31mb", 1 },
	{ "bell and delete", "\a\x7f", 0, "^G^?", 2 },
	{ "tab goes to the next stop", "ab\tc", 0, "ab      c", 0 },
	{ "CR LF is one line end", "a\r\nb", 0, "a\nb", 0 },
	{ "CR alone is visible", "a\rb", 0, "a^Mb", 1 },
	{ "CR at the end is visible", "a\r", 0, "a^M", 1 },
	{ "raw C1 is broken UTF-8",
	  "\x9b"
	  "31m",
	  0, "\\x9B31m", 1 },
	{ "encoded C1",
	  "\xc2\x9b"
	  "31m",
	  0, "<U+009B>31m", 1 },
	{ "overlong form", "\xc0\xaf", 0, "\\xC0\\xAF", 2 },
	{ "surrogate", "\xed\xa0\x80", 0, "\\xED\\xA0\\x80", 3 },
	{ "maximal subpart", "\xf0\x9f\x98x", 0, "\\xF0\\x9F\\x98x", 3 },
	{ "partial at the end", "a\xe4\xb8", 0, "a\\xE4\\xB8", 2 },
	{ "bidi override",
	  "a\xe2\x80\xae"
	  "b",
	  0, "a<U+202E>b", 1 },
	{ "zero width space", "git\xe2\x80\x8b push", 0, "git<U+200B> push", 1 },
	{ "tag characters", "\xf3\xa0\x81\xa1", 0, "<U+E0061>", 1 },
	{ "line separator",
	  "a\xe2\x80\xa8"
	  "b",
	  0, "a<U+2028>b", 1 },
	{ "hangul filler", "\xe3\x85\xa4", 0, "<U+3164>", 1 },
	{ "soft hyphen",
	  "a\xc2\xad"
	  "b",
	  0, "a<U+00AD>b", 1 },
	{ "private use", "\xee\x80\x80", 0, "<U+E000>", 1 },
	{ "joiner between pictures", "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb", 0,
	  "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb", 0 },
	{ "joiner elsewhere",
	  "a\xe2\x80\x8d"
	  "b",
	  0, "a<U+200D>b", 1 },
	{ "joiner after a picture, then text", "\xf0\x9f\x91\xa9\xe2\x80\x8dx", 0, "\xf0\x9f\x91\xa9<U+200D>x", 1 },
	{ "joiner is shown when exact", "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb", SANITIZE_EXACT,
	  "\xf0\x9f\x91\xa9<U+200D>\xf0\x9f\x92\xbb", 1 },
	{ "four marks fit", "e\xcc\x81\xcc\x81\xcc\x81\xcc\x81", 0, "e\xcc\x81\xcc\x81\xcc\x81\xcc\x81", 0 },
	{ "the fifth is shown as a code", "e\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x82", 0,
	  "e\xcc\x81\xcc\x81\xcc\x81\xcc\x81<U+0302>", 1 },
	{ "a mark without a base", "\xcc\x81x", 0, "<U+0301>x", 1 },
	{ "exact: tab", "a\tb", SANITIZE_EXACT, "a<U+0009>b", 1 },
	{ "exact: escape", "\x1b]0;x\a", SANITIZE_EXACT, "<U+001B>]0;x<U+0007>", 2 },
	{ "exact: CR before LF", "a\r\nb", SANITIZE_EXACT, "a<U+000D>\nb", 1 },
	{ "exact: Cyrillic letter in a Latin word", "p\xd0\xb0ypal", SANITIZE_EXACT, "p<U+0430>ypal", 1 },
	{ "exact: Cyrillic letter first", "\xd0\xb0pple", SANITIZE_EXACT, "<U+0430>pple", 1 },
	{ "exact: Cyrillic word beside a Latin one", "git \xd0\xb4\xd0\xb0", SANITIZE_EXACT, "git \xd0\xb4\xd0\xb0",
	  0 },
	{ "not exact: mixed script stays", "p\xd0\xb0ypal", 0, "p\xd0\xb0ypal", 0 },
	{ "ASCII only", "\xe4\xb8\xad!", SANITIZE_ASCII, "<U+4E2D>!", 0 },
	{ "render: colour goes", "a\x1b[1;31mb\x1b[0mc", SANITIZE_RENDER, "abc", 0 },
	{ "render: cursor movement goes", "a\x1b[2J\x1b[Hb", SANITIZE_RENDER, "ab", 0 },
	{ "render: title goes", "a\x1b]0;evil\ab", SANITIZE_RENDER, "ab", 0 },
	{ "render: title by ST", "a\x1b]52;c;ZWNobw==\x1b\\b", SANITIZE_RENDER, "ab", 0 },
	{ "render: LF ends a string", "a\x1b]0;evil\nb", SANITIZE_RENDER, "a\nb", 0 },
	{ "render: CAN aborts",
	  "a\x1b[3\x18"
	  "b",
	  SANITIZE_RENDER, "ab", 0 },
	{ "render: private modes go", "\x1b[?1049hx", SANITIZE_RENDER, "x", 0 },
	{ "render: device attributes go", "\x1b[c\x1b[>q\x1b[6nx", SANITIZE_RENDER, "x", 0 },
	{ "render: DCS goes", "\x1bP+q544e\x1b\\x", SANITIZE_RENDER, "x", 0 },
	{ "render: CR starts the line again", "50%\r100%\n", SANITIZE_RENDER, "50%\n100%\n", 0 },
	{ "render: bidi is still told", "\xe2\x80\xae", SANITIZE_RENDER, "<U+202E>", 1 },
};

static bool add(void *self, const struct glyph *g)
{
	if (g->flags & (GLYPH_NEWLINE | GLYPH_RETURN))
		buf_putc(self, '\n');
	else
		buf_append(self, g->s, g->len);
	return true;
}

static void whole_and_split(size_t i)
{
	size_t len = strlen(cases[i].in);
	for (size_t cut = 0; cut <= len; cut++) {
		CLEANUP(buf_release) struct buf out = BUF_INIT;
		struct sanitizer s;
		if (cut > 0 && (cases[i].flags & SANITIZE_EXACT))
			break; /* what is approved is never a stream */
		sanitizer_init(&s, cases[i].flags, add, &out);
		sanitizer_feed(&s, cases[i].in, cut);
		sanitizer_feed(&s, cases[i].in + cut, len - cut);
		sanitizer_end(&s);
		if (strcmp(buf_cstr(&out), cases[i].want) != 0 || (int)s.hidden != cases[i].hidden) {
			ok(false, "%s, cut at %zu", cases[i].name, cut);
			printf("# got \"%s\" hidden %u\n# want \"%s\" hidden %d\n", buf_cstr(&out), s.hidden,
			       cases[i].want, cases[i].hidden);
			return;
		}
	}
	ok(true, "%s", cases[i].name);
}

struct seen {
	uint8_t flags[8], fg[8];
	int nr;
};
static bool look(void *self, const struct glyph *g)
{
	struct seen *seen = self;
	seen->flags[seen->nr] = g->flags;
	seen->fg[seen->nr++] = g->fg;
	return seen->nr < 8;
}

static void attributes(void)
{
	struct seen seen = { 0 };
	static const char in[] = "a\x1b[1;31mb\x1b[38;5;10mc\x1b[38;2;1;2;3md\x1b[me";
	sanitize_for_screen(in, sizeof(in) - 1, SANITIZE_RENDER, look, &seen);
	is_int(seen.nr, 5, "five letters");
	is_int(seen.fg[0], 0, "default before");
	ok(seen.fg[1] == 2 && (seen.flags[1] & GLYPH_BOLD), "bold red");
	is_int(seen.fg[2], 11, "one of the 256 that is one of the 16");
	is_int(seen.fg[4], 0, "reset");
	ok(!(seen.flags[4] & GLYPH_BOLD), "bold is reset too");
}

static void limits(void)
{
	CLEANUP(buf_release) struct buf in = BUF_INIT, out = BUF_INIT;
	buf_puts(&in, "\x1b]0;");
	for (int i = 0; i < 5000; i++)
		buf_putc(&in, 'x');
	buf_puts(&in, "end");
	sanitize_text(in.data, in.len, SANITIZE_RENDER, &out);
	ok(out.len > 0 && out.len < 1000, "a string without an end is given up after 4 KiB");
	ok(strcmp(out.data + out.len - 3, "end") == 0, "and the rest is text");
	buf_reset(&out);
	sanitize_line("a\nb\n\nc", 6, 0, &out);
	is_str(buf_cstr(&out), "a \342\206\265 b \342\206\265 c", "one line, with a mark between lines");
	buf_reset(&out);
	buf_puts(&out, "x: ");
	sanitize_line("\r\na;\r\n  rm b\n\n", 14, SANITIZE_ASCII, &out);
	is_str(buf_cstr(&out), "x: a; ^J   rm b", "none before the first or after the last");
}

static void colours(void)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "\033[32mok\033[0m", "ok" },	  { "\033[1;38:5:7mx\033[m", "x" },
		{ "\033[2Jx", "\033[2Jx" },	  { "\033]0;t\007\033[31mx", "\033]0;t\007x" },
		{ "\033[3", "\033[3" },		  { "\033[31", "\033[31" },
		{ "\033\033[0mm", "\033m" },	  { "", "" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf b = BUF_INIT;
		buf_puts(&b, rows[i].in);
		sanitize_drop_colours(&b);
		is_str(buf_cstr(&b), rows[i].out, "colours go, the rest stays");
		buf_release(&b);
	}
}

static void widths(void)
{
	is_int(text_width('a'), 1, "a letter is one cell");
	is_int(text_width(0x4e2d), 2, "an ideograph is two");
	is_int(text_width(0x0301), 0, "an accent is none");
	is_int(text_width(0x1f600), 2, "a picture is two");
	ok(!utf8_valid("\xf4\x90\x80\x80", 4), "past the last character");
	ok(utf8_valid("\xf4\x8f\xbf\xbd", 4), "the last plane is fine");
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		whole_and_split(i);
	attributes();
	limits();
	colours();
	widths();
	return done_testing();
}
