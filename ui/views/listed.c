#include "ui/views/listed.h"

#include "ui/term/fmt.h"

/* --- the cursor ------------------------------------------------------------------------------- */

void list_settle(struct listed *l, int rows)
{
	l->page = rows > LIST_HEAD + 1 ? rows - LIST_HEAD : 1;
	size_t page = (size_t)l->page;
	if (l->at >= l->nr)
		l->at = l->nr > 0 ? l->nr - 1 : 0;
	if (l->at < l->top)
		l->top = l->at;
	if (l->at >= l->top + page)
		l->top = l->at - page + 1;
}

void list_move(struct listed *l, int64_t to)
{
	int64_t last = (int64_t)l->nr - 1;
	l->at = to < 0 || last < 0 ? 0 : (size_t)(to > last ? last : to);
}

bool list_verb(struct listed *l, enum verb v)
{
	int64_t at = (int64_t)l->at, half = l->page > 3 ? l->page / 2 : 1;
	switch ((int)v) {
	case VERB_UP:
		list_move(l, at - 1);
		return true;
	case VERB_DOWN:
		list_move(l, at + 1);
		return true;
	case VERB_PAGE_UP:
		list_move(l, at - half);
		return true;
	case VERB_PAGE_DOWN:
		list_move(l, at + half);
		return true;
	case VERB_FIRST:
		list_move(l, 0);
		return true;
	case VERB_LAST:
		list_move(l, INT32_MAX);
		return true;
	default:
		return false;
	}
}

bool scroll_verb(int64_t *top, int rows, enum verb v)
{
	int page = rows / 2 > 0 ? rows / 2 : 1;
	switch ((int)v) {
	case VERB_UP:
		--*top;
		return true;
	case VERB_DOWN:
		++*top;
		return true;
	case VERB_PAGE_UP:
		*top -= page;
		return true;
	case VERB_PAGE_DOWN:
		*top += page;
		return true;
	case VERB_FIRST:
		*top = 0;
		return true;
	case VERB_LAST:
		*top = INT32_MAX;
		return true;
	default:
		return false;
	}
}

enum click list_click(struct listed *l, int row)
{
	size_t at = l->top + (size_t)(row < LIST_HEAD ? 0 : row - LIST_HEAD);
	if (row < LIST_HEAD || at >= l->nr)
		return CLICK_NONE;
	if (at == l->at)
		return CLICK_AGAIN;
	l->at = at;
	return CLICK_SELECTED;
}

bool list_sees(const struct listed *l, size_t i, struct area a, int *row)
{
	*row = (int)(i - l->top) + LIST_HEAD;
	return i < l->nr && *row < a.rows;
}

void list_rule(const struct listed *l, struct area a, const char *note, struct arena *ar)
{
	put_rule(a, 1, fmt_seen(ar, l->top, (size_t)l->page, l->nr), ROLE_DIM, note);
}

/* --- columns ---------------------------------------------------------------------------------- */

void list_columns(struct columns *c, const struct column *column, size_t nr, int cols, bool wide,
		  size_t without)
{
	int col = 3 - column[0].gap[wide]; /* the cursor and a sign stand before */
	*c = (struct columns){ .column = column, .nr = nr };
	for (size_t i = 0; i < nr; i++) {
		bool last = i + 1 == nr;
		if (i == without || (!last && column[i].width[wide] == 0))
			continue;
		c->col[i] = col + column[i].gap[wide];
		c->width[i] = last ? cols - c->col[i] - 1 : column[i].width[wide];
		col = c->col[i] + c->width[i];
	}
}

void list_heads(struct area a, int row, const struct columns *c)
{
	for (size_t i = 0; i < c->nr; i++)
		list_cell(a, row, c, i, ROLE_HEAD, c->column[i].head);
}

void list_cell(struct area a, int row, const struct columns *c, size_t which, enum role r,
	       const char *text)
{
	if (c->width[which] <= 0)
		return;
	if (c->column[which].right)
		put_right(a, row, c->col[which], c->width[which], r, text);
	else
		put_field(a, row, c->col[which], c->width[which], r, text);
}
