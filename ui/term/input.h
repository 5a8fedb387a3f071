/* What a terminal sends, as keys: characters, special keys, the mouse, focus, pasted text.
 *
 * Rules: 1. Keys are read here and not by curses, so that nothing that looks like a report (answers
 * to queries, also late
 *    ones: CSI ... c, y, R, t, n and every OSC, DCS, APC, PM, SOS string) is ever taken for keys.
 *    It is thrown away.
 * 2. A lone ESC is the Esc key only after nothing has followed it for INPUT_ESC_MS; input_waits
 * says that one is open. 3. Pasted characters carry K_PASTED: they are text for a prompt and can
 * never be a command. 4. A string without end is given up after 4 KiB, a sequence after 64 bytes.
 * Pure: bytes in, keys out. One thread. */
#ifndef UI_INPUT_H
#define UI_INPUT_H

#include "ui/term/term.h"

enum { INPUT_ESC_MS = 25 };

struct input {
	unsigned char byte[512];
	size_t len;
	size_t string; /* > 0: inside a string, of which that many bytes were discarded */
	bool paste;
	struct mouse mouse;
};

size_t input_room(const struct input *in);
void input_feed(struct input *in, const void *bytes, size_t len); /* at most input_room */
/* The next key, KEY_NONE_ if none is complete; @idle: nothing more has come for INPUT_ESC_MS. */
uint32_t input_key(struct input *in, bool idle);
bool input_waits(const struct input *in);
void input_clear(struct input *in);

#endif
