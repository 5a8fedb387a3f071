#include "terminal/screen_model.h"

#include "base/mem.h"
#include "ui/term/vt.h"

struct screen_model {
	struct vt *vt;
	struct buf later; /* not fed yet */
	int rows, cols;
};

struct screen_model *screen_model_new(int rows, int cols)
{
	struct screen_model *m = NEW(struct screen_model);
	m->vt = vt_new(rows, cols, false);
	m->later = BUF_INIT;
	m->rows = rows;
	m->cols = cols;
	return m;
}

void screen_model_free(struct screen_model **m)
{
	if (*m) {
		vt_free(&(*m)->vt);
		buf_release(&(*m)->later);
		free(*m);
	}
	*m = NULL;
}

/* Keeps only the last SCREEN_MODEL_MAX bytes. */
static void screen_model_forget(struct screen_model *m)
{
	CLEANUP(buf_release) struct buf end = BUF_INIT;
	buf_append(&end, m->later.data + m->later.len - SCREEN_MODEL_MAX, SCREEN_MODEL_MAX);
	buf_reset(&m->later);
	buf_append(&m->later, end.data, end.len);
	vt_free(&m->vt);
	m->vt = vt_new(m->rows, m->cols, false);
}

void screen_model_feed(struct screen_model *m, const void *bytes, size_t len)
{
	if (!m)
		return;
	buf_append(&m->later, bytes, len);
	if (m->later.len > (size_t)SCREEN_MODEL_MAX * 2)
		screen_model_forget(m);
}

bool screen_model_pending(const struct screen_model *m)
{
	return m && m->later.len > 0;
}

void screen_model_settle(struct screen_model *m)
{
	if (!screen_model_pending(m))
		return;
	vt_feed(m->vt, m->later.data, m->later.len);
	buf_reset(&m->later);
}

void screen_model_resize(struct screen_model *m, int rows, int cols)
{
	if (!m)
		return;
	screen_model_settle(m);
	m->rows = rows;
	m->cols = cols;
	vt_resize(m->vt, rows, cols);
}

void screen_model_paint(struct screen_model *m, struct buf *out)
{
	if (!m)
		return;
	screen_model_settle(m);
	vt_paint(m->vt, out);
}
