/* Sessions side by side: which took the same action sequence and ended with the same files. Two
 * of them are aligned action by action, and the first difference is marked. The left one is the
 * first session; Tab chooses the right one. Reads: the actions of all open sessions up to their
 * cursors; the newest trees of their sandboxes. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/sanitize.h"
#include "ui/frame/finder.h"
#include "ui/rows/draw.h"
#include "ui/term/fmt.h"
#include "ui/views/align.h"
#include "ui/term/text.h"
#include "ui/rows/row.h"
#include "ui/views/compare_priv.h"

static void view_compare_close_view(void *self)
{
	struct compare *v = self;
	for (size_t i = 0; i < MOST; i++) {
		for (size_t k = 0; k < v->side[i].nr; k++)
			step_free(&v->side[i].step[k]);
		free(v->side[i].step);
		free(v->side[i].files);
	}
	arena_release(&v->kept);
}

static void view_compare_open_view(void *self, struct ui *ui, const struct subject *on)
{
	struct compare *v = self;
	(void)on;
	v->nr = ui->nr_src < MOST ? ui->nr_src : MOST;
	v->right = v->nr > 1 ? 1 : 0;
}

/* --- two of them ------------------------------------------------------------------------------ */

static const struct step *step_at(const struct compare *v, size_t row, bool right)
{
	const struct side *d = &v->side[right ? v->right : v->left];
	int32_t i = row < v->nr_rows ? right ? v->row[row].b : v->row[row].a : -1;
	return i >= 0 && (size_t)i < d->nr ? &d->step[i] : NULL;
}

static bool row_differs(const struct compare *v, size_t row)
{
	const struct step *a = step_at(v, row, false), *b = step_at(v, row, true);
	return !v->row[row].same || !a || !b || strcmp(a->outcome, b->outcome) != 0;
}

static void view_compare_align(struct compare *v)
{
	const struct side *a = &v->side[v->left], *b = &v->side[v->right];
	uint64_t of = a->head * 1000003 + b->head * 31 + v->left * 7 + v->right + 1;
	if (of == v->made_of)
		return;
	arena_reset(&v->kept);
	const char **x = arena_alloc(&v->kept, (a->nr + 1) * sizeof(*x)),
		   **y = arena_alloc(&v->kept, (b->nr + 1) * sizeof(*y));
	for (size_t i = 0; i < a->nr; i++)
		x[i] = a->step[i].key;
	for (size_t i = 0; i < b->nr; i++)
		y[i] = b->step[i].key;
	v->nr_rows = align_steps(x, a->nr, y, b->nr, &v->kept, &v->row);
	v->same = 0;
	v->first = SIZE_MAX;
	for (size_t i = 0; i < v->nr_rows; i++) {
		bool differs = row_differs(v, i);
		v->same += !differs;
		if (differs && v->first == SIZE_MAX)
			v->first = i;
	}
	if (!v->made_of && v->first != SIZE_MAX)
		v->at = v->first;
	v->made_of = of;
}

static size_t table_rows(const struct compare *v)
{
	return v->nr < HEAD_ROWS ? v->nr : HEAD_ROWS;
}

/* True if there is news of a session and it is time to read it; else the screen wakes up when it
 * is. */
static bool time_to_read(const struct compare *v, struct ui *ui)
{
	bool news = !v->read;
	for (size_t i = 0; i < v->nr; i++)
		news = news || v->side[i].head != ui->src[i]->model.head;
	if (!news || !v->read || ui->replay || ui->mono_us - v->read_us >= READ_US)
		return news;
	ui->wake_us = v->read_us + READ_US;
	return false;
}

static void view_compare_read_all(struct compare *v, struct ui *ui)
{
	v->several = false;
	for (size_t i = 0; i < v->nr; i++) {
		struct side *d = &v->side[i];
		read_side(d, ui->src[i]);
		free(d->files);
		d->files = files_of(ui->src[i]);
		for (size_t k = 1; k < d->nr; k++)
			v->several = v->several || strcmp(d->step[k].agent, d->step[0].agent) != 0;
	}
	view_compare_letters(v);
	v->read = true;
	v->read_us = ui->mono_us;
}

/* The action under the cursor: of its side, or of the other if its side has none; 0 none. */
static uint64_t view_compare_chosen(const struct compare *v, bool *right)
{
	const struct step *s = step_at(v, v->at, *right = v->on_right);
	if (!s)
		s = step_at(v, v->at, *right = !v->on_right);
	return s ? s->id : 0;
}

/* The choice follows the action, not the row: rows come between. It also stays in place on the
 * screen. */
