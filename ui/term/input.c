#include "ui/term/input.h"

#include <string.h>

#include "base/text/utf8.h"

enum { SEQUENCE_MAX = 64, STRING_MAX = 4096, MORE = -1 };

size_t input_room(const struct input *in)
{
	return sizeof(in->byte) - in->len;
}

void input_feed(struct input *in, const void *bytes, size_t len)
{
	len = len < input_room(in) ? len : input_room(in);
	memcpy(in->byte + in->len, bytes, len);
	in->len += len;
}

bool input_waits(const struct input *in)
{
	return in->len > 0 || in->string > 0;
}

void input_clear(struct input *in)
{
	*in = (struct input){ 0 };
}

static void input_eat(struct input *in, size_t n)
{
	in->len -= n;
	memmove(in->byte, in->byte + n, in->len);
}

/* Numbers of a control sequence; those left out are 0. */
struct params {
	int nr, value[8];
	char mark; /* '<', '?', '>', '=' or 0 */
};

static struct params read_params(const unsigned char *p, size_t len)
{
	struct params out = { .nr = 1 };
	for (size_t i = 0; i < len; i++) {
		int *v = &out.value[out.nr - 1];
		if (p[i] >= '<' && p[i] <= '?' && i == 0)
			out.mark = (char)p[i];
		else if (p[i] >= '0' && p[i] <= '9')
			*v = *v < 100000 ? *v * 10 + (p[i] - '0') : *v;
		else if ((p[i] == ';' || p[i] == ':') && out.nr < 8)
			out.nr++;
	}
	return out;
}

static uint32_t input_tilde(struct input *in, int n)
{
	static const uint32_t keys[] = {
		[1] = K_HOME, [3] = K_DEL, [4] = K_END, [5] = K_PGUP, [6] = K_PGDN, [7] = K_HOME,
		[8] = K_END,  [11] = K_F1, [12] = K_F2, [13] = K_F3,  [14] = K_F4,  [15] = K_F5,
		[17] = K_F6,  [18] = K_F7, [19] = K_F8, [20] = K_F9,  [21] = K_F10,
	};
	if (n == 200 || n == 201)
		in->paste = n == 200;
	return n > 0 && n < (int)ARRAY_LEN(keys) ? keys[n] : KEY_NONE_;
}

static uint32_t input_letter(char c)
{
	static const char letters[] = "ABCDHFZPQRS";
	static const uint32_t keys[] = { K_UP,	 K_DOWN, K_RIGHT, K_LEFT, K_HOME, K_END,
					 K_STAB, K_F1,	 K_F2,	  K_F3,	  K_F4 };
	const char *at = c ? strchr(letters, c) : NULL;
	return at ? keys[at - letters] : KEY_NONE_;
}

/* SGR form: bits 0-1 the button, 5 moved, 6 wheel. */
static uint32_t input_mouse(struct input *in, const struct params *p, char final)
{
	int b = p->value[0];
	enum mouse_kind kind = final == 'm' ? MOUSE_RELEASE : (b & 32) ? MOUSE_DRAG : MOUSE_PRESS;
	if (p->nr < 3 || p->value[1] < 1 || p->value[2] < 1 || (b & 128))
		return KEY_NONE_;
	if (b & 64)
		kind = (b & 3) == 0 ? MOUSE_WHEEL_UP : MOUSE_WHEEL_DOWN;
	else if ((b & 3) != 0)
		return KEY_NONE_; /* the other buttons are the terminal's own */
	if ((b & 64) && ((b & 3) > 1 || final == 'm'))
		return KEY_NONE_;
	in->mouse = (struct mouse){ .kind = kind, .col = p->value[1] - 1, .row = p->value[2] - 1 };
	return K_MOUSE;
}

static uint32_t input_control(struct input *in, const struct params *p, bool plain, char final)
{
	if (p->mark == '<' && (final == 'M' || final == 'm'))
		return input_mouse(in, p, final);
	if (p->mark || !plain)
		return KEY_NONE_; /* a report */
	bool shift = p->nr > 1 && p->value[1] == 2;
	if (shift && ((final == 'R' && p->value[0] == 1) || (final == '~' && p->value[0] == 13)))
		return K_SF3;
	if (final == '~')
		return input_tilde(in, p->value[0]);
	if (final == 'I' || final == 'O')
		return final == 'I' ? K_FOCUS_IN : K_FOCUS_OUT;
	if (final == 'R' && p->nr > 1 && p->value[0] != 1)
		return KEY_NONE_; /* where the cursor is */
	return input_letter(final);
}

