/* Fewer bytes for the same picture: what curses writes, without the changes of attributes that
 * nobody would see.
 *
 * Terminfo knows only "everything off", so curses says up to 13 bytes after each run of colour.
 * Here the attributes that are wanted are kept, and said by the shortest change when something is
 * printed that shows them: a blank shows neither colour nor boldness, a cursor that moves shows
 * nothing. What the terminal was told last is remembered from frame to frame.
 *
 * Rules: 1. Understood are CSI ... m of single attributes, "ESC ( B" and SI (the plain character
 * set, which we never leave). All
 *    other bytes pass through as they are, in order.
 * 2. Attributes that we do not know (a background, blinking) are passed on as they came, and
 * nothing is left out until the
 *    next "everything off".
 * 3. A scroll region of the whole screen (@rows) is said by its short form, CSI r. 4. Erasing shows
 * underline and reverse on some terminals: it comes after what is wanted of these. */
#ifndef UI_SQUEEZE_H
#define UI_SQUEEZE_H

#include "base/buf.h"

struct pen {
	int fg; /* 0 to 255, -1 the terminal's own */
	bool bold, underline, reverse;
};

struct squeeze {
	struct pen wanted, told;
	bool foreign; /* rule 2 */
	int rows;     /* of the screen; 0 not known */
};

#define SQUEEZE_INIT                                                                               \
	{                                                                                          \
		.wanted = { .fg = -1 }, .told = {.fg = -1 }                                        \
	}

/* Appends one frame (whole sequences) to @out. */
void squeeze_frame(struct squeeze *s, const char *frame, size_t len, struct buf *out);
/* Says what is wanted now, whatever is printed next: before somebody else writes to the
 * terminal. */
void squeeze_settle(struct squeeze *s, struct buf *out);

#endif