static void find_chosen(struct compare *v, bool right, uint64_t id)
{
	for (size_t i = 0; i < v->nr_rows; i++) {
		const struct step *s = step_at(v, i, right);
		if (!s || s->id != id)
			continue;
		v->top = v->top + i > v->at ? v->top + i - v->at : 0;
		v->at = i;
		return;
	}
}

/* The agent, the action, and its end, without the parts that a row has room for. */
static void view_compare_gather_detail(struct compare *v, struct ui *ui, int cols)
{
	text_init(&v->detail, v->arena, cols - 1, 4, ui->grid.ascii);
	for (int right = 0; right < 2; right++) {
		const struct step *st = step_at(v, v->at, right);
		struct source *s = ui_source(ui, right ? v->right : v->left);
		struct row_info r;
		if (!st || !s)
			continue;
		row_load(&r, s, &(struct row){ st->id, EV_ACTION_REQUESTED }, v->arena);
		CLEANUP(buf_release) struct buf b = BUF_INIT;
		buf_printf(&b, "#%" PRIu64 " %s%s%s %s", st->id, st->agent, *st->agent ? ": " : "",
			   r.word, r.what);
		text_add(&v->detail, ROLE_TEXT, right ? ">" : "<", b.data, b.len, TEXT_SOFT);
		if (*st->outcome)
			text_add(&v->detail, st->role, NULL, st->outcome, strlen(st->outcome),
				 TEXT_SOFT);
	}
	if (v->detail_rows > 0)
		text_cut(&v->detail, (size_t)v->detail_rows);
}

static void view_compare_recalc(void *self, struct ui *ui, struct arena *ar, int rows, int cols)
{
	struct compare *v = self;
	v->arena = ar;
	bool right = false, made = v->made_of != 0;
	uint64_t id = made ? view_compare_chosen(v, &right) : 0;
	if (time_to_read(v, ui))
		view_compare_read_all(v, ui);
	if (v->nr < 2)
		return;
	view_compare_align(v);
	if (id)
		find_chosen(v, right, id);
	v->detail_rows = rows >= 30 ? 8 : rows >= 20 ? 5 : 0;
	v->page = rows - 5 - (int)table_rows(v) - (v->detail_rows ? v->detail_rows + 1 : 0);
	v->page = v->page > 1 ? v->page : 1;
	if (v->at >= v->nr_rows)
		v->at = v->nr_rows ? v->nr_rows - 1 : 0;
	if (v->at < v->top)
		v->top = v->at;
	if (v->at >= v->top + (size_t)v->page)
		v->top = v->at - (size_t)v->page + 1;
	view_compare_gather_detail(v, ui, cols);
}

/* --- paint ------------------------------------------------------------------------------------ */

static void paint_session(const struct compare *v, const struct ui *ui, struct area a, int row,
			  size_t i)
{
	const struct model *m = &ui->src[i]->model;
	const struct side *d = &v->side[i];
	const char *which = i == v->left    ? "<"
			    : i == v->right ? ">"
					    : " ",
		   *name = m->name ? m->name : "";
	const char *state = !m->ended ? "run" : m->good ? "ok" : m->how ? m->how : "failed";
	grid_put(a, row, 1, ROLE_KEY, which);
	int col = put_bytes(a, row, 3, 11, ROLE_NAME, m->id ? m->id : "?",
			    strlen(m->id ? m->id : "?"), 0);
	if (a.cols >= 100)
		put_bytes(a, row, 15, 20, ROLE_TEXT, name, strlen(name), 0);
	col = a.cols >= 100 ? 36 : 15;
	grid_put(a, row, col,
		 !m->ended		    ? ROLE_RUN
		 : m->good		    ? ROLE_OK
		 : !strcmp(state, "failed") ? ROLE_FAILED
					    : ROLE_TEXT,
		 state);
	put_right(a, row, col + 7, 9, ROLE_TEXT, fmt_span(v->arena, m->last_us - m->start_us));
	put_right(a, row, col + 17, 8, ROLE_TEXT, fmt_cost(v->arena, m->uusd, m->cost_unknown));
	put_right(a, row, col + 26, 12, ROLE_TEXT,
		  fmt_plural(v->arena, (int64_t)d->nr, "action", "actions"));
	grid_put(a, row, col + 40, ROLE_HUNK,
		 arena_printf(v->arena, "actions %c  files %c", d->letter_way, d->letter_files));
}

