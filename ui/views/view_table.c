/* The result of a SELECT: columns as wide as they need, sideways by h and l. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "query/sql.h"
#include "ui/frame/finder.h"
#include "ui/rows/draw.h"
#include "ui/term/fmt.h"
#include "ui/views/listed.h"
#include "ui/views/table.h"

enum { MOST_ROWS = 5000, WIDEST = 60, SAMPLE = 200 };

struct table {
	struct sql_table t;
	char *statement;
	struct listed l;
	size_t source, left; /* left: first column shown */
	int width[64];
	struct arena *arena;
};

void table_open(struct ui *ui, size_t source, const char *statement)
{
	struct source *s = ui_source(ui, source);
	struct err err = ERR_INIT;
	struct sql_table t;
	if (!s)
		return;
	if (sql_select(s->session, statement, MOST_ROWS, &t, &err) < 0) {
		ui_say(ui, ROLE_ERROR, "%s", err.text);
		return;
	}
	ui_open(ui, "table", &(struct subject){ .source = source });
	struct table *v = ui_top(ui)->self;
	v->t = t;
	v->statement = mem_strdup(statement);
	for (size_t c = 0; c < t.cols; c++) {
		v->width[c] = text_cells(t.name[c], ui->grid.ascii);
		for (size_t r = 0; r < t.rows && r < SAMPLE; r++) {
			const char *cell = t.cell[r * t.cols + c];
			int n = cell ? text_cells(cell, ui->grid.ascii) : 4;
			v->width[c] = n > v->width[c] ? n : v->width[c];
		}
		v->width[c] = v->width[c] > WIDEST && c + 1 < t.cols ? WIDEST : v->width[c];
	}
	if (t.timeout)
		ui_say(ui, ROLE_WARN, "stopped after %d s: these are the first rows", SQL_SECONDS);
	else if (t.cut)
		ui_say(ui, ROLE_WARN, "only the first %d rows", MOST_ROWS);
}

static void view_table_open_view(void *self, struct ui *ui, const struct subject *on)
{
	struct table *v = self;
	(void)ui;
	v->source = on->source;
}

static void view_table_close_view(void *self)
{
	struct table *v = self;
	sql_table_release(&v->t);
	free(v->statement);
}

static void view_table_recalc(void *self, struct ui *ui, struct arena *ar, int rows, int cols)
{
	struct table *v = self;
	(void)ui, (void)cols;
	v->arena = ar;
	v->l.nr = v->t.rows;
	list_settle(&v->l, rows);
}

static void view_table_paint_row(const struct table *v, struct area a, int row, size_t r)
{
	int col = 1;
	for (size_t c = v->left; c < v->t.cols && col < a.cols - 1; c++) {
		const char *cell = v->t.cell[r * v->t.cols + c];
		int room = a.cols - col - 1, width = v->width[c] < room ? v->width[c] : room;
		enum role look = cell ? ROLE_TEXT : ROLE_DIM;
		if (!cell)
			cell = "NULL";
		if (v->t.number[c])
			put_right(a, row, col, width, look, cell);
		else
			put_bytes(a, row, col, width, look, cell, strlen(cell), 0);
		col += width + 2;
	}
}

/* Columns that name an event. */
static const char *const view_table_leads[] = { "id", "seq", "event", "action" };

static bool names_events(const struct table *v)
{
	for (size_t k = 0; k < ARRAY_LEN(view_table_leads); k++)
		for (size_t c = 0; c < v->t.cols; c++)
			if (strcmp(v->t.name[c], view_table_leads[k]) == 0)
				return true;
	return false;
}

