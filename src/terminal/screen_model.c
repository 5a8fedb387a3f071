#include "terminal/screen_model.h"

#include <string.h>

#include "base/mem.h"
#include "terminal/plain_lines.h"
#include "ui/term/modes.h"
#include "ui/term/vt.h"

enum {
	DROP_FROM = 256 << 10, /* pending bytes from which plain lines are dropped */
	LATER_MAX = 1 << 20,   /* no more is pending */
	KEPT = 256 << 10,      /* of lines that scroll */
	LINE = 256,	       /* their mean length at most */
	STRING_MAX = 64 << 10, /* the start of a sequence waits for its end up to this length */
};

struct screen_model {
	struct vt *vt;
	struct modes fed; /* state of the parser after all fed bytes */
	struct buf later; /* not fed yet */
	size_t begun;	  /* its last bytes are the start of a sequence, nothing else is left */
	size_t drop_at;	  /* plain lines are dropped when @later has grown to it */
	bool margins;	  /* set by the fed bytes */
	int rows, cols;
};

struct screen_model *screen_model_new(int rows, int cols)
{
	struct screen_model *m = NEW(struct screen_model);
	m->vt = vt_new(rows, cols, false);
	vt_forget_back(m->vt);
	m->later = BUF_INIT;
	m->drop_at = DROP_FROM;
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

/* Returns how many of the remaining bytes are complete sequences. */
static size_t screen_model_drop(struct screen_model *m, bool *margins)
{
	*margins = m->margins;
	return plain_lines_drop(&m->later, m->rows, !modes_quiet(&m->fed), margins);
}

static void feed_some(struct screen_model *m, size_t len)
{
	modes_feed(&m->fed, m->later.data, len);
	vt_feed(m->vt, m->later.data, len);
	buf_drop(&m->later, len);
	m->drop_at = DROP_FROM;
}

void screen_model_settle(struct screen_model *m)
{
	if (!screen_model_pending(m))
		return;
	size_t complete = screen_model_drop(m, &m->margins);
	if (m->later.len - complete > STRING_MAX) /* no more than an ESC stays of a long string */
		complete = m->later.len - (m->later.data[m->later.len - 1] == '\x1b');
	if (complete)
		feed_some(m, complete);
	m->begun = m->later.len;
}

/* Scrolling costs most, and lines that have scrolled away are not shown. */
static bool mostly_lines(const struct buf *b)
{
	size_t nr = 0;
	const char *p = b->data, *end = p + b->len;
	for (; (p = memchr(p, '\n', (size_t)(end - p))); p++)
		nr++;
	return nr > b->len / LINE;
}

/* Of @len bytes that become no cells, applies the modes: which screen is shown, is there a cursor. */
static void feed_modes(struct screen_model *m, size_t len)
{
	CLEANUP(buf_release) struct buf change = BUF_INIT;
	struct modes before = m->fed;
	modes_feed(&m->fed, m->later.data, len);
	if (!modes_quiet(&m->fed))
		modes_feed(&m->fed, "\x18", 1);
	if (!modes_quiet(&before))
		buf_puts(&change, "\x18");
	bool other = modes_alternate(&before) != modes_alternate(&m->fed);
	modes_undo(&before, !other, &change);
	modes_repeat(&m->fed, other, &change);
	vt_feed(m->vt, change.data, change.len);
}

/* Keeps the last pending lines, from the start of a line or a sequence. */
static void screen_model_forget(struct screen_model *m, size_t complete)
{
	size_t at = m->later.len - KEPT;
	while (at < complete && m->later.data[at] != '\n' && m->later.data[at] != '\x1b')
		at++;
	if (at >= complete) { /* nothing but a string */
		screen_model_settle(m);
		return;
	}
	feed_modes(m, at);
	buf_drop(&m->later, at);
}

void screen_model_feed(struct screen_model *m, const void *bytes, size_t len)
{
	bool margins;
	if (!m)
		return;
	buf_append(&m->later, bytes, len);
	m->begun = 0;
	if (m->later.len < m->drop_at)
		return;
	size_t complete = screen_model_drop(m, &margins);
	if (m->later.len > LATER_MAX && mostly_lines(&m->later))
		screen_model_forget(m, complete);
	else if (m->later.len > LATER_MAX)
		screen_model_settle(m);
	m->drop_at = m->later.len * 2 > DROP_FROM ? m->later.len * 2 : DROP_FROM;
}

size_t screen_model_pending(const struct screen_model *m)
{
	return m ? m->later.len - m->begun : 0;
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