static void paint_step(const struct compare *v, struct area a, int row, const struct step *s,
		       bool chosen, bool plain)
{
	if (!s) {
		grid_put(a, row, 1, ROLE_DIM, "-");
		return;
	}
	const char *span = s->dur_us >= 0 && a.cols > 50
				   ? arena_printf(v->arena, "%s %6s", s->outcome,
						  fmt_span(v->arena, s->dur_us))
				   : s->outcome;
	int n = text_cells(span, a.g->ascii), most = a.cols / 2, col = 1;
	n = n > most ? most : n;
	col = grid_put(a, row, col, chosen ? ROLE_KEY : ROLE_DIM,
		       arena_printf(v->arena, "#%-5" PRIu64, s->id)) +
	      1;
	if (v->several && *s->agent)
		col = put_bytes(a, row, col, 12, ROLE_NAME, s->agent, strlen(s->agent), 0) + 1;
	put_bytes(a, row, col, a.cols - n - col - 2, plain ? ROLE_DIM : ROLE_TEXT, s->what,
		  strlen(s->what), 0);
	put_right(a, row, a.cols - n - 1, n, s->role, span);
}

static const char *sign_of(const struct compare *v, size_t row, enum role *r)
{
	bool a = step_at(v, row, false), b = step_at(v, row, true);
	*r = ROLE_DIM;
	if (a && b && !row_differs(v, row))
		return "=";
	*r = ROLE_WARN;
	return a && b ? "!" : a ? "<" : ">";
}

static void paint_rows(const struct compare *v, struct area a)
{
	int half = (a.cols - 3) / 2;
	for (int row = 0; row < a.rows && v->top + (size_t)row < v->nr_rows; row++) {
		size_t i = v->top + (size_t)row;
		enum role r;
		const char *sign = sign_of(v, i, &r);
		bool same = *sign == '=';
		struct area left = area_sub(a, row, 2, 1, half - 1),
			    right = area_sub(a, row, half + 3, 1, a.cols - half - 3);
		if (i == v->first)
			grid_put(a, row, 0, ROLE_WARN, ">>");
		paint_step(v, left, 0, step_at(v, i, false), i == v->at && !v->on_right, same);
		grid_put(a, row, half + 1, r, sign);
		paint_step(v, right, 0, step_at(v, i, true), i == v->at && v->on_right, same);
		if (i == v->at)
			put_cursor_row(a, row);
	}
}

static void view_compare_paint(const void *self, const struct ui *ui, struct area a)
{
	const struct compare *v = self;
	int top = 2 + (int)table_rows(v);
	if (v->nr < 2) {
		draw_title(a, 0, "compare", NULL, 0);
		put_rule(a, 1, NULL, ROLE_RULE, NULL);
		grid_put(
			a, 3, 3, ROLE_DIM,
			"one session is open here: 'sandglass compare A B' shows two side by side");
		return;
	}
	const char *parts =
		v->first == SIZE_MAX
			? "no difference"
			: arena_printf(v->arena, "first difference: row %zu", v->first + 1);
	const struct piece p[] = { { ROLE_OK, arena_printf(v->arena, "%zu of %zu the same", v->same,
							   v->nr_rows) },
				   { v->first == SIZE_MAX ? ROLE_OK : ROLE_WARN, parts } };
	draw_title(a, 0, "compare", p, ARRAY_LEN(p));
	put_rule(a, 1, "sessions", ROLE_TITLE, "same letter: same actions, same files");
	for (size_t i = 0; i < table_rows(v); i++)
		paint_session(v, ui, a, 2 + (int)i, i);
	put_rule(a, top,
		 arena_printf(v->arena, "%s and %s, action by action", ui->src[v->left]->model.id,
			      ui->src[v->right]->model.id),
		 ROLE_TITLE, "= same  ! differs  x swap  h l side");
	int below = v->detail_rows ? v->detail_rows + 1 : 0;
	paint_rows(v, area_sub(a, top + 1, 0, a.rows - top - 1 - below, a.cols));
	if (!below)
		return;
	put_rule(a, a.rows - below, "this row", ROLE_TITLE, NULL);
	text_paint(&v->detail, area_sub(a, a.rows - below + 1, 0, v->detail_rows, a.cols), 0);
}

/* --- verbs ------------------------------------------------------------------------------------ */

static bool view_compare_to(struct compare *v, int64_t row)
{
	int64_t last = (int64_t)v->nr_rows - 1;
	v->at = row < 0 || last < 0 ? 0 : (size_t)(row > last ? last : row);
	return true;
}

static bool next_difference(struct compare *v, struct ui *ui, int step)
{
	for (int64_t i = (int64_t)v->at + step; i >= 0 && i < (int64_t)v->nr_rows; i += step)
		if (row_differs(v, (size_t)i))
			return view_compare_to(v, i);
	ui_say(ui, ROLE_DIM, step > 0 ? "no difference below" : "no difference above");
	return true;
}

