/* Fewer bytes for the same picture: the output of curses without invisible changes of attributes.
 *
 * Terminfo knows only "everything off", so curses sends up to 13 bytes after each run of color. The
 * wanted attributes are kept here, and sent by the shortest change once a printed character shows
 * them. A blank shows neither color nor boldness, a moving cursor shows nothing. The last
 * attributes sent are remembered from frame to frame.
 *
 * 1. Understood are CSI ... m of single attributes, "ESC ( B" and SI (the plain character set,
 *    which we never leave). All other bytes pass through unchanged, in order.
 * 2. Unknown attributes (a background, blinking) are passed on unchanged, and nothing is left out
 *    until the next "everything off".
 * 3. A scroll region of the whole screen (@rows) is sent in its short form, CSI r.
 * 4. Erasing shows underline and reverse on some terminals: it comes after their wanted state
 *    was sent. */
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
/* Sends the wanted attributes now, before another program writes to the terminal. */
void squeeze_settle(struct squeeze *s, struct buf *out);

#endif
