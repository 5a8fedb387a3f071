/* How view_tree.c is painted: the directory, the file, and who brought its lines. */
#include "ui/views/tree_priv.h"

#include <string.h>

#include "ui/rows/draw.h"
#include "ui/rows/who.h"
#include "ui/term/fmt.h"

static enum role tree_paint_op_role(char op)
{
	return op == 'A' ? ROLE_ADD : op == 'D' ? ROLE_DEL : op == ' ' ? ROLE_DIM : ROLE_HUNK;
}

static const char *tree_paint_kind_of(const struct file_entry *e)
{
	switch (e->mode & TREE_MODE_KIND) {
	case TREE_MODE_DIR:
		return "dir";
	case TREE_MODE_LINK:
		return "link";
	default:
		return e->mode & 0111 ? "program" : "file";
	}
}

static void tree_paint_list(const struct tree_view *v, struct area a)
{
	int row;
	for (size_t i = v->l.top; list_sees(&v->l, i, a, &row); i++) {
		const struct file_entry *e = &v->f.entry[i];
		const char *name = e->dir ? arena_printf(v->arena, "%s/", e->name) : e->name;
		grid_put(a, row, 1, tree_paint_op_role(e->op), arena_printf(v->arena, "%c", e->op));
		put_bytes(a, row, 3, a.cols - 13,
			  e->dir	 ? ROLE_NAME
			  : e->op == 'D' ? ROLE_DIM
					 : ROLE_TEXT,
			  name, strlen(name), 0);
		put_right(a, row, a.cols - 9, 8, ROLE_DIM, tree_paint_kind_of(e));
		if (i == v->l.at)
			put_cursor_row(a, row);
	}
	if (v->f.nr == 0)
		grid_put(a, LIST_HEAD, 3, ROLE_DIM,
			 v->f.there ? "nothing is in here" : "directory not found here");
}

/* The authors of the lines on the screen, the first few, each once. */
static void tree_paint_who(const struct tree_view *v, const struct ui *ui, struct area a)
{
	struct source *s = ui_source(ui, v->source);
	uint64_t told[WHO_ROWS];
	int nr = 0, most = WHO_ROWS - 1;
	put_rule(a, 0, "who brought these lines", ROLE_TITLE, "~ several at the same time");
	for (size_t i = v->text_top;
	     i < v->text_top + (size_t)v->rows && i < v->text.nr && nr < most; i++) {
		size_t line = v->line[i];
		uint64_t by = line && line <= v->by.nr ? v->by.by[line - 1] : 0;
		bool known = !by;
		for (int k = 0; k < nr; k++)
			known = known || told[k] == by;
		if (known)
			continue;
		const char *text = who_text(s, by, v->arena);
		put_bytes(a, 1 + nr, 1, a.cols - 2, ROLE_TEXT, text, strlen(text), 0);
		told[nr++] = by;
	}
	if (nr == 0)
		grid_put(a, 1, 1, ROLE_DIM,
			 v->by.nr ? "these are from the base, or older than the recording"
				  : "not known");
}

static void tree_paint_text(const struct tree_view *v, struct area a)
{
	const struct file_entry *e = tree_chosen(v);
	if (e && !e->dir) {
		int col = grid_put(a, 0, 1, tree_paint_op_role(e->op),
				   e->op == ' ' ? "=" : arena_printf(v->arena, "%c", e->op)) +
			  1;
		put_bytes(a, 0, col, a.cols - col - 20, ROLE_NAME, e->name, strlen(e->name), 0);
	}
	text_paint(&v->text, area_sub(a, 1, 0, v->rows, a.cols), v->text_top);
	if (v->text_top + (size_t)v->rows < v->text.nr)
		put_right(a, 0, 0, a.cols - 1, ROLE_DIM,
			  arena_printf(v->arena, "%zu of %zu lines", v->text_top + (size_t)v->rows,
				       v->text.nr));
}

void tree_paint(const void *self, const struct ui *ui, struct area a)
{
	const struct tree_view *v = self;
	bool open = *v->file, wide = a.cols >= WIDE_COLS;
	const char *path = arena_printf(v->arena, "/workspace%s%s", *v->dir ? "/" : "", v->dir);
	draw_title(a, 0, v->title, &(struct piece){ ROLE_DIM, v->note ? v->note : "" }, 1);
	put_rule(a, 1, path, ROLE_NAME,
		 open ? NULL : fmt_plural(v->arena, (int64_t)v->f.nr, "entry", "entries"));
	if (open) {
		tree_paint_text(v, area_sub(a, 2, 0, a.rows - 2, a.cols));
		if (v->blame && !v->diff)
			tree_paint_who(v, ui, area_sub(a, a.rows - WHO_ROWS, 0, WHO_ROWS, a.cols));
		return;
	}
	grid_put(a, 2, 3, ROLE_HEAD, "NAME");
	tree_paint_list(v, area_sub(a, 0, 0, a.rows, wide ? LEFT_COLS - 1 : a.cols));
	if (wide) {
		put_vline(a, 2, LEFT_COLS - 1, a.rows - 2);
		tree_paint_text(v, area_sub(a, 2, LEFT_COLS, a.rows - 2, a.cols - LEFT_COLS));
	}
}
