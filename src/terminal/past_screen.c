#include "terminal/past_screen.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "record/record.h"

enum {
	LOOK_MS = 25,
	PIECE = 256 << 10,
	PAST_MAX = 32 << 20, /* bytes of earlier output that make the screen, without a keyframe */
};

struct past_size {
	uint64_t at;
	int rows, cols;
};

struct past {
	const struct past_screen *p;
	uint64_t at; /* bytes of output so far */
	struct past_size *size;
	size_t nr_sizes, cap_sizes;
	struct buf key; /* empty: no keyframe */
	struct past_size key_size;
	bool stopped;
};

static void past_size_came(struct past *x, const json_t *body, bool key)
{
	struct past_size z = { key ? (uint64_t)json_int(body, "at", 0) : x->at,
			       (int)json_int(body, "rows", 24), (int)json_int(body, "cols", 80) };
	if (!key) {
		GROW(x->size, x->nr_sizes, x->cap_sizes);
		x->size[x->nr_sizes++] = z;
	} else if (z.at <= x->p->offset) {
		buf_reset(&x->key);
		json_get_bytes(json_object_get(body, "data"), &x->key);
		x->key_size = z;
	}
}

static void past_event(struct past *x, const struct event *ev, struct err *err)
{
	CLEANUP(json_release)
	json_t *body = json_parse(ev->body ? ev->body : "{}", ev->body ? ev->len : 2, "event", err);
	if (ev->kind == EV_OUTPUT) {
		x->at += json_int(body, "stream", 0) == STREAM_PTY
				 ? (uint64_t)json_int(body, "len", 0)
				 : 0;
		return;
	}
	if (ev->kind == EV_PROC_RESIZE || ev->kind == EV_TERMINAL_ATTACHED ||
	    ev->kind == EV_TERMINAL_SCREEN)
		past_size_came(x, body, ev->kind == EV_TERMINAL_SCREEN);
	x->stopped = !x->p->event(x->p->self, ev);
}

static int past_events(struct past *x, struct feed *f, struct err *err)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	while (x->at < x->p->offset && !x->stopped) {
		struct event ev;
		int rc = feed_next(f, &ev, &a, 0, err);
		if (rc < 0)
			return -1;
		if (rc == 0)
			poll(NULL, 0, LOOK_MS);
		else
			past_event(x, &ev, err);
		arena_reset(&a);
	}
	return 0;
}

/* One piece, which ends where the size changes. */
static int past_piece(struct past *x, uint64_t *at, size_t *next, struct err *err)
{
	const struct past_screen *p = x->p;
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	while (*next < x->nr_sizes && x->size[*next].at <= *at) {
		screen_model_resize(p->screen, x->size[*next].rows, x->size[*next].cols);
		(*next)++;
	}
	uint64_t end = *next < x->nr_sizes ? x->size[*next].at : x->at;
	size_t n = end - *at < PIECE ? (size_t)(end - *at) : PIECE;
	if (session_output(p->session, p->action, STREAM_PTY, *at, n, &out, err) < 0)
		return -1;
	if (!out.len)
		return 0;
	*at += out.len;
	if (p->output && !x->key.len)
		p->output(p->self, &out);
	modes_feed(p->modes, out.data, out.len);
	if (x->key.len || *at + PAST_MAX >= p->offset)
		screen_model_feed(p->screen, out.data, out.len);
	return 1;
}

int past_screen_read(const struct past_screen *p, struct feed *f, struct err *err)
{
	struct past x = { .p = p };
	uint64_t at = 0;
	size_t next = 0;
	int rc = past_events(&x, f, err);
	if (rc == 0 && x.key.len) {
		at = x.key_size.at;
		screen_model_resize(p->screen, x.key_size.rows, x.key_size.cols);
		screen_model_feed(p->screen, x.key.data, x.key.len);
		modes_feed(p->modes, x.key.data, x.key.len);
		while (next < x.nr_sizes && x.size[next].at < at)
			next++;
	}
	while (rc >= 0 && at < x.at && (rc = past_piece(&x, &at, &next, err)) > 0)
		;
	buf_release(&x.key);
	free(x.size);
	return rc < 0 ? -1 : 0;
}
