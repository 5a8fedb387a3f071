/* Paints the screen of one agent. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ui/term/fmt.h"
#include "ui/views/agent_priv.h"

enum { LEFT_COLS = 46 };

bool agent_beside(const struct agent_view *v, int cols)
{
	return cols >= WIDE_COLS && !v->zoom;
}

int agent_left_cols(const struct agent_view *v)
{
	int most = v->cols - 40, n = v->split ? v->split : v->cols * 2 / 5;
	if (!v->split && n < LEFT_COLS)
		n = LEFT_COLS;
	return n > most ? most : n < 30 ? 30 : n;
}

/* "#366 exec   make test        exit 2   5.9s" */
static void agent_paint_row(const struct agent_view *v, struct area a, int row,
			    const struct row_info *r)
{
	struct arena *ar = v->arena;
	char id[32];
	bool sign = r->sign && strchr(">!x=", r->sign);
	snprintf(id, sizeof(id), "%s%" PRIu64, sign ? "" : "#", r->seq);
	int col = 0;
	if (sign)
		col = grid_put(a, row, 0, r->role, arena_printf(ar, "%c", r->sign));
	col = grid_put(a, row, col, ROLE_DIM, id) + 1;
	if (col < 1 + draw_id_cells(v->row, v->nr))
		col = 1 + draw_id_cells(v->row, v->nr);
	if (col < 6)
		col = 6;
	if (r->turn) {
		col = grid_put(a, row, col, ROLE_DIM, r->what) + 1;
		for (; col < a.cols - 2; col++)
			put_sign(a, row, col, ROLE_RULE, SIGN_HLINE);
		return;
	}
	put_field(a, row, col, 8, ROLE_TEXT, r->word);
	col += strlen(r->word) > 6 ? 9 : 7;
	int right = a.cols - 1;
	if (r->dur_us >= 0 || r->sign == '>') {
		put_right(a, row, right - 6, 6, ROLE_DIM,
			  r->dur_us >= 0 ? fmt_span(ar, r->dur_us) : "");
		right -= 7;
	}
	const char *outcome = r->sign == '!'				     ? "HELD"
			      : r->sign == '='				     ? "PAUSED"
			      : *r->outcome && strcmp(r->outcome, "ok") != 0 ? r->outcome
									     : "";
	if (*outcome) {
		int n = text_cells(outcome, false);
		grid_put(a, row, right - n, r->role, outcome);
		right -= n + 1;
	}
	const char *what = one_line(r->what, ar);
	put_bytes(a, row, col, right - col, ROLE_TEXT, what, strlen(what), 0);
}

static void agent_paint_timeline(const struct agent_view *v, struct area a)
{
	int head = grid_put(a, 0, 1, ROLE_TITLE, "TIMELINE");
	put_right(a, 0, head + 1, a.cols - head - 2, ROLE_DIM,
		  v->follow ? "F follow on" : "F follow");
	struct area list = area_sub(a, 1, 0, a.rows - 1, a.cols);
	for (size_t i = 0; i < v->nr && (int)i < list.rows; i++) {
		agent_paint_row(v, list, (int)i, &v->row[i]);
		if (i == v->at)
			put_cursor_row(list, (int)i);
	}
}

static void agent_paint_tabs(const struct agent_view *v, struct area a)
{
	static const char *const names[TAB_NR][2] = {
		{ "o", "output" }, { "t", "transcript" }, { "d", "diff" }, { "v", "details" }
	};
	int col = 1;
	for (int i = 0; i < TAB_NR; i++) {
		bool on = (enum tab)i == v->tab;
		char key[8];
		snprintf(key, sizeof(key), on ? "[%s]" : "%s", names[i][0]);
		col = grid_put(a, 0, col, on ? ROLE_TITLE : ROLE_KEY, key) + 1;
		col = grid_put(a, 0, col, on ? ROLE_TITLE : ROLE_TEXT, names[i][1]) + 3;
	}
	const struct row_info *r = v->nr > 0 ? &v->row[v->at] : NULL;
	if (r && a.cols - col > 16) {
		const char *what = arena_printf(v->arena, "#%" PRIu64 " %s", r->seq,
						first_line(r->what, v->arena));
		put_bytes(a, 0, col + 1, a.cols - col - 2, ROLE_DIM, what, strlen(what), 0);
	}
}

static void agent_paint_pane(const struct agent_view *v, struct area a)
{
	agent_paint_tabs(v, a);
	if (v->tab == TAB_OUTPUT)
		put_bytes(a, 1, 1, a.cols - 2, ROLE_DIM, v->facts, strlen(v->facts), 0);
	text_paint(&v->text, area_sub(a, 2, 0, a.rows - 2, a.cols), v->text_top);
	if (v->text_top + (size_t)v->text_rows < v->text.nr) {
		const char *more = arena_printf(
			v->arena, "  %s  G end",
			fmt_plural(v->arena, (int64_t)(v->text.nr - v->text_top) - v->text_rows,
				   "more line", "more lines"));
		put_right(a, a.rows - 1, 0, a.cols - 1, ROLE_DIM, more);
	}
}

void agent_paint(const void *self, const struct ui *ui, struct area a)
{
	const struct agent_view *v = self;
	(void)ui;
	if (!v->a) {
		draw_title(a, 0, "no agent has started yet", NULL, 0);
		put_rule(a, 1, NULL, ROLE_RULE, NULL);
		return;
	}
	draw_title(a, 0, v->title, v->piece, v->nr_pieces);
	put_rule(a, 1, NULL, ROLE_RULE, v->head);
	bool wide = agent_beside(v, a.cols), strip = wide && a.rows >= 30;
	struct area body = area_sub(a, 2, 0, a.rows - 2 - (strip ? 7 : 0), a.cols);
	if (wide) {
		int left = agent_left_cols(v);
		agent_paint_timeline(v, area_sub(body, 0, 0, body.rows, left - 1));
		put_vline(body, 0, left - 1, body.rows);
		agent_paint_pane(v, area_sub(body, 0, left, body.rows, body.cols - left));
	} else if (v->right) {
		agent_paint_pane(v, body);
	} else {
		agent_paint_timeline(v, body);
	}
	if (strip) {
		put_rule(a, a.rows - 7, v->strip_title, ROLE_TITLE, "d full");
		text_paint(&v->strip, area_sub(a, a.rows - 6, 0, 6, a.cols), 0);
	}
}

/* "[o] output   t transcript  ..": as agent_paint_tabs lays them out. */
enum tab agent_tab_at(const struct agent_view *v, int col)
{
	static const int cells[TAB_NR] = { 6, 10, 4, 7 };
	for (int i = 0, at = 1; i < TAB_NR; i++) {
		int n = ((enum tab)i == v->tab ? 3 : 1) + 1 + cells[i];
		if (col >= at && col < at + n)
			return (enum tab)i;
		at += n + 3;
	}
	return TAB_NR;
}
