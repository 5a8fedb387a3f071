#include "ui/frame/select.h"

#include <string.h>

#include "ui/frame/finder_priv.h"
#include "ui/term/text.h"

static bool is_on(const struct ui *ui)
{
	return ui->select.on && ui->select.shown == ui->nr_shown;
}

/* What is shown now; false: no lines that could be chosen. */
static bool looked_at(struct ui *ui, struct looked *l)
{
	struct view *top = ui_top(ui);
	*l = (struct looked){ 0 };
	if (top->ops->look)
		top->ops->look(top->self, ui, l);
	return l->seen.rows > 0 && ((l->what == LOOK_ROWS && l->rows->nr > 0) ||
				    (l->what == LOOK_TEXT && l->text->nr > 0));
}

static size_t select_count_of(const struct looked *l)
{
	return l->what == LOOK_ROWS ? l->rows->nr : l->text->nr;
}

/* An end of the choice as an index: rows are known by their seq, which stays theirs when others
 * come. */
static size_t index_of(const struct looked *l, uint64_t end)
{
	size_t i = l->what == LOOK_ROWS ? rows_find(l->rows, end) : (size_t)end,
	       nr = select_count_of(l);
	return i < nr ? i : nr - 1;
}

static uint64_t select_end_at(const struct looked *l, size_t i)
{
	return l->what == LOOK_ROWS ? l->rows->row[i].seq : i;
}

/* First and last selected line, with wrapped lines complete. */
static void select_range_of(const struct ui *ui, const struct looked *l, size_t *lo, size_t *hi)
{
	size_t a = index_of(l, ui->select.from), b = index_of(l, ui->select.at);
	*lo = a < b ? a : b;
	*hi = a < b ? b : a;
	if (l->what != LOOK_TEXT)
		return;
	while (*lo > 0 && l->text->row[*lo].wrapped)
		--*lo;
	while (*hi + 1 < l->text->nr && l->text->row[*hi + 1].wrapped)
		++*hi;
}

static size_t lines_in(const struct looked *l, size_t lo, size_t hi)
{
	size_t n = 0;
	for (size_t i = lo; i <= hi; i++)
		n += l->what == LOOK_ROWS || i == lo || !l->text->row[i].wrapped;
	return n;
}

/* What it is that is chosen of a text, of which rows are known by nothing but their place. */
static struct hash print_of(const struct ui *ui, const struct looked *l)
{
	struct hash h = { 0 };
	size_t lo, hi;
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (l->what != LOOK_TEXT)
		return h;
	select_range_of(ui, l, &lo, &hi);
	text_plain_rows(l->text, lo, hi + 1, l->gutters, &b);
	hash_of(buf_cstr(&b), b.len, &h);
	return h;
}

/* Another screen came: its first line does not say what was chosen on the one before. */
static void left_behind(struct ui *ui)
{
	static const char end[] = " selected";
	size_t n = strlen(ui->message);
	ui->select.on = false;
	if (n >= sizeof(end) - 1 && strcmp(ui->message + n - (sizeof(end) - 1), end) == 0)
		ui_say(ui, ROLE_TEXT, "%s", "");
}

void select_keep(struct ui *ui)
{
	struct looked l;
	if (ui->select.on && !is_on(ui))
		left_behind(ui);
	if (!is_on(ui))
		return;
	struct hash now = looked_at(ui, &l) ? print_of(ui, &l) : (struct hash){ 0 };
	if (hash_eq(&now, &ui->select.print))
		return;
	ui->select.on = false;
	ui_say(ui, ROLE_WARN, "the selected lines have changed: nothing is selected");
}

static void select_say(struct ui *ui)
{
	struct looked l;
	size_t lo, hi;
	if (!looked_at(ui, &l))
		return;
	select_range_of(ui, &l, &lo, &hi);
	size_t n = lines_in(&l, lo, hi);
	ui_say(ui, ROLE_TEXT, "%zu line%s selected", n, n == 1 ? "" : "s");
}

static void move_to(struct ui *ui, int64_t to)
{
	struct looked l;
	struct view *top = ui_top(ui);
	if (!looked_at(ui, &l)) {
		select_end(ui);
		return;
	}
	int64_t last = (int64_t)select_count_of(&l) - 1, first = (int64_t)l.seen.first;
	to = to < 0 ? 0 : to > last ? last : to;
	ui->select.at = select_end_at(&l, (size_t)to);
	ui->select.print = print_of(ui, &l);
	if (l.what == LOOK_ROWS)
		top->ops->go(top->self, ui, ui->select.at);
	else if (to < first)
		top->ops->go(top->self, ui, (uint64_t)to);
	else if (to >= first + l.seen.rows)
		top->ops->go(top->self, ui, (uint64_t)(to - l.seen.rows + 1));
	ui->stale = true;
	select_say(ui);
}

static void move_by(struct ui *ui, int64_t by)
{
	struct looked l;
	if (looked_at(ui, &l))
		move_to(ui, (int64_t)index_of(&l, ui->select.at) + by);
}

