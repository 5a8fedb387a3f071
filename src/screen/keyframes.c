#include "screen/keyframes.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "ui/term/modes.h"
#include "ui/term/vt.h"
#include "wire/screen.h"

enum {
	LATER = 128 << 10,   /* bytes, at least, after which a failed keyframe is tried again */
	LATER_PART = 8,	     /* and this part of what a failed attempt costs to feed again */
	SINCE_MAX = 8 << 20, /* of output without a keyframe */
	SIZE_RATIO = 16,     /* of output to keyframes, at least */
	ESC = 0x1b,
};

struct size_change {
	size_t at; /* in @since */
	int rows, cols;
};

struct keyframes {
	struct vt *vt;
	struct modes modes;
	int rows, cols;
	bool bare_lf;
	uint64_t off, due; /* bytes of output: fed; from which a keyframe is made */
	/* a failed attempt uses up the terminal: it is made anew from these */
	struct buf key, since;
	int key_rows, key_cols;
	struct size_change *size;
	size_t nr_sizes, cap_sizes;
};

static struct vt *keyframes_vt(int rows, int cols, bool bare_lf)
{
	struct vt *v = vt_new(rows, cols, bare_lf);
	vt_forget_back(v);
	return v;
}

struct keyframes *keyframes_new(int rows, int cols, bool bare_lf)
{
	struct keyframes *k = NEW(struct keyframes);
	k->rows = k->key_rows = rows;
	k->cols = k->key_cols = cols;
	k->bare_lf = bare_lf;
	k->due = SCREEN_KEY_EVERY;
	k->vt = keyframes_vt(rows, cols, bare_lf);
	return k;
}

void keyframes_free(struct keyframes **kp)
{
	struct keyframes *k = *kp;
	*kp = NULL;
	if (!k)
		return;
	vt_free(&k->vt);
	buf_release(&k->key);
	buf_release(&k->since);
	free(k->size);
	free(k);
}

void keyframes_resize(struct keyframes *k, int rows, int cols)
{
	GROW(k->size, k->nr_sizes, k->cap_sizes);
	k->size[k->nr_sizes++] = (struct size_change){ k->since.len, rows, cols };
	k->rows = rows;
	k->cols = cols;
	if (k->vt)
		vt_resize(k->vt, rows, cols);
}

static void feed_both(struct keyframes *k, const char *p, size_t len)
{
	buf_append(&k->since, p, len);
	modes_feed(&k->modes, p, len);
	vt_feed(k->vt, p, len);
	k->off += len;
}

static void make_anew(struct keyframes *k)
{
	size_t at = 0;
	k->vt = keyframes_vt(k->key_rows, k->key_cols, k->bare_lf);
	vt_feed(k->vt, k->key.data, k->key.len);
	for (size_t i = 0; i < k->nr_sizes; i++) {
		vt_feed(k->vt, k->since.data + at, k->size[i].at - at);
		at = k->size[i].at;
		vt_resize(k->vt, k->size[i].rows, k->size[i].cols);
	}
	vt_feed(k->vt, k->since.data + at, k->since.len - at);
}

static void key_try(struct keyframes *k, keyframe_fn *fn, void *self)
{
	CLEANUP(buf_release) struct buf key = BUF_INIT;
	if (!vt_again(&k->vt, &k->modes, &key)) {
		make_anew(k);
		size_t later = k->since.len / LATER_PART;
		k->due = k->off + (later > LATER ? later : LATER);
		return;
	}
	fn(self, k->off, k->rows, k->cols, &key);
	buf_release(&k->key);
	k->key = key;
	key = BUF_INIT;
	k->key_rows = k->rows;
	k->key_cols = k->cols;
	buf_reset(&k->since);
	k->nr_sizes = 0;
	size_t every = SIZE_RATIO * k->key.len;
	k->due = k->off + (every > SCREEN_KEY_EVERY ? every : SCREEN_KEY_EVERY);
}

/* Where a keyframe may be: before an escape sequence, after a line. */
static size_t to_next_place(const char *p, size_t len)
{
	for (size_t i = 1; i < len; i++)
		if (p[i] == ESC || p[i - 1] == '\n')
			return i;
	return len;
}

bool keyframes_feed(struct keyframes *k, const void *bytes, size_t len, keyframe_fn *fn, void *self)
{
	const char *p = bytes;
	for (size_t n; len; p += n, len -= n) {
		bool due = k->off >= k->due;
		n = due			    ? to_next_place(p, len)
		    : k->due - k->off < len ? (size_t)(k->due - k->off)
					    : len;
		feed_both(k, p, n);
		if (due && n < len && modes_quiet(&k->modes))
			key_try(k, fn, self);
	}
	return k->since.len < SINCE_MAX + SIZE_RATIO * k->key.len;
}
