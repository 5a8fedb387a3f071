/* Every event of a session that is a row, in order. Follows the end until a key moves away from
 * it. */
#include <inttypes.h>
#include <string.h>

#include "ui/rows/draw.h"
#include "ui/term/fmt.h"
#include "ui/frame/finder.h"

enum { MAX_ROWS = 200 };

struct log_view {
	size_t source;
	uint64_t seq;
	bool follow;
	struct row_info row[MAX_ROWS];
	const char *name[MAX_ROWS];
	const struct rows *rows;     /* what the filter lets through */
	size_t nr, at, total, first; /* first: index of row[0] among rows */
	int page;
	struct arena *arena;
};

static void view_log_open_view(void *self, struct ui *ui, const struct subject *on)
{
	struct log_view *v = self;
	(void)ui;
	v->source = on->source;
	v->follow = true;
}

/* An agent's; files that changed are a box's. */
static const char *view_log_whose(const struct model *m, const struct row *row,
				  const struct row_info *r)
{
	const struct model_agent *a = model_agent(m, r->agent);
	const struct model_box *b = row->kind == EV_SNAPSHOT_TAKEN ? model_box(m, r->box) : NULL;
	return a ? a->name : b && b->name ? b->name : "";
}

static void view_log_recalc(void *self, struct ui *ui, struct arena *ar, int rows, int cols)
{
	struct log_view *v = self;
	struct source *s = ui_source(ui, v->source);
	(void)cols;
	v->arena = ar;
	v->nr = v->total = 0;
	v->rows = s ? ui_rows(ui, v->source, &s->model.rows) : NULL;
	const struct rows *r = v->rows;
	if (!r || r->nr == 0)
		return;
	size_t want = rows < 2 ? 0 : rows - 2 < MAX_ROWS ? (size_t)(rows - 2) : MAX_ROWS;
	v->page = (int)want;
	v->total = r->nr;
	if (v->follow || v->seq == 0)
		v->seq = r->row[r->nr - 1].seq;
	size_t sel = rows_find(r, v->seq);
	sel = sel == r->nr ? r->nr - 1 : sel;
	v->seq = r->row[sel].seq;
	size_t last = sel + want / 2 < r->nr ? sel + want / 2 : r->nr;
	last = last < want ? (want < r->nr ? want : r->nr) : last;
	size_t first = last > want ? last - want : 0;
	v->first = first;
	for (size_t i = first; i < last; i++, v->nr++) {
		row_load(&v->row[v->nr], s, &r->row[i], ar);
		v->name[v->nr] = view_log_whose(&s->model, &r->row[i], &v->row[v->nr]);
	}
	v->at = sel - first;
}

static void view_log_paint(const void *self, const struct ui *ui, struct area a)
{
	const struct log_view *v = self;
	const struct source *s = ui_source(ui, v->source);
	const char *note = arena_printf(v->arena, "%s   F follow %s",
					fmt_plural(v->arena, (int64_t)v->total, "row", "rows"),
					v->follow ? "on" : "off");
	struct piece zone = { ROLE_DIM, v->nr && a.cols >= 90
						? fmt_zone(v->arena, v->row[v->nr - 1].ts_us)
						: "" };
	draw_title(a, 0,
		   s ? arena_printf(v->arena, "log of %s %s", s->model.id, s->model.name) : "log",
		   &zone, 1);
	put_rule(a, 1, NULL, ROLE_RULE, note);
	int id = draw_id_cells(v->row, v->nr);
	for (size_t i = 0; i < v->nr; i++) {
		struct draw_row_opts o = { .id = id,
					   .clock = a.cols >= 90,
					   .cost = a.cols >= 110,
					   .verdict = a.cols >= 90,
					   .agent = v->name[i] };
		draw_row(a, (int)i + 2, &v->row[i], &o, v->arena);
		if (i == v->at)
			put_cursor_row(a, (int)i + 2);
	}
	bool more = ui_filtering(ui) || (s && source_reading(s));
	if (v->nr == 0)
		grid_put(a, 3, 3, ROLE_DIM,
			 !*ui_filter(ui) ? "nothing yet"
			 : more		 ? "nothing so far; Esc takes the filter away"
					 : "nothing matches the filter; Esc takes it away");
}

static bool view_log_move(struct log_view *v, struct ui *ui, int64_t by)
{
	const struct rows *r = v->rows;
	(void)ui;
	if (!r || r->nr == 0)
		return true;
	int64_t at = (int64_t)rows_find(r, v->seq) + by, last = (int64_t)r->nr - 1;
	at = at < 0 ? 0 : at > last ? last : at;
	v->seq = r->row[at].seq;
	v->follow = at == last && by > 0;
	return true;
}

static enum click view_log_click(void *self, struct ui *ui, int row, int col)
{
	struct log_view *v = self;
	(void)ui;
	(void)col;
	if (row < 2 || (size_t)(row - 2) >= v->nr)
		return CLICK_NONE;
	if ((size_t)(row - 2) == v->at)
		return CLICK_AGAIN;
	v->seq = v->row[row - 2].seq;
	v->follow = false;
	return CLICK_SELECTED;
}

static bool view_log_verb(void *self, struct ui *ui, enum verb verb)
{
	struct log_view *v = self;
	switch ((int)verb) {
	case VERB_UP:
		return view_log_move(v, ui, -1);
	case VERB_DOWN:
		return view_log_move(v, ui, 1);
	case VERB_PAGE_UP:
		return view_log_move(v, ui, -v->page / 2);
	case VERB_PAGE_DOWN:
		return view_log_move(v, ui, v->page / 2);
	case VERB_FIRST:
		return view_log_move(v, ui, INT32_MIN);
	case VERB_LAST:
		return view_log_move(v, ui, INT32_MAX);
	case VERB_FOLLOW:
		v->follow = !v->follow;
		return true;
	default:
		return false;
	}
}

static void view_log_subject(const void *self, const struct ui *ui, struct subject *out)
{
	const struct log_view *v = self;
	(void)ui;
	*out = (struct subject){ .source = v->source, .action = v->seq };
	if (v->at < v->nr)
		out->agent = v->row[v->at].agent;
}

static void view_log_look(const void *self, const struct ui *ui, struct looked *out)
{
	const struct log_view *v = self;
	if (v->rows && v->rows->nr > 0)
		*out = (struct looked){ .what = LOOK_ROWS,
					.source = v->source,
					.rows = v->rows,
					.at = v->seq,
					.seen = { .first = v->first,
						  .row = 2,
						  .rows = (int)v->nr,
						  .cols = ui->grid.cols } };
}

static void view_log_go(void *self, struct ui *ui, uint64_t to)
{
	struct log_view *v = self;
	(void)ui;
	v->seq = to;
	v->follow = false;
}

const struct view_ops view_log = {
	.name = "log",
	.where = IN_LOG,
	.size = sizeof(struct log_view),
	.open = view_log_open_view,
	.recalc = view_log_recalc,
	.paint = view_log_paint,
	.verb = view_log_verb,
	.click = view_log_click,
	.subject = view_log_subject,
	.look = view_log_look,
	.go = view_log_go,
};
