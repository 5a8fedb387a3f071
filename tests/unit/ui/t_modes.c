/* A program's modes in its terminal: recognized in chunks of any size, undone, and restored. */
#include "tap.h"
#include "ui/term/modes.h"
#include "ui/term/vt.h"

#include <string.h>

static const char *undo_text(const struct modes *m, bool keep)
{
	static struct buf b;
	buf_reset(&b);
	modes_undo(m, keep, &b);
	return buf_cstr(&b);
}

static const char *repeat_text(const struct modes *m)
{
	static struct buf b;
	buf_reset(&b);
	modes_repeat(m, true, &b);
	return buf_cstr(&b);
}

static bool has(const char *text, const char *part)
{
	return strstr(text, part) != NULL;
}

/* All that interfaces of agents use. */
static const char tui[] =
	"plain\x1b[?1049h\x1b[?25l\x1b[?1000;1002;1006h\x1b[?2004h\x1b[?1004h\x1b[?2031h\x1b[>5u\x1b[>4;2m\x1b[4 q\x1b="
	"\x1b]0;an agent\a\x1b]11;#202020\x1b\\\x1b[?2026h\x1b[31mred\x1b[0m\x1b[?2026l\x1b]8;;http://x/\x1b\\link\x1b]8;;\x1b\\";

static void pieces(void)
{
	struct modes whole = { .at = MODES_GROUND }, each = { .at = MODES_GROUND };
	modes_feed(&whole, tui, sizeof(tui) - 1);
	for (size_t i = 0; i < sizeof(tui) - 1; i++)
		modes_feed(&each, tui + i, 1);
	CLEANUP(free_ptr)
	char *a = mem_strdup(repeat_text(&whole)),
	     *b = mem_strdup(repeat_text(&each));
	is_str(a, b, "byte after byte is as all at once");
	ok(modes_alternate(&whole) && !modes_on(&whole, 25, true) && modes_on(&whole, 1006, false),
	   "screen, cursor, mouse");
	is_str(whole.title, "an agent", "the title");
	ok(modes_quiet(&whole), "nothing is begun");
	modes_feed(&whole, "\x1b[?20", 5);
	ok(!modes_quiet(&whole), "a sequence is");
}

static void back(void)
{
	struct modes m = { .at = MODES_GROUND };
	modes_feed(&m, tui, sizeof(tui) - 1);
	const char *text = undo_text(&m, false);
	ok(has(text, "\x1b[?1000l") && has(text, "\x1b[?1002l") && has(text, "\x1b[?2004l") &&
		   has(text, "\x1b[?2031l"),
	   "modes are off");
	ok(has(text, "\x1b[?25h") && has(text, "\x1b[?1049l") && has(text, "\x1b[0 q"),
	   "cursor and screen are back");
	ok(has(text, "\x1b[<8u") && has(text, "\x1b[>4m") && has(text, "\x1b]111\a"),
	   "keyboard and colors are back");
	ok(!has(undo_text(&m, true), "1049l"), "the screen can be left as it is");
	struct modes again = { .at = MODES_GROUND };
	CLEANUP(free_ptr) char *repeat = mem_strdup(repeat_text(&m));
	modes_feed(&again, repeat, strlen(repeat));
	is_str(repeat_text(&again), repeat, "restoring twice gives the same modes");
	static const char off[] =
		"\x1b[?1049l\x1b[?25h\x1b[?1000;1002;1006;2004;1004;2031l\x1b[<u\x1b[>4m\x1b[0 q\x1b>\x1b]111\a";
	modes_feed(&m, off, sizeof(off) - 1);
	ok(!has(undo_text(&m, false), "1049"),
	   "what the program has switched off itself is not switched off again");
}

static void stacks(void)
{
	struct modes m = { .at = MODES_GROUND };
	modes_feed(&m, "\x1b[>1u\x1b[?1049h\x1b[>7u\x1b[>5u", 23);
	is_int(m.kitty[0].depth, 1, "the main screen has its own stack");
	is_int(m.kitty[1].depth, 2, "so has the other one");
	modes_feed(&m, "\x1b[<u", 4);
	is_int(m.kitty[1].flags[m.kitty[1].depth - 1], 7, "the flags pushed earlier apply again");
	for (int i = 0; i < 40; i++)
		modes_feed(&m, "\x1b[>3u", 5);
	is_int(m.kitty[1].depth, MODES_KITTY, "it is bounded");
	modes_feed(&m, "\x1b[=2;2u", 7);
	is_int(m.kitty[1].flags[MODES_KITTY - 1], 3, "flags that are there already stay");
	modes_feed(&m,
		   "\x1b"
		   "c",
		   2);
	ok(!modes_alternate(&m) && !m.kitty[0].depth, "a reset is one");
}

/* A screen painted from the model is the screen. */
static void painted(void)
{
	struct vt *a = vt_new(10, 40, false), *b = vt_new(10, 40, false);
	CLEANUP(buf_release)
	struct buf paint = BUF_INIT,
		   one = BUF_INIT, two = BUF_INIT, again = BUF_INIT;
	static const char text[] =
		"\x1b[2J\x1b[1;31mred\x1b[0m plain \x1b[48;2;1;2;3mback\x1b[0m\r\n\x1b[5;30Hwide \xe4\xb8\xad\xe6\x96\x87\x1b[10;1H"
		"\x1b[7mlast row\x1b[0m\x1b[3;7H";
	vt_feed(a, text, sizeof(text) - 1);
	vt_paint(a, &paint);
	vt_feed(b, paint.data, paint.len);
	vt_rows(a, &one);
	vt_rows(b, &two);
	is_str(buf_cstr(&two), buf_cstr(&one), "the same rows");
	vt_paint(b, &again);
	is_str(buf_cstr(&again), buf_cstr(&paint), "the same colors, and the cursor where it was");
	vt_free(&a);
	vt_free(&b);
}

int main(void)
{
	pieces();
	back();
	stacks();
	painted();
	return done_testing();
}
