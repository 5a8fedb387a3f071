#include "ui/rows/pty.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "record/read/session.h"
#include "ui/term/fmt.h"
#include "ui/term/vt.h"

enum { STREAM_PTY = 3, STEP = 2 << 20, PIECE = 256 << 10, WHOLE_MAX = 32 << 20 };

struct pty_pane {
	uint64_t action, start, from, fed; /* bytes of the stream: asked to begin, began, is now */
	size_t next_size;		   /* of the model's, to apply */
	struct vt *vt;
};

static void pty_release(struct source *s)
{
	vt_free(&s->pty->vt);
	free(s->pty);
	s->pty = NULL;
}

/* Of the action's last keyframe at or before @at; NULL: none. */
static const struct model_size *pty_keyframe(const struct model *m, uint64_t action, uint64_t at)
{
	const struct model_size *best = NULL;
	for (size_t i = 0; i < m->nr_sizes; i++) {
		const struct model_size *z = &m->size[i];
		if (z->action == action && z->key && z->at <= at && (!best || z->at >= best->at))
			best = z;
	}
	return best;
}

static void pty_from_start(struct pty_pane *p, struct source *s)
{
	CLEANUP(json_release) json_t *o = source_body(s, p->action);
	const json_t *args = json_object_get(o, "args");
	bool shell = strncmp(json_str(o, "tool", ""), "shell", 5) == 0;
	p->vt = vt_new((int)json_int(args, "rows", shell ? 40 : 24),
		       (int)json_int(args, "cols", shell ? 120 : 80), shell);
}

static bool pty_from_keyframe(struct pty_pane *p, struct source *s, const struct model_size *z)
{
	CLEANUP(json_release) json_t *o = z ? source_body(s, z->key) : NULL;
	CLEANUP(json_release) json_t *action = source_body(s, p->action);
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (!json_get_bytes(json_object_get(o, "data"), &b))
		return false; /* none, or it is redacted */
	p->vt = vt_new(z->rows, z->cols, strncmp(json_str(action, "tool", ""), "shell", 5) == 0);
	vt_feed(p->vt, b.data, b.len);
	p->from = z->at;
	return true;
}

static void pty_begin(struct pty_pane *p, struct source *s, uint64_t action, uint64_t start)
{
	vt_free(&p->vt);
	p->action = action;
	p->start = start;
	p->from = 0;
	p->next_size = 0;
	if (start && pty_from_keyframe(p, s, pty_keyframe(&s->model, action, start))) {
		p->fed = p->from;
		return;
	}
	pty_from_start(p, s);
	if (start > WHOLE_MAX) /* a recording of an older version: not exact */
		p->from = start;
	p->fed = p->from;
}

/* The next change of size of the terminal, from where it was made; NULL: none. */
static const struct model_size *pty_next_size(struct pty_pane *p, const struct model *m)
{
	for (; p->next_size < m->nr_sizes; p->next_size++) {
		const struct model_size *z = &m->size[p->next_size];
		if (z->action == p->action && !z->key && z->at >= p->from)
			return z;
	}
	return NULL;
}

/* Up to @to, each change of size at its own place. */
static void pty_feed(struct pty_pane *p, struct source *s, uint64_t to)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	struct err err = ERR_INIT;
	for (;;) {
		const struct model_size *z = pty_next_size(p, &s->model);
		if (z && z->at <= p->fed) {
			vt_resize(p->vt, z->rows, z->cols);
			p->next_size++;
			continue;
		}
		uint64_t stop = z && z->at < to ? z->at : to;
		size_t n = stop - p->fed < PIECE ? (size_t)(stop - p->fed) : PIECE;
		buf_reset(&b);
		if (!n ||
		    session_output(s->session, p->action, STREAM_PTY, p->fed, n, &b, &err) < 0 ||
		    b.len == 0)
			return;
		vt_feed(p->vt, b.data, b.len);
		p->fed += b.len;
	}
}

void pane_pty(struct text *t, struct source *s, uint64_t action)
{
	const struct model_action *act = model_action(&s->model, action);
	if (!act)
		return;
	uint64_t to = act->pty_bytes, start = to > 2 * STEP ? to / STEP * STEP - STEP : 0;
	if (!s->pty) {
		s->pty = NEW(struct pty_pane);
		s->pty_free = pty_release;
	}
	struct pty_pane *p = s->pty;
	if (!p->vt || p->action != action || p->start != start || p->fed > to ||
	    p->next_size > s->model.nr_sizes)
		pty_begin(p, s, action, start);
	pty_feed(p, s, to);
	if (p->from > 0)
		text_putf(t, ROLE_DIM, "(%s bytes before this: 'out %" PRIu64 "' prints all of it)",
			  fmt_count(t->arena, (int64_t)p->from), action);
	vt_text(p->vt, t);
}
