/* The patterns of the second screen of an approval. What a pattern lets through may be decided by
 * any part of it: one that is too long for its line keeps both of its ends there, and under the
 * cursor all of it can be read. */
#include <inttypes.h>
#include <string.h>

#include "ui/term/text.h"
#include "ui/views/approval_priv.h"

enum { LEFT = 7, LABELS = 45, ROWS_BELOW = 6, ROWS_LEAST = 2 };

static void as_rows(const struct approval *v, bool ascii, const char *text, int width,
		    struct text *out)
{
	text_init(out, v->arena, width, 0, ascii);
	text_add(out, ROLE_CMD, NULL, text, strlen(text), SANITIZE_EXACT);
}

static int approval_patterns_cells(const struct text_row *r)
{
	int n = 0;
	struct text_walk w = text_walk_row(r);
	struct glyph g;
	while (text_walk_next(&w, &g))
		n += g.width;
	return n;
}

bool pattern_fits(const struct approval *v, struct area a, const char *text, int width)
{
	struct text t;
	as_rows(v, a.g->ascii, text, a.cols, &t);
	return t.nr == 1 && approval_patterns_cells(t.row) <= width;
}

/* "git push origin fi..on/of/a/branch" */
static void paint_ends(const struct approval *v, struct area a, int row, int col, int width,
		       const char *text)
{
	struct text t;
	as_rows(v, a.g->ascii, text, INT16_MAX, &t);
	const struct text_row *first = &t.row[0], *last = &t.row[t.nr - 1];
	int half = (width - 2) / 2, end = col + width, tail = 0;
	struct area head = area_sub(a, row, col, 1, half);
	int at = 0;
	struct text_walk w = text_walk_row(first);
	struct glyph next;
	while (text_walk_next(&w, &next) && put_glyph(head, 0, &at, ROLE_CMD, &next))
		;
	col = grid_put(a, row, col + at, ROLE_WARN, "..");
	uint32_t from = last->nr;
	while (from > 0 && col + tail + text_glyph(last, from - 1).width <= end)
		tail += text_glyph(last, --from).width;
	for (; from < last->nr; from++) {
		const struct glyph g = text_glyph(last, from);
		put_glyph(a, row, &col, ROLE_CMD, &g);
	}
}

static const char *approval_patterns_matched(const struct widen_row *r, struct arena *ar)
{
	if (!r->counted)
		return "";
	return arena_printf(ar, "matches %" PRId64 "%s", r->matched,
			    r->denied ? arena_printf(ar, ", %" PRId64 " denied", r->denied) : "");
}

/* Rows that the pattern under the cursor may take, of @rows of which @row are taken. */
static int room_of(const struct widen *w, int rows, int row)
{
	int room = rows - row - (int)(w->nr - w->at) - ROWS_BELOW;
	return room < ROWS_LEAST ? ROWS_LEAST : room;
}

void pattern_scroll(struct approval *v, const struct ui *ui, int by)
{
	struct widen *w = &v->widen;
	struct text t;
	if (w->at >= w->nr)
		return;
	as_rows(v, ui->grid.ascii, w->row[w->at].pattern, ui->grid.cols - LEFT - 1, &t);
	w->top = (int64_t)text_clamp(&t, w->top + by,
				     room_of(w, widen_rows(ui->grid.rows) - 1, 1 + (int)w->at));
}

/* All of it, over as many rows as there are; of one that is longer still the part that was scrolled
 * to. */
static int paint_whole(const struct approval *v, struct area a, int row, const struct widen_row *r,
		       const char **part)
{
	struct text t;
	int room = room_of(&v->widen, a.rows, row);
	as_rows(v, a.g->ascii, r->pattern, a.cols - LEFT - 1, &t);
	size_t top = text_clamp(&t, v->widen.top, room);
	int rows = t.nr - top < (size_t)room ? (int)(t.nr - top) : room;
	text_paint(&t, area_sub(a, row, LEFT, rows, a.cols - LEFT), top);
	if (t.nr > (size_t)room)
		*part = arena_printf(v->arena, "rows %zu-%zu of %zu: Ctrl-d Ctrl-u", top + 1,
				     top + (size_t)rows, t.nr);
	return row + rows;
}

int patterns_paint(const struct approval *v, struct area a, int row)
{
	const struct widen *w = &v->widen;
	int mid = a.cols - LABELS < 40 ? a.cols - 40 : a.cols - LABELS;
	for (size_t i = 0; i < w->nr; i++, row++) {
		const struct widen_row *r = &w->row[i];
		const char *said = r->wide    ? "WIDE"
				   : r->typed ? "yours"
				   : i == 0   ? "exactly this"
					      : "",
			   *part = "";
		bool fit = pattern_fits(v, a, r->pattern, mid - LEFT - 1);
		int first = row;
		grid_put(a, row, 3, ROLE_KEY, i == w->at ? "(*)" : "( )");
		if (fit)
			put_bytes(a, row, LEFT, mid - LEFT - 1, ROLE_CMD, r->pattern,
				  strlen(r->pattern), SANITIZE_EXACT);
		else if (i == w->at)
			row = paint_whole(v, a, row, r, &part);
		else
			paint_ends(v, a, row, LEFT, mid - LEFT - 1, r->pattern);
		grid_put(a, row, LEFT, ROLE_WARN, part);
		grid_put(a, row, mid, r->wide ? ROLE_WARN : ROLE_DIM, said);
		grid_put(a, row, mid + 14, ROLE_DIM, approval_patterns_matched(r, v->arena));
		for (; i == w->at && first <= row; first++)
			put_cursor_row(a, first);
	}
	if (w->nr == 0 || !w->row[w->nr - 1].typed) {
		grid_put(a, row, 3, ROLE_KEY, "e");
		grid_put(a, row++, LEFT, ROLE_DIM,
			 !w->known ? "asking which patterns there are.."
			 : w->nr   ? "a pattern of your own"
				   : "nothing can be proposed for it; a pattern of your own");
	}
	return row;
}
