/* The changes of a sandbox's files since its start, or between two events (":diff a b"): the
 * list of files, and their lines. ] and [ go from file to file. Reads: the newest snapshot at
 * the cursor, or those of the two events. */
#include <inttypes.h>
#include <string.h>

#include "ui/rows/draw.h"
#include "ui/term/fmt.h"
#include "ui/views/difftool.h"
#include "ui/views/listed.h"
#include "ui/rows/pane.h"
#include "ui/frame/ui.h"

enum { LEFT_COLS = 36, WIDE_COLS = 100 };

struct diff_view {
	size_t source;
	uint64_t agent, action, since, until;
	size_t file;
	int64_t top;
	struct change *change;
	size_t nr;
	struct text text;
	size_t text_top;
	int rows;
	const char *title, *total;
	struct arena *arena;
};

static void view_diff_open_view(void *self, struct ui *ui, const struct subject *on)
{
	struct diff_view *v = self;
	(void)ui;
	v->source = on->source;
	v->agent = on->agent;
	v->action = on->action;
	v->since = on->since;
	v->until = on->until;
}

static uint64_t view_diff_box_of(const struct diff_view *v, const struct model *m)
{
	const struct model_action *act = model_action(m, v->action);
	const struct model_agent *a = model_agent(m, v->agent ? v->agent : act ? act->agent : 0);
	/* a script with several sandboxes: the action knows its own */
	uint64_t box = act && act->box ? act->box : a ? a->box : 0;
	if (!box && m->nr_boxes > 0)
		box = m->box[m->nr_boxes - 1].id;
	return box;
}

static void view_diff_recalc(void *self, struct ui *ui, struct arena *ar, int rows, int cols)
{
	struct diff_view *v = self;
	struct source *s = ui_source(ui, v->source);
	v->arena = ar;
	v->nr = 0;
	v->title = "diff";
	v->total = NULL;
	if (!s)
		return;
	uint64_t box = view_diff_box_of(v, &s->model);
	const struct model_box *b = model_box(&s->model, box);
	const struct model_action *act = model_action(&s->model, v->action);
	/* what waits is asked about: what would it do? */
	bool tried = act && act->state == ACT_WAITS && act->previewed;
	tried = tried && !v->since;
	uint64_t until = v->until ? v->until : s->model.head;
	v->nr = v->since ? changes_between(s, box, v->since, until, &v->change)
		: tried	 ? changes_dry_run(s, act->previewed, &v->change)
			 : changes_list(s, box, &v->change, ar);
	if (v->file >= v->nr)
		v->file = v->nr > 0 ? v->nr - 1 : 0;
	v->rows = rows - 3;
	text_init(&v->text, ar, cols >= WIDE_COLS ? cols - LEFT_COLS - 1 : cols - 1, 3,
		  ui->grid.ascii);
	if (v->nr > 0)
		pane_change(&v->text, s, &v->change[v->file], 3);
	else
		text_puts(&v->text, ROLE_DIM,
			  tried ? "the dry run changed no file"
			  : b	? "no file changed"
				: "no sandbox yet");
	v->text_top = text_clamp(&v->text, v->top, v->rows);
	v->top = (int64_t)v->text_top;
	if (v->since && b) {
		const char *end = v->until ? arena_printf(ar, "#%" PRIu64, v->until) : "the cursor";
		v->title = arena_printf(ar, "diff  %s:%s  from #%" PRIu64 " to %s", b->driver,
					b->name, v->since, end);
		v->total = changes_sum(v->change, v->nr, ar);
		return;
	}
	v->title = tried ? arena_printf(ar, "diff  dry run of #%" PRIu64, act->id)
		   : b	 ? arena_printf(ar, "diff  %s:%s", b->driver, b->name)
			 : "diff";
	v->total = tried ? changes_sum(v->change, v->nr, ar) : changes_total(v->change, v->nr, ar);
}

static enum role view_diff_op_role(char op)
{
	return op == 'A' ? ROLE_ADD : op == 'D' ? ROLE_DEL : ROLE_HUNK;
}

/* Which file stands on the first of @rows. */
static int first_file(const struct diff_view *v, int rows)
{
	return (int)v->file >= rows ? (int)v->file - rows + 1 : 0;
}

static void paint_files(const struct diff_view *v, struct area a)
{
	int first = first_file(v, a.rows);
	for (int row = 0; row < a.rows && (size_t)(first + row) < v->nr; row++) {
		const struct change *c = &v->change[first + row];
		const char *counts = c->counted ? change_counts(c, v->arena)
				     : c->note	? c->note
						: "";
		int n = text_cells(counts, a.g->ascii);
		grid_put(a, row, 1, view_diff_op_role(c->op), arena_printf(v->arena, "%c", c->op));
		put_bytes(a, row, 3, a.cols - n - 6, ROLE_TEXT, c->path, strlen(c->path), 0);
		change_put_counts(a, row, a.cols - n - 2, c, v->arena);
		if ((size_t)(first + row) == v->file)
			put_cursor_row(a, row);
	}
}