/* What follows the end stands still from now on. */
static void select_begin(struct ui *ui)
{
	struct looked l;
	struct view *top = ui_top(ui);
	ui->stale = true; /* a key before may have changed what is shown */
	ui_fresh(ui);
	if (!looked_at(ui, &l)) {
		ui_say(ui, ROLE_DIM, "there are no lines to choose here");
		return;
	}
	top->ops->go(top->self, ui, l.at);
	ui->stale = true;
	ui_fresh(ui);
	if (!looked_at(ui, &l))
		return;
	ui->select = (struct select){ .on = true, .shown = ui->nr_shown, .from = l.at, .at = l.at };
	ui->select.print = print_of(ui, &l);
	select_say(ui);
}

void select_end(struct ui *ui)
{
	ui->select.on = false;
	ui_say(ui, ROLE_TEXT, "%s", "");
}

bool select_on(struct ui *ui)
{
	return is_on(ui);
}

void select_went(struct ui *ui, uint64_t to)
{
	struct looked l;
	if (!is_on(ui) || !looked_at(ui, &l))
		return;
	ui->select.at = to;
	ui->select.print = print_of(ui, &l);
}

static bool select_move_verb(struct ui *ui, enum verb v)
{
	struct looked l;
	int page = looked_at(ui, &l) && l.seen.rows > 1 ? l.seen.rows / 2 : 1;
	switch ((int)v) {
	case VERB_UP:
	case VERB_DOWN:
		move_by(ui, v == VERB_UP ? -1 : 1);
		return true;
	case VERB_PAGE_UP:
	case VERB_PAGE_DOWN:
		move_by(ui, v == VERB_PAGE_UP ? -page : page);
		return true;
	case VERB_FIRST:
	case VERB_LAST:
		move_to(ui, v == VERB_FIRST ? 0 : INT32_MAX);
		return true;
	default:
		return false;
	}
}

/* Verbs that keep the same lines selected. */
static bool select_keeps(enum verb v)
{
	return v == VERB_SEARCH || v == VERB_AGAIN || v == VERB_AGAIN_UP || v == VERB_LINE ||
	       v == VERB_PAGER || v == VERB_EDITOR || v == VERB_SAVE || v == VERB_PLAIN ||
	       v == VERB_REDRAW || v == VERB_MOUSE;
}

bool select_verb(struct ui *ui, enum verb v)
{
	if (!is_on(ui)) {
		if (v == VERB_SELECT)
			select_begin(ui);
		return v == VERB_SELECT;
	}
	if (select_move_verb(ui, v) || select_keeps(v))
		return !select_keeps(v);
	if (v == VERB_COPY || v == VERB_OPEN) {
		buf_reset(&ui->wish_text);
		select_text(ui, &ui->wish_text);
		if (ui->wish_text.len > 0)
			ui->wish = WISH_COPY;
	}
	select_end(ui);
	return v == VERB_COPY || v == VERB_OPEN || v == VERB_BACK || v == VERB_SELECT;
}

bool select_key(struct ui *ui, uint32_t key)
{
	if (!is_on(ui) || (key != K_ESC && key != K_ENTER))
		return false;
	key == K_ESC ? select_end(ui) : ui_do(ui, VERB_COPY);
	return true;
}

void select_text(struct ui *ui, struct buf *out)
{
	struct looked l;
	size_t lo, hi;
	if (!is_on(ui) || !looked_at(ui, &l))
		return;
	select_range_of(ui, &l, &lo, &hi);
	if (l.what == LOOK_TEXT) {
		text_plain_rows(l.text, lo, hi + 1, l.gutters, out);
		return;
	}
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	size_t i = lo, most = out->len + SELECT_MAX;
	for (; i <= hi && out->len < most; i++, arena_reset(&a)) /* each is read from the file */
		buf_printf(out, "%s\n", row_words(ui->src[l.source], &l.rows->row[i], &a));
	if (i <= hi)
		buf_printf(out, ".. and %zu more: sandglass events has all of them\n", hi + 1 - i);
}

void select_paint(struct ui *ui, struct area body)
{
	struct looked l;
	size_t lo, hi;
	if (!is_on(ui) || !looked_at(ui, &l))
		return;
	select_range_of(ui, &l, &lo, &hi);
	struct area lines = area_sub(body, l.seen.row, l.seen.col, l.seen.rows, l.seen.cols);
	for (int row = 0; row < l.seen.rows; row++)
		if (l.seen.first + (size_t)row >= lo && l.seen.first + (size_t)row <= hi)
			put_cursor_row(lines, row);
}

const char *const *select_hints(const struct ui *ui)
{
	static const char *const hints[] = { "j k lines", "G end",     "/ to a hit", "y copy",
					     "| pager",	  "w write..", "Esc cancel", NULL };
	return is_on(ui) ? hints : NULL;
}
