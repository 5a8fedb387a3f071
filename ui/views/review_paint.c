#include "ui/views/review_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/text/sanitize.h"
#include "ui/rows/row.h"

static const char *review_paint_mark_of(enum part_choice c)
{
	return c == PART_TAKE ? "[x]" : c == PART_LEAVE ? "[ ]" : "[?]";
}

const char *review_mark(struct review *v, size_t i)
{
	size_t nr[3] = { 0 }, all = 0;
	if (v->part[i].hunk != PART_WHOLE || v->part[i].alone)
		return review_paint_mark_of(review_choice(v, &v->part[i]));
	for (size_t k = i + 1; k < v->nr_parts && v->part[k].hunk != PART_WHOLE; k++, all++)
		nr[review_choice(v, &v->part[k])]++;
	for (int c = PART_OPEN; c <= PART_LEAVE; c++)
		if (nr[c] == all)
			return review_paint_mark_of((enum part_choice)c);
	return "[-]";
}

/* Shows who decided, or the remaining steps. */
static int review_paint_put_state(struct review *v, struct area a, int row, int col,
				  const struct part *p)
{
	const struct own_word *w = review_own(v, p);
	enum part_choice c = review_choice(v, p);
	if (c != PART_OPEN && p->said > w->at)
		col = put_bytes(a, row, col, 10, c == PART_TAKE ? ROLE_OK : ROLE_DIM, p->who,
				strlen(p->who), 0);
	else if (c != PART_OPEN)
		col = grid_put(a, row, col, ROLE_DIM, "you");
	else if (!w->seen)
		col = grid_put(a, row, col, ROLE_WARN, "not seen");
	if (p->text)
		col = grid_put(a, row, col + (c != PART_OPEN || !w->seen), ROLE_WARN, "edited");
	if (p->comment)
		col = grid_put(a, row, col + 1, ROLE_WHO, "comment");
	return col;
}

static void paint_file(struct review *v, struct area a, int row, int col, const struct part *p)
{
	const struct change *c = &v->change[p->file];
	int n = text_cells(c->counted ? change_counts(c, v->arena)
			   : c->note  ? c->note
				      : "",
			   a.g->ascii);
	col = grid_put(a, row, col, ROLE_HUNK, arena_printf(v->arena, "%c", c->op)) + 1;
	col = put_bytes(a, row, col, a.cols - n - col - 3, ROLE_TEXT, c->path, strlen(c->path), 0);
	if (p->alone && a.cols - n - col > 14)
		review_paint_put_state(v, a, row, col + 2, p);
	change_put_counts(a, row, a.cols - n - 2, c, v->arena);
}

int review_first(const struct review *v, int rows)
{
	return (int)v->at >= rows ? (int)v->at - rows + 1 : 0;
}

static void paint_parts(struct review *v, struct area a)
{
	int first = review_first(v, a.rows);
	for (int row = 0; row < a.rows && (size_t)(first + row) < v->nr_parts; row++) {
		const struct part *p = &v->part[first + row];
		int col = p->hunk == PART_WHOLE ? 1 : 3;
		col = grid_put(a, row, col, ROLE_KEY, review_mark(v, (size_t)(first + row))) + 1;
		if (p->hunk == PART_WHOLE) {
			paint_file(v, a, row, col, p);
		} else {
			col = grid_put(a, row, col, ROLE_TEXT,
				       arena_printf(v->arena, "hunk %u  line %u", p->hunk,
						    p->range[2] + 1));
			review_paint_put_state(v, a, row, col + 2, p);
		}
		if ((size_t)(first + row) == v->at)
			put_cursor_row(a, row);
	}
}

/* Below the list: what to look at twice. */
static void paint_flags(struct review *v, struct area a)
{
	int row = 1;
	grid_put(a, 0, 1, ROLE_TITLE, "review closely");
	for (size_t i = 0; i < v->nr && row < a.rows; i++) {
		const char *flag = v->flag[i] ? v->flag[i] : v->drifted[i] ? "base changed" : NULL;
		if (!flag)
			continue;
		int col = grid_put(a, row, 1, ROLE_WARN, "!") + 1;
		int n = text_cells(flag, a.g->ascii);
		put_bytes(a, row, col, a.cols - n - col - 2, ROLE_TEXT, v->change[i].path,
			  strlen(v->change[i].path), 0);
		put_right(a, row, 0, a.cols - 1, ROLE_WARN, flag);
		row++;
	}
	if (row == 1)
		grid_put(a, 1, 1, ROLE_DIM, "no link, CI, hook, policy, lock");
}

static const char *check_word(const struct review_check *c)
{
	return c->runs ? ">" : c->old ? "--" : c->ok ? "ok" : "x";
}

static enum role check_role(const struct review_check *c)
{
	return c->runs ? ROLE_RUN : c->old ? ROLE_DIM : c->ok ? ROLE_OK : ROLE_FAILED;
}

static const char *check_says(const struct review *v, const struct review_check *c)
{
	return arena_printf(v->arena, "%s%s", c->outcome,
			    c->runs  ? ""
			    : c->old ? ", older"
			    : c->own ? ", own sandbox"
				     : "");
}

