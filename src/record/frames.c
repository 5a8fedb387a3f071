#include "record/frames.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

bool frames_take(struct frames *f, const void *bytes, int len, int64_t at)
{
	bool head = f->len % FRAME_LEN == 0;
	if (len != (head ? FRAME_HEAD : SUMS_PAGE) || (f->len && at != f->at + (int64_t)f->len) ||
	    f->len == FRAMES_MAX * FRAME_LEN)
		return false;
	if (!f->bytes)
		f->bytes = mem_alloc(FRAMES_MAX * FRAME_LEN);
	if (!f->len)
		f->at = at;
	memcpy(f->bytes + f->len, bytes, (size_t)len);
	f->len += (size_t)len;
	return true;
}

/* Its head names the size of the database then. */
bool frame_ends(const uint8_t head[FRAME_HEAD])
{
	return memcmp(head + 4, "\0\0\0", 4) != 0;
}

bool frames_due(const struct frames *f)
{
	bool whole = f->len && f->len % FRAME_LEN == 0;
	return whole &&
	       (f->len == FRAMES_MAX * FRAME_LEN || frame_ends(f->bytes + f->len - FRAME_LEN));
}

const uint8_t *frames_next(const struct frames *f, size_t *at, int *len_out)
{
	size_t left = f->len - *at;
	const uint8_t *frame = left ? f->bytes + *at : NULL;
	*len_out = left < FRAME_LEN ? (int)left : FRAME_LEN;
	*at += (size_t)*len_out;
	return frame;
}

void frames_clear(struct frames *f)
{
	f->len = 0;
}

void frames_release(struct frames *f)
{
	free(f->bytes);
	*f = (struct frames){ 0 };
}
