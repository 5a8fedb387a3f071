/* Frames on their way into the write-ahead log. SQLite hands over each of them as a head and a
 * page, one after the other: here they are put together, so that those of a transaction go out in
 * one call, in front of every barrier.
 *
 * It knows nothing of files. One thread. */
#ifndef RECORD_FRAMES_H
#define RECORD_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/read/page_checksum.h"

/* SQLite writes up to 128 KB at once */
enum { FRAME_HEAD = 24, FRAME_LEN = FRAME_HEAD + SUMS_PAGE, FRAMES_MAX = 30 };

struct frames {
	uint8_t *bytes; /* owns; FRAMES_MAX of them */
	size_t len;	/* the last one may be a head without its page */
	int64_t at;	/* in the log */
};

/* Takes a head, or the page of the last head, if it continues the frames held or @f is empty.
 * False: it doesn't, or no space is left; nothing has changed. */
bool frames_take(struct frames *f, const void *bytes, int len, int64_t at);
/* They are to go out now: a transaction ends here, which others must be able to read, or no more go
 * in. */
bool frames_due(const struct frames *f);
/* The one at *@at (0 at first), or its head alone, which *@len_out tells; NULL: no more.
 * Borrows. */
const uint8_t *frames_next(const struct frames *f, size_t *at, int *len_out);
/* Does its head say that a transaction ends with it? */
bool frame_ends(const uint8_t head[FRAME_HEAD]);
void frames_clear(struct frames *f);
void frames_release(struct frames *f);

#endif
