#include "ui/rows/pty.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "record/read/session.h"
#include "ui/term/fmt.h"
#include "ui/term/vt.h"

enum { STREAM_PTY = 3, STEP = 2 << 20, PIECE = 256 << 10 };

struct pty_pane {
	uint64_t action, from, fed; /* bytes of the stream: where it began, how far it is */
	struct vt *vt;
};

static void pty_release(struct source *s)
{
	vt_free(&s->pty->vt);
	free(s->pty);
	s->pty = NULL;
}

static void pty_begin(struct pty_pane *p, struct source *s, uint64_t action, uint64_t from)
{
	CLEANUP(json_release) json_t *o = source_body(s, action);
	const json_t *args = json_object_get(o, "args");
	const char *tool = json_str(o, "tool", "");
	bool shell = strncmp(tool, "shell", 5) == 0;
	vt_free(&p->vt);
	p->vt = vt_new((int)json_int(args, "rows", shell ? 40 : 24),
		       (int)json_int(args, "cols", shell ? 120 : 80), shell);
	p->action = action;
	p->from = p->fed = from;
}

/* Up to @to, each change of size at its own place. */
static void pty_feed(struct pty_pane *p, struct source *s, uint64_t to)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	struct err err = ERR_INIT;
	size_t k = 0;
	const struct model *m = &s->model;
	while (p->fed < to) {
		uint64_t stop = to;
		for (k = 0; k < m->nr_sizes; k++) {
			const struct model_size *z = &m->size[k];
			if (z->action != p->action)
				continue;
			if (z->at <= p->fed)
				vt_resize(p->vt, z->rows, z->cols);
			else if (z->at < stop)
				stop = z->at;
		}
		size_t n = stop - p->fed < PIECE ? (size_t)(stop - p->fed) : PIECE;
		buf_reset(&b);
		if (session_output(s->session, p->action, STREAM_PTY, p->fed, n, &b, &err) < 0 ||
		    b.len == 0)
			break;
		vt_feed(p->vt, b.data, b.len);
		p->fed += b.len;
	}
	for (k = 0; k < m->nr_sizes; k++)
		if (m->size[k].action == p->action && m->size[k].at <= p->fed)
			vt_resize(p->vt, m->size[k].rows, m->size[k].cols);
}

void pane_pty(struct text *t, struct source *s, uint64_t action)
{
	const struct model_action *act = model_action(&s->model, action);
	if (!act)
		return;
	uint64_t to = act->pty_bytes, from = to > 2 * STEP ? to / STEP * STEP - STEP : 0;
	if (!s->pty) {
		s->pty = NEW(struct pty_pane);
		s->pty_free = pty_release;
	}
	struct pty_pane *p = s->pty;
	if (!p->vt || p->action != action || p->from != from || p->fed > to)
		pty_begin(p, s, action, from);
	pty_feed(p, s, to);
	if (from > 0)
		text_putf(t, ROLE_DIM, "(%s bytes before this: 'out %" PRIu64 "' prints all of it)",
			  fmt_count(t->arena, (int64_t)from), action);
	vt_text(p->vt, t);
}