static void view_table_paint(const void *self, const struct ui *ui, struct area a)
{
	const struct table *v = self;
	const struct source *s = ui_source(ui, v->source);
	const char *rows = fmt_plural(v->arena, (int64_t)v->t.rows, "row", "rows");
	int col = 1, row;
	if (ui->nr_src > 1 && s) /* of one of them: which */
		rows = arena_printf(v->arena, "%s of %s", rows, session_id(s->session));
	draw_title(a, 0, v->statement ? v->statement : "sql", &(struct piece){ ROLE_DIM, rows }, 1);
	list_rule(&v->l, a,
		  names_events(v) ? "h l sideways   Enter goes to the event   / search"
				  : "h l sideways   / search",
		  v->arena);
	for (size_t c = v->left; c < v->t.cols && col < a.cols - 1; c++) {
		int room = a.cols - col - 1, width = v->width[c] < room ? v->width[c] : room;
		if (v->t.number[c])
			put_right(a, 2, col, width, ROLE_HEAD, v->t.name[c]);
		else
			put_field(a, 2, col, width, ROLE_HEAD, v->t.name[c]);
		col += width + 2;
	}
	for (size_t i = v->l.top; list_sees(&v->l, i, a, &row); i++) {
		view_table_paint_row(v, a, row, i);
		if (i == v->l.at)
			put_cursor_row(a, row);
	}
	if (v->t.rows == 0)
		grid_put(a, 4, 3, ROLE_DIM, "no rows");
}

static uint64_t event_at(const struct table *v)
{
	for (size_t k = 0; k < ARRAY_LEN(view_table_leads); k++)
		for (size_t c = 0; c < v->t.cols && v->l.at < v->t.rows; c++)
			if (strcmp(v->t.name[c], view_table_leads[k]) == 0 &&
			    v->t.cell[v->l.at * v->t.cols + c])
				return strtoull(v->t.cell[v->l.at * v->t.cols + c], NULL, 10);
	return 0;
}

static bool view_table_verb(void *self, struct ui *ui, enum verb verb)
{
	struct table *v = self;
	if (list_verb(&v->l, verb))
		return true;
	if (verb != VERB_OPEN)
		return false;
	if (event_at(v))
		jump_to(ui, v->source, event_at(v));
	else
		ui_say(ui, ROLE_DIM, "no column id, seq or event in this row");
	return true;
}

static bool view_table_key(void *self, struct ui *ui, uint32_t key)
{
	struct table *v = self;
	(void)ui;
	if (key == 'l' || key == K_RIGHT)
		v->left += v->left + 1 < v->t.cols;
	else if (key == 'h' || key == K_LEFT)
		v->left -= v->left > 0;
	else
		return false;
	return true;
}

static enum click view_table_click(void *self, struct ui *ui, int row, int col)
{
	struct table *v = self;
	(void)ui, (void)col;
	return list_click(&v->l, row);
}

static const char *view_table_line(const void *self, const struct ui *ui, size_t i, struct arena *a)
{
	const struct table *v = self;
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	(void)ui;
	for (size_t c = 0; c < v->t.cols; c++)
		buf_printf(&b, "%s  ",
			   v->t.cell[i * v->t.cols + c] ? v->t.cell[i * v->t.cols + c] : "NULL");
	return arena_strdup(a, buf_cstr(&b));
}

static void view_table_look(const void *self, const struct ui *ui, struct looked *out)
{
	const struct table *v = self;
	(void)ui;
	*out = (struct looked){ .what = LOOK_LINES,
				.source = v->source,
				.nr = v->t.rows,
				.line = view_table_line,
				.at = v->l.at };
}

static void view_table_go(void *self, struct ui *ui, uint64_t to)
{
	struct table *v = self;
	(void)ui;
	list_move(&v->l, (int64_t)to);
}

static void view_table_subject(const void *self, const struct ui *ui, struct subject *out)
{
	const struct table *v = self;
	(void)ui;
	*out = (struct subject){ .source = v->source, .action = event_at(v) };
}

static const char *const view_table_own[] = { "h l", "sideways", NULL };

const struct view_ops view_table = {
	.name = "table",
	.where = IN_TABLE,
	.size = sizeof(struct table),
	.open = view_table_open_view,
	.close = view_table_close_view,
	.recalc = view_table_recalc,
	.paint = view_table_paint,
	.verb = view_table_verb,
	.key = view_table_key,
	.own = view_table_own,
	.click = view_table_click,
	.subject = view_table_subject,
	.look = view_table_look,
	.go = view_table_go,
};
