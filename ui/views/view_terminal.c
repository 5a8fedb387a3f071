/* The screen of an agent in its own terminal interface, at the cursor. Nothing is read from it: the
 * timeline is what sandglass knows. */
#include <inttypes.h>
#include <string.h>

#include "ui/frame/finder.h"
#include "ui/rows/draw.h"
#include "ui/rows/pty.h"

struct terminal_view {
	size_t source;
	uint64_t agent, chosen; /* 0: the newest that has a terminal */
	uint64_t action;	/* made by recalc, as the rest; 0 none */
	const char *title, *note;
	struct text text;
	size_t top;
};

static void view_terminal_open_view(void *self, struct ui *ui, const struct subject *on)
{
	struct terminal_view *v = self;
	(void)ui;
	v->source = on->source;
	v->agent = on->agent;
	v->chosen = on->action;
}

/* The chosen action, else the agent's newest one with a terminal, else anyone's. */
static const struct model_action *view_terminal_find(const struct terminal_view *v,
						     const struct model *m)
{
	const struct model_action *best = NULL, *any = NULL, *one = model_action(m, v->chosen);
	if (one && one->pty_bytes > 0)
		return one;
	for (size_t i = 0; i < m->nr_actions; i++) {
		const struct model_action *a = &m->action[i];
		if (a->pty_bytes == 0)
			continue;
		any = a;
		if (a->agent == v->agent)
			best = a;
	}
	return best ? best : any;
}

static void view_terminal_recalc(void *self, struct ui *ui, struct arena *ar, int rows, int cols)
{
	struct terminal_view *v = self;
	struct source *s = ui_source(ui, v->source);
	const struct model_action *a = s ? view_terminal_find(v, &s->model) : NULL;
	const struct model_agent *who = a ? model_agent(&s->model, a->agent) : NULL;
	text_init(&v->text, ar, cols, 0, ui->grid.ascii);
	v->action = a ? a->id : 0;
	v->top = 0;
	v->title = who ? arena_printf(ar, "terminal of %s", who->name) : "terminal";
	v->note = a ? arena_printf(ar, "#%" PRIu64, a->id) : "";
	if (!a)
		return;
	pane_pty(&v->text, s, a->id);
	v->top = text_clamp(&v->text, (int64_t)v->text.nr, rows - 2);
}

static void view_terminal_paint(const void *self, const struct ui *ui, struct area a)
{
	const struct terminal_view *v = self;
	(void)ui;
	draw_title(a, 0, v->title, NULL, 0);
	put_rule(a, 1, NULL, ROLE_RULE, v->note);
	if (!v->action)
		grid_put(a, 3, 3, ROLE_DIM, "no program has written to a terminal yet");
	else
		text_paint(&v->text, area_sub(a, 2, 0, a.rows - 2, a.cols), v->top);
}

static void view_terminal_subject(const void *self, const struct ui *ui, struct subject *out)
{
	const struct terminal_view *v = self;
	(void)ui;
	*out = (struct subject){ .source = v->source, .agent = v->agent, .action = v->action };
}

static void view_terminal_text(const void *self, struct ui *ui, struct buf *out)
{
	const struct terminal_view *v = self;
	(void)ui;
	text_plain(&v->text, false, out);
}

const struct view_ops view_terminal = {
	.name = "terminal",
	.where = IN_PAGE,
	.size = sizeof(struct terminal_view),
	.open = view_terminal_open_view,
	.recalc = view_terminal_recalc,
	.paint = view_terminal_paint,
	.subject = view_terminal_subject,
	.text = view_terminal_text,
};