/* Below that: the commands that checked it. */
static void paint_checks(struct review *v, struct area a)
{
	int col = grid_put(a, 0, 1, ROLE_TITLE, "checks") + 2;
	grid_put(a, 0, col, ROLE_DIM, "r runs one again");
	for (size_t i = 0; i < v->nr_checks && (int)i + 1 < a.rows; i++) {
		const struct review_check *c = &v->check[i];
		const char *says = check_says(v, c);
		int n = text_cells(says, a.g->ascii), row = (int)i + 1;
		grid_put(a, row, 1, check_role(c), check_word(c));
		put_bytes(a, row, 4, a.cols - n - 6, c->old ? ROLE_DIM : ROLE_TEXT, c->cmd,
			  strcspn(c->cmd, "\n"), 0);
		put_right(a, row, 0, a.cols - 1, check_role(c), says);
	}
}

static void paint_left(struct review *v, struct area a)
{
	int flags = 0, checks = v->nr_checks ? (int)v->nr_checks + 2 : 0;
	for (size_t i = 0; i < v->nr; i++)
		flags += v->flag[i] != NULL || v->drifted[i];
	flags = (flags > 6 ? 6 : flags ? flags : 1) + 1;
	bool room = v->nr_parts > 0 && a.rows > flags + checks + 6;
	int list = a.rows - (room ? flags + checks + 1 : 0);
	v->list_rows = list;
	paint_parts(v, area_sub(a, 0, 0, list, a.cols));
	if (!room)
		return;
	paint_flags(v, area_sub(a, list + 1, 0, flags, a.cols));
	if (checks)
		paint_checks(v, area_sub(a, a.rows - checks + 1, 0, checks - 1, a.cols));
}

static void paint_head(struct review *v, struct area a)
{
	const struct part *p = &v->part[v->at];
	const struct change *c = &v->change[p->file];
	enum part_choice choice = review_choice(v, p);
	uint32_t of = 0;
	for (size_t i = 0; i < v->nr_parts; i++)
		of += v->part[i].file == p->file && v->part[i].hunk != PART_WHOLE;
	const char *which =
		p->hunk == PART_WHOLE ? "" : arena_printf(v->arena, "hunk %u of %u", p->hunk, of);
	const char *said = p->said && choice != PART_OPEN
				   ? arena_printf(v->arena, "%s by %s %s",
						  choice == PART_TAKE ? "accepted" : "rejected",
						  p->who, fmt_hms(v->arena, p->ts_us))
				   : "undecided";
	if (p->hunk == PART_WHOLE && !p->alone)
		said = "";
	else if (!p->said && choice != PART_OPEN)
		said = choice == PART_TAKE ? "accepted by you" : "rejected by you";
	CLEANUP(buf_release) struct buf clean = BUF_INIT;
	sanitize_line(said, strlen(said), 0, &clean);
	int n = text_cells(buf_cstr(&clean), a.g->ascii) + text_cells(which, a.g->ascii) + 5;
	grid_put(a, 0, 1, ROLE_HUNK, arena_printf(v->arena, "%c", c->op));
	int col = put_bytes(a, 0, 3, a.cols - n - 3, ROLE_NAME, c->path, strlen(c->path), 0);
	grid_put(a, 0, col + 2, ROLE_TEXT, which);
	put_right(a, 0, 0, a.cols - 1,
		  choice == PART_TAKE	 ? ROLE_OK
		  : choice == PART_LEAVE ? ROLE_WARN
					 : ROLE_DIM,
		  arena_strdup(v->arena, buf_cstr(&clean)));
}

static void paint_foot(struct review *v, struct area a)
{
	bool wide = a.cols >= REVIEW_WIDE;
	const struct review_check *c = !wide && v->nr_checks ? &v->check[0] : NULL;
	put_rule(a, a.rows - 2, v->waits ? "a script waits for this review" : "merge back",
		 v->waits ? ROLE_HELD : ROLE_TITLE,
		 v->waits ? arena_printf(v->arena, "%s", v->wanted)
		 : c	  ? arena_printf(v->arena, "%s %.30s: %s", check_word(c),
					 one_line(c->cmd, v->arena), check_says(v, c))
			  : NULL);
	/* most important keys first: the help has those that do not fit */
	const char *const keys[] = {
		v->waits ? "a approve.." : "a merge..",
		v->waits ? "n deny.." : "z undo",
		"Space accept, reject",
		"M comment",
		"e edit",
		"r check",
		"D discard..",
		"= beside",
		"W blanks",
		"Ctrl-t tool",
		"J K scroll",
	};
	struct piece piece[ARRAY_LEN(keys)];
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		piece[i] = (struct piece){ ROLE_DIM, keys[i] };
	draw_pieces(a, a.rows - 1, 1, piece, ARRAY_LEN(keys));
}