static bool view_compare_other(struct compare *v, int step)
{
	if (v->nr < 2)
		return true;
	do
		v->right = (v->right + v->nr + (size_t)step) % v->nr;
	while (v->right == v->left);
	v->at = v->top = 0;
	v->made_of = 0;
	return true;
}

static void view_compare_open_step(struct compare *v, struct ui *ui)
{
	const struct step *s = step_at(v, v->at, v->on_right);
	bool right = v->on_right;
	if (!s)
		s = step_at(v, v->at, right = !right);
	if (s)
		jump_to(ui, right ? v->right : v->left, s->id);
}

static bool view_compare_verb(void *self, struct ui *ui, enum verb verb)
{
	struct compare *v = self;
	int64_t at = (int64_t)v->at, half = v->page > 3 ? v->page / 2 : 1;
	switch ((int)verb) {
	case VERB_UP:
		return view_compare_to(v, at - 1);
	case VERB_DOWN:
		return view_compare_to(v, at + 1);
	case VERB_PAGE_UP:
		return view_compare_to(v, at - half);
	case VERB_PAGE_DOWN:
		return view_compare_to(v, at + half);
	case VERB_FIRST:
		return view_compare_to(v, 0);
	case VERB_LAST:
		return view_compare_to(v, INT32_MAX);
	case VERB_NEXT:
		return next_difference(v, ui, 1);
	case VERB_PREV:
		return next_difference(v, ui, -1);
	case VERB_NEXT_PANE:
		return view_compare_other(v, 1);
	case VERB_PREV_PANE:
		return view_compare_other(v, -1);
	case VERB_OPEN:
		view_compare_open_step(v, ui);
		return true;
	default:
		return false;
	}
}

static bool view_compare_key(void *self, struct ui *ui, uint32_t key)
{
	struct compare *v = self;
	(void)ui;
	if (key == 'h' || key == 'l') {
		v->on_right = key == 'l';
	} else if (key == 'x' && v->nr > 1) {
		size_t was = v->left;
		v->left = v->right;
		v->right = was;
		v->made_of = 0;
	} else {
		return false;
	}
	return true;
}

static void view_compare_subject(const void *self, const struct ui *ui, struct subject *out)
{
	const struct compare *v = self;
	const struct step *s = step_at(v, v->at, v->on_right);
	size_t source = v->on_right ? v->right : v->left;
	const struct model_action *act =
		s && ui_source(ui, source) ? model_action(&ui->src[source]->model, s->id) : NULL;
	*out = (struct subject){ .source = source,
				 .action = s ? s->id : 0,
				 .agent = act ? act->agent : 0 };
}

static const char *view_compare_line_of(const void *self, const struct ui *ui, size_t i,
					struct arena *a)
{
	const struct compare *v = self;
	const struct step *x = step_at(v, i, false), *y = step_at(v, i, true);
	(void)ui;
	return arena_printf(a, "%s %s | %s %s", x ? x->what : "-", x ? x->outcome : "",
			    y ? y->what : "-", y ? y->outcome : "");
}

static void view_compare_look(const void *self, const struct ui *ui, struct looked *out)
{
	const struct compare *v = self;
	(void)ui;
	*out = (struct looked){ .what = LOOK_LINES,
				.source = v->left,
				.nr = v->nr_rows,
				.line = view_compare_line_of,
				.at = v->at };
}

static void view_compare_go(void *self, struct ui *ui, uint64_t where)
{
	(void)ui;
	view_compare_to(self, (int64_t)where);
}

static void view_compare_as_text(const void *self, struct ui *ui, struct buf *out)
{
	const struct compare *v = self;
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	for (size_t i = 0; i < v->nr_rows; i++) {
		enum role r;
		const char *line = view_compare_line_of(v, ui, i, &a);
		buf_printf(out, "%s %s ", i == v->first ? ">>" : "  ", sign_of(v, i, &r));
		sanitize_line(line, strlen(line), 0, out);
		buf_putc(out, '\n');
	}
}

static const char *const view_compare_own[] = { "h l", "left, right side", "x", "swap the sides",
						NULL };

const struct view_ops view_compare = {
	.name = "compare",
	.where = IN_COMPARE,
	.size = sizeof(struct compare),
	.open = view_compare_open_view,
	.close = view_compare_close_view,
	.recalc = view_compare_recalc,
	.paint = view_compare_paint,
	.verb = view_compare_verb,
	.key = view_compare_key,
	.own = view_compare_own,
	.subject = view_compare_subject,
	.look = view_compare_look,
	.go = view_compare_go,
	.text = view_compare_as_text,
};