static void view_diff_paint_text(const struct diff_view *v, struct area a)
{
	if (v->nr > 0) {
		const struct change *c = &v->change[v->file];
		int col = grid_put(a, 0, 1, view_diff_op_role(c->op),
				   arena_printf(v->arena, "%c", c->op)) +
			  1;
		col = put_bytes(a, 0, col, a.cols - col - 14, ROLE_NAME, c->path, strlen(c->path),
				0) +
		      2;
		change_put_counts(a, 0, col, c, v->arena);
	}
	text_paint(&v->text, area_sub(a, 1, 1, a.rows - 1, a.cols - 1), v->text_top);
	if (v->text_top + (size_t)v->rows < v->text.nr)
		put_right(a, 0, 0, a.cols - 1, ROLE_DIM,
			  arena_printf(v->arena, "%zu of %zu lines", v->text_top + (size_t)v->rows,
				       v->text.nr));
}

static void view_diff_paint(const void *self, const struct ui *ui, struct area a)
{
	const struct diff_view *v = self;
	(void)ui;
	draw_title(a, 0, v->title,
		   &(struct piece){ ROLE_DIM, v->nr > 1 ? arena_printf(v->arena, "file %zu of %zu",
								       v->file + 1, v->nr)
							: "" },
		   1);
	put_rule(a, 1, NULL, ROLE_RULE, v->total);
	struct area body = area_sub(a, 2, 0, a.rows - 2, a.cols);
	if (a.cols < WIDE_COLS) {
		view_diff_paint_text(v, body);
		return;
	}
	grid_put(body, 0, 1, ROLE_TITLE, "FILES");
	paint_files(v, area_sub(body, 1, 0, body.rows - 1, LEFT_COLS - 1));
	put_vline(body, 0, LEFT_COLS - 1, body.rows);
	view_diff_paint_text(v, area_sub(body, 0, LEFT_COLS, body.rows, body.cols - LEFT_COLS));
}

static bool to_file(struct diff_view *v, int64_t to)
{
	if (to >= 0 && to < (int64_t)v->nr) {
		v->file = (size_t)to;
		v->top = 0;
	}
	return true;
}

static bool view_diff_verb(void *self, struct ui *ui, enum verb verb)
{
	struct diff_view *v = self;
	switch ((int)verb) {
	case VERB_DIFFTOOL:
		if (v->nr)
			difftool_wish(ui, ui_source(ui, v->source), &v->change[v->file]);
		return true;
	case VERB_NEXT:
	case VERB_NEXT_PANE:
		return to_file(v, (int64_t)v->file + 1);
	case VERB_PREV:
	case VERB_PREV_PANE:
		return to_file(v, (int64_t)v->file - 1);
	case VERB_DIFF: /* since the start again */
		v->since = v->until = 0;
		return true;
	default:
		return scroll_verb(&v->top, v->rows, verb);
	}
}

static enum click view_diff_click(void *self, struct ui *ui, int row, int col)
{
	struct diff_view *v = self;
	if (ui->grid.cols < WIDE_COLS || row < 3 || col >= LEFT_COLS - 1)
		return CLICK_NONE;
	to_file(v, first_file(v, v->rows) + row - 3);
	return CLICK_SELECTED;
}

static void view_diff_subject(const void *self, const struct ui *ui, struct subject *out)
{
	const struct diff_view *v = self;
	(void)ui;
	*out = (struct subject){ .source = v->source, .agent = v->agent, .action = v->action };
}

static void view_diff_look(const void *self, const struct ui *ui, struct looked *out)
{
	const struct diff_view *v = self;
	int left = ui->grid.cols >= WIDE_COLS ? LEFT_COLS : 0;
	*out = (struct looked){ .what = LOOK_TEXT,
				.source = v->source,
				.text = &v->text,
				.at = v->text_top,
				.gutters = true,
				.seen = { .first = v->text_top,
					  .row = 3,
					  .col = left,
					  .rows = v->rows,
					  .cols = ui->grid.cols - left } };
}

static void view_diff_go(void *self, struct ui *ui, uint64_t to)
{
	struct diff_view *v = self;
	(void)ui;
	v->top = (int64_t)to;
}

const struct view_ops view_diff = {
	.name = "diff",
	.where = IN_DIFF,
	.size = sizeof(struct diff_view),
	.open = view_diff_open_view,
	.recalc = view_diff_recalc,
	.paint = view_diff_paint,
	.verb = view_diff_verb,
	.subject = view_diff_subject,
	.look = view_diff_look,
	.go = view_diff_go,
	.click = view_diff_click,
};