/* Files that the user changed while the box was in use. */
static const char *drift_note(const struct review *v)
{
	if (v->drift_more)
		return arena_printf(v->arena, "base changed: %zu and more, %zu here", v->nr_drifted,
				    v->nr_drifted_here);
	if (!v->nr_drifted)
		return "";
	return v->nr_drifted_here ? arena_printf(v->arena, "base changed: %zu, %zu here",
						 v->nr_drifted, v->nr_drifted_here)
				  : arena_printf(v->arena, "base changed: %s",
						 fmt_plural(v->arena, (int64_t)v->nr_drifted,
							    "file", "files"));
}

void review_paint(const void *self, const struct ui *ui, struct area a)
{
	/* words that are looked up may be added */
	struct review *v = (struct review *)(uintptr_t)self;
	(void)ui;
	const char *where = !v->box ? ""
			    : v->into && a.cols >= REVIEW_WIDE
				    ? arena_printf(v->arena, "%s -> %s", v->box, v->into)
				    : v->box;
	const struct piece right[] = { { ROLE_WARN, drift_note(v) }, { ROLE_NAME, where } };
	draw_title(a, 0, v->no_blanks ? "review  blanks hidden" : "review", right,
		   ARRAY_LEN(right));
	put_rule(a, 1, NULL, ROLE_RULE,
		 v->nr ? arena_printf(v->arena, "%s  %zu to merge (%zu not seen)  %zu rejected",
				      changes_sum(v->change, v->nr, v->arena), v->take, v->unseen,
				      v->leave)
		       : NULL);
	struct area body = area_sub(a, 2, 0, a.rows - 4, a.cols);
	if (a.cols < REVIEW_WIDE) { /* one row of the list, the one that is looked at */
		paint_parts(v, area_sub(body, 0, 0, 1, a.cols));
		body = area_sub(body, 1, 0, body.rows - 1, a.cols);
	} else {
		paint_left(v, area_sub(body, 0, 0, body.rows, REVIEW_LEFT - 1));
		put_vline(body, 0, REVIEW_LEFT - 1, body.rows);
		body = area_sub(body, 0, REVIEW_LEFT, body.rows, a.cols - REVIEW_LEFT);
	}
	if (v->nr_parts)
		paint_head(v, area_sub(body, 0, 0, 1, body.cols));
	text_paint(&v->text, area_sub(body, 1, 1, body.rows - 1, body.cols - 1), v->text_top);
	paint_foot(v, a);
}

/* --- beside each other ------------------------------------------------------------------------ */

/* One cell of a row, as text of exactly @cols cells. */
static void review_paint_put_cell(struct review *v, const struct diff_line *l, char mark, int cols,
				  struct buf *out)
{
	struct text one;
	CLEANUP(buf_release) struct buf plain = BUF_INIT;
	text_init(&one, v->arena, cols - 2, 0, v->text.ascii);
	if (l)
		text_add(&one, ROLE_TEXT, NULL, l->text, l->len, 0);
	text_plain_rows(&one, 0, 1, false, &plain);
	size_t len = strcspn(buf_cstr(&plain), "\n");
	buf_printf(out, "%c ", l ? mark : ' ');
	buf_append(out, buf_cstr(&plain), len);
	CLEANUP(free_ptr) char *line = mem_strndup(buf_cstr(&plain), len);
	for (int n = text_cells(line, v->text.ascii); n < cols - 2; n++)
		buf_putc(out, ' ');
}

static void put_pair(struct review *v, const struct diff_line *old, const struct diff_line *new_,
		     char left, char right)
{
	int half = (v->text.width - v->text.gutter - 3) / 2;
	CLEANUP(buf_release) struct buf row = BUF_INIT;
	review_paint_put_cell(v, old, left, half, &row);
	buf_puts(&row, " | ");
	review_paint_put_cell(v, new_, right, half, &row);
	while (row.len && row.data[row.len - 1] == ' ')
		row.len--;
	enum role r = left == ' ' && right == ' ' ? ROLE_TEXT
		      : !new_			  ? ROLE_DEL
		      : !old			  ? ROLE_ADD
						  : ROLE_HUNK;
	text_add(&v->text, r, NULL, buf_cstr(&row), row.len, 0);
}

void review_side(struct review *v)
{
	const struct text_diff *d = &v->side_lines;
	for (size_t i = 0; i < d->nr;) {
		const struct diff_line *l = &d->line[i];
		size_t del = 0, add = 0;
		if (l->op == '@' || l->op == '\\') {
			text_add(&v->text, l->op == '@' ? ROLE_HUNK : ROLE_DIM, NULL, l->text,
				 l->len, 0);
			i++;
			continue;
		}
		if (l->op == ' ' || l->op == '~') {
			put_pair(v, l, l, ' ', ' ');
			i++;
			continue;
		}
		while (i + del < d->nr && d->line[i + del].op == '-')
			del++;
		while (i + del + add < d->nr && d->line[i + del + add].op == '+')
			add++;
		for (size_t k = 0; k < del || k < add; k++)
			put_pair(v, k < del ? &d->line[i + k] : NULL,
				 k < add ? &d->line[i + del + k] : NULL, '-', '+');
		i += del + add;
	}
}
