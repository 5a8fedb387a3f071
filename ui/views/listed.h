/* A list under a cursor, with columns: what boxes, jobs and ":sql" share. The view fills rows and
 * says what a row is; here is which row is chosen and seen, and where its cells stand.
 *
 * On the screen: a title, a rule, the names of the columns, then rows from LIST_HEAD on. */
#ifndef UI_LISTED_H
#define UI_LISTED_H

#include "ui/frame/ui.h"

enum { LIST_HEAD = 3, LIST_COLUMNS = 16 };

struct listed {
	size_t nr, at, top; /* rows; the one under the cursor; the first that is seen */
	int page;	    /* how many are seen */
};

/* After rows have come or gone, on a body of @rows: the cursor is on a row, and in sight. */
void list_settle(struct listed *l, int rows);
void list_move(struct listed *l, int64_t to); /* as far as there are rows */
/* Up, down, half a page, first, last. True if @v was one of them. */
bool list_verb(struct listed *l, enum verb v);
/* The same for text of which @rows lines are seen from @top on; who draws it keeps @top within the
 * text. */
bool scroll_verb(int64_t *top, int rows, enum verb v);
enum click list_click(struct listed *l, int row);

/* Rows that are seen, as: for (size_t i = l->top; list_sees(l, i, a, &row); i++) */
bool list_sees(const struct listed *l, size_t i, struct area a, int *row);

/* The rule under the title: which rows are seen, and what keys do here. */
void list_rule(const struct listed *l, struct area a, const char *note, struct arena *ar);

/* A column's declaration: its cells on a narrow and on a wide screen (0: hidden; of the last
 * column: the rest), and the blanks before it. */
struct column {
	const char *head;
	int8_t width[2], gap[2];
	bool right;
};

/* The same on a screen of a certain width. */
struct columns {
	const struct column *column;
	size_t nr;
	int col[LIST_COLUMNS], width[LIST_COLUMNS];
};

/* @without: index of a column that is left out; @nr none. */
void list_columns(struct columns *c, const struct column *column, size_t nr, int cols, bool wide,
		  size_t without);
void list_heads(struct area a, int row, const struct columns *c);
/* Draws nothing if the column is not there. */
void list_cell(struct area a, int row, const struct columns *c, size_t which, enum role r,
	       const char *text);

#endif
