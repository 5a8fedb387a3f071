/* The handoff summary on the screen; w writes it to a file, y copies it. */
#include <string.h>

#include "ui/frame/finder.h"
#include "ui/rows/handoff.h"
#include "ui/rows/draw.h"
#include "ui/term/text.h"

struct handover {
	size_t source;
	uint64_t head;
	int64_t now_us;
	struct buf made; /* for head and now_us: it is not made anew for every frame */
	struct text text;
	int64_t top;
	int rows;
};

enum { AGAIN_US = 5000000 };

static void view_handoff_open_view(void *self, struct ui *ui, const struct subject *on)
{
	struct handover *v = self;
	(void)ui;
	v->source = on->source;
	v->made = BUF_INIT;
}

static void view_handoff_close_view(void *self)
{
	struct handover *v = self;
	buf_release(&v->made);
}

static enum role role_of(const char *line)
{
	if (strncmp(line, "PENDING APPROVAL (", 18) == 0)
		return ROLE_HELD;
	return *line >= 'A' && *line <= 'Z' ? ROLE_TITLE : ROLE_TEXT;
}

static void view_handoff_recalc(void *self, struct ui *ui, struct arena *ar, int rows, int cols)
{
	struct handover *v = self;
	struct source *s = ui_source(ui, v->source);
	int64_t now = ui_now_of(ui, v->source);
	if (s && (v->made.len == 0 || v->head != s->model.head || now - v->now_us > AGAIN_US)) {
		CLEANUP(json_release) json_t *h = handoff_make(s, !s->model.ended && !s->lost, now);
		buf_reset(&v->made);
		handoff_text(h, &v->made);
		v->head = s->model.head;
		v->now_us = now;
	}
	v->rows = rows - 2;
	text_init(&v->text, ar, cols - 2, 0, ui->grid.ascii);
	for (const char *p = buf_cstr(&v->made); *p; p += strcspn(p, "\n"), p += *p != 0)
		text_add(&v->text, role_of(p), NULL, p, strcspn(p, "\n"), TEXT_SOFT);
	v->top = (int64_t)text_clamp(&v->text, v->top, v->rows);
}

static void view_handoff_paint(const void *self, const struct ui *ui, struct area a)
{
	const struct handover *v = self;
	(void)ui;
	draw_title(a, 0, "handoff summary", NULL, 0);
	put_rule(a, 1, NULL, ROLE_RULE, "w write it   y copy   | pager");
	text_paint(&v->text, area_sub(a, 2, 1, a.rows - 2, a.cols - 2), (size_t)v->top);
}

static bool view_handoff_verb(void *self, struct ui *ui, enum verb verb)
{
	struct handover *v = self;
	(void)ui;
	int64_t by = verb == VERB_UP	      ? -1
		     : verb == VERB_DOWN      ? 1
		     : verb == VERB_PAGE_UP   ? -v->rows / 2
		     : verb == VERB_PAGE_DOWN ? v->rows / 2
		     : verb == VERB_FIRST     ? -v->top
		     : verb == VERB_LAST      ? INT32_MAX
					      : 0;
	if (by == 0)
		return verb == VERB_FIRST;
	v->top += by;
	v->top = v->top < 0 ? 0 : v->top;
	return true;
}

static void view_handoff_text(const void *self, struct ui *ui, struct buf *out)
{
	const struct handover *v = self;
	(void)ui;
	buf_append(out, v->made.data, v->made.len);
}

static void view_handoff_subject(const void *self, const struct ui *ui, struct subject *out)
{
	const struct handover *v = self;
	(void)ui;
	*out = (struct subject){ .source = v->source };
}

static void view_handoff_look(const void *self, const struct ui *ui, struct looked *out)
{
	const struct handover *v = self;
	*out = (struct looked){ .what = LOOK_TEXT,
				.source = v->source,
				.text = &v->text,
				.at = (uint64_t)v->top,
				.seen = { .first = (size_t)v->top,
					  .row = 2,
					  .col = 1,
					  .rows = v->rows,
					  .cols = ui->grid.cols } };
}

static void view_handoff_go(void *self, struct ui *ui, uint64_t to)
{
	struct handover *v = self;
	(void)ui;
	v->top = (int64_t)to;
}

const struct view_ops view_handover = {
	.name = "handoff",
	.where = IN_PAGE,
	.size = sizeof(struct handover),
	.open = view_handoff_open_view,
	.close = view_handoff_close_view,
	.recalc = view_handoff_recalc,
	.paint = view_handoff_paint,
	.verb = view_handoff_verb,
	.text = view_handoff_text,
	.subject = view_handoff_subject,
	.look = view_handoff_look,
	.go = view_handoff_go,
};
