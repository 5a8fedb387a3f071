/* Recorded output for a terminal or player, chunk by chunk.
 *
 * Of a pipe: lines end with CR LF, colors stay, every other control is shown as text. Of a
 * terminal (pty): drawing stays; strings for the terminal itself (OSC, DCS, APC, PM, SOS:
 * titles, the clipboard, links) are left out. The result is always complete, valid UTF-8;
 * invalid bytes become U+FFFD or are shown. */
#ifndef EXCHANGE_VETTED_H
#define EXCHANGE_VETTED_H

#include "base/text/sanitize.h"

struct vetted {
	bool pty;
	struct sanitizer pipe;
	unsigned style;	 /* of the last glyph: fg and flags */
	struct buf *out; /* while feeding */
	char tail[4];	 /* pty: the beginning of a character */
	size_t tail_len;
	int state; /* pty: inside of an escape */
};
void vetted_init(struct vetted *v, bool pty);
/* Appends what <bytes, len> looks like to @out. */
void vetted_feed(struct vetted *v, const void *bytes, size_t len, struct buf *out);
void vetted_end(struct vetted *v, struct buf *out);

#endif
