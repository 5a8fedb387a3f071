/* Turns a terminal's bytes into keys, in chunks of any size. */
#include <string.h>

#include "tap.h"
#include "ui/term/input.h"

/* All keys of @bytes, given in pieces of @piece, as text. */
static void read_all(const char *bytes, size_t len, size_t piece, struct buf *out)
{
	struct input in = { 0 };
	buf_reset(out);
	for (size_t i = 0; i < len; i += piece) {
		size_t n = len - i < piece ? len - i : piece;
		input_feed(&in, bytes + i, n);
		for (uint32_t k; (k = input_key(&in, false)) != KEY_NONE_;)
			buf_printf(out, "%x ", k);
	}
	for (uint32_t k; (k = input_key(&in, true)) != KEY_NONE_;)
		buf_printf(out, "%x ", k);
}

static void keys(const char *bytes, const uint32_t *want, size_t nr, const char *name)
{
	CLEANUP(buf_release) struct buf w = BUF_INIT, got = BUF_INIT, one = BUF_INIT;
	for (size_t i = 0; i < nr; i++)
		buf_printf(&w, "%x ", want[i]);
	read_all(bytes, strlen(bytes), 1000, &got);
	is_str(buf_cstr(&got), buf_cstr(&w), name);
	read_all(bytes, strlen(bytes), 1, &one);
	if (strcmp(buf_cstr(&one), buf_cstr(&w)) != 0)
		is_str(buf_cstr(&one), buf_cstr(&w), "the same byte by byte");
}
#define KEYS(bytes, name, ...)                                                                  \
	do {                                                                                    \
		const uint32_t want_[] = { __VA_ARGS__ };                                       \
		keys((bytes), want_, sizeof(want_) / sizeof(*want_), (name));                   \
	} while (0)

static void mouse(void)
{
	struct input in = { 0 };
	static const char bytes[] =
		"\x1b[<0;5;3M\x1b[<32;6;3M\x1b[<0;6;3m\x1b[<64;1;1M\x1b[<65;1;1M\x1b[<2;1;1M\x1b[<128;1;1M";
	input_feed(&in, bytes, sizeof(bytes) - 1);
	static const struct { enum mouse_kind kind; int row, col; } want[] = {
		{ MOUSE_PRESS, 2, 4 }, { MOUSE_DRAG, 2, 5 }, { MOUSE_RELEASE, 2, 5 }, { MOUSE_WHEEL_UP, 0, 0 },
		{ MOUSE_WHEEL_DOWN, 0, 0 } };
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		uint32_t k = input_key(&in, false);
		ok(k == K_MOUSE && in.mouse.kind == want[i].kind && in.mouse.row == want[i].row &&
		   in.mouse.col == want[i].col, "mouse event %zu", i);
	}
	is_int(input_key(&in, true), KEY_NONE_, "the other buttons are the terminal's");
}

static void endless(void)
{
	struct input in = { 0 };
	input_feed(&in, "\x1b]11;", 5);
	for (int i = 0; i < 5000; i++) {
		while (input_key(&in, false) != KEY_NONE_)
			;
		input_feed(&in, "x", 1);
	}
	input_feed(&in, "\x07", 1);
	while (input_key(&in, true) != KEY_NONE_)
		;
	input_feed(&in, "j", 1);
	is_int(input_key(&in, false), 'j', "a string without end is given up");
}

int main(void)
{
	KEYS("aZ \r\t", "characters", 'a', 'Z', ' ', K_ENTER, K_TAB);
	KEYS("\x7f\x08\x03", "backspace, control", K_BACKSPACE, K_BACKSPACE, 3);
	KEYS("\xe6\x96\x87\xc3\xa9", "UTF-8", 0x6587, 0xe9);
	KEYS("\xff\xc3(", "broken UTF-8 is nothing", '(');
	KEYS("\x1b[A\x1b[B\x1b[C\x1b[D\x1bOA\x1b[H\x1b[F\x1b[Z", "arrows", K_UP, K_DOWN, K_RIGHT, K_LEFT, K_UP, K_HOME,
	     K_END, K_STAB);
	KEYS("\x1b[1;5A\x1b[5~\x1b[6;2~\x1b[3~\x1b[1~\x1b[4~\x1b[7~", "with modifiers, pages", K_UP, K_PGUP, K_PGDN,
	     K_DEL, K_HOME, K_END, K_HOME);
	KEYS("\x1bOP\x1b[11~\x1b[[A\x1b[15~\x1b[21~\x1b[[E", "function keys of xterm, rxvt, linux", K_F1, K_F1, K_F1,
	     K_F5, K_F10, K_F5);
	KEYS("\x1b", "Esc", K_ESC);
	KEYS("\x1bj", "Esc and a letter", K_ESC, 'j');
	KEYS("\x1b\x1b[A", "Esc and an arrow", K_ESC, K_UP);
	KEYS("\x1b[I\x1b[O", "focus", K_FOCUS_IN, K_FOCUS_OUT);
	keys("\x1b[?1;2c\x1b[>41;1c\x1b[5;7R\x1b[?2026;2$y\x1b[8;24;80t\x1b[0n", NULL, 0, "terminal reports are not keys");
	KEYS("\x1b]11;rgb:1111/2222/3333\x1b\\y", "an answer about colours, then y", 'y');
	KEYS("\x1b]11;rgb:1111/2222/3333\x07y\x1bP1$r0m\x1b\\n", "and others", 'y', 'n');
	KEYS("\x1b[200~yn\r\x1b[201~j", "pasted keys carry the paste flag", 'y' | K_PASTED, 'n' | K_PASTED, K_ENTER | K_PASTED, 'j');
	KEYS("\x1b[M !!q", "the old mouse format", 'q');
	KEYS("\x1b[12", "half a sequence is Esc, not digits", K_ESC);
	mouse();
	endless();
	return done_testing();
}