/* ESC [ ...: bytes used, MORE if it has no end yet. */
static int input_sequence(struct input *in, uint32_t *key)
{
	const unsigned char *p = in->byte;
	size_t i = 2;
	if (in->len > 2 && p[2] == '[') { /* F1 to F5 of the Linux console */
		if (in->len < 4)
			return MORE;
		*key = p[3] >= 'A' && p[3] <= 'E' ? (uint32_t)K_F1 + (uint32_t)(p[3] - 'A')
						  : KEY_NONE_;
		return 4;
	}
	if (in->len > 2 && p[2] == 'M') /* the old mouse form, which we never ask for */
		return in->len < 6 ? MORE : 6;
	while (i < in->len && p[i] >= 0x30 && p[i] <= 0x3f)
		i++;
	size_t end = i;
	while (i < in->len && p[i] >= 0x20 && p[i] <= 0x2f)
		i++;
	if (i >= SEQUENCE_MAX)
		return SEQUENCE_MAX;
	if (i == in->len)
		return MORE;
	struct params params = read_params(p + 2, end - 2);
	if (p[i] >= 0x40 && p[i] <= 0x7e)
		*key = input_control(in, &params, i == end, (char)p[i]);
	else
		return (int)i; /* broken off: what breaks it is read anew */
	return (int)i + 1;
}

static int input_escape(struct input *in, uint32_t *key, bool idle)
{
	int n;
	if (in->len < 2) {
		*key = K_ESC;
		return idle ? 1 : MORE;
	}
	switch (in->byte[1]) {
	case '[':
		n = input_sequence(in, key);
		/* typed by hand, slowly: Esc, and the rest means nothing */
		if (n == MORE && idle) {
			*key = K_ESC;
			return (int)in->len;
		}
		return n;
	case 'O':
		if (in->len < 3 && !idle)
			return MORE;
		*key = in->len < 3	    ? (uint32_t)K_ESC
		       : in->byte[2] == 'M' ? (uint32_t)K_ENTER
					    : input_letter((char)in->byte[2]);
		return in->len < 3 ? 2 : 3;
	case ']':
	case 'P':
	case '_':
	case '^':
	case 'X':
		in->string = 1;
		return 2;
	default:
		*key = K_ESC;
		return 1;
	}
}

/* Throws away up to the end of the string: BEL or ESC \. */
static void input_skip_string(struct input *in, bool idle)
{
	size_t i = 0;
	for (; i < in->len; i++) {
		bool esc = in->byte[i] == 0x1b;
		if (esc && i + 1 == in->len && !idle)
			break; /* what comes next decides */
		if (in->byte[i] == 7 || esc || in->string++ > STRING_MAX) {
			in->string = 0;
			i += esc && i + 1 < in->len && in->byte[i + 1] == '\\' ? 2 : esc ? 0 : 1;
			break;
		}
	}
	input_eat(in, i);
	if (idle)
		in->string = 0;
}

static int input_character(struct input *in, uint32_t *key, bool idle)
{
	uint32_t cp;
	size_t used;
	enum utf8_result r = utf8_next(in->byte, in->len, &cp, &used);
	if (r == UTF8_PARTIAL && !idle)
		return MORE;
	if (r == UTF8_OK && cp != 0)
		*key = cp == '\r'		  ? (uint32_t)K_ENTER
		       : cp == 0x7f || cp == 0x08 ? (uint32_t)K_BACKSPACE
						  : cp;
	return (int)used;
}

uint32_t input_key(struct input *in, bool idle)
{
	for (;;) {
		uint32_t key = KEY_NONE_;
		if (in->string)
			input_skip_string(in, idle);
		if (in->string || in->len == 0)
			return KEY_NONE_;
		int n = in->byte[0] == 0x1b ? input_escape(in, &key, idle)
					    : input_character(in, &key, idle);
		if (n == MORE)
			return KEY_NONE_;
		input_eat(in, (size_t)n);
		if (key != KEY_NONE_ && in->paste && key < KEY_FIRST_)
			return key | K_PASTED;
		if (key != KEY_NONE_)
			return key;
	}
}
