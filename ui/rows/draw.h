/* Pieces that several screens are made of. They only draw. */
#ifndef UI_ROWS_DRAW_H
#define UI_ROWS_DRAW_H

#include "ui/term/grid.h"
#include "ui/model/model.h"
#include "ui/rows/row.h"

enum role draw_state_role(enum agent_state s);
/* Activity up to @now_us, newest at the right. "!" where something was held, "x" where something
 * failed. */
int draw_spark(struct area a, int row, int col, int width, const struct spark *s, int64_t now_us);

/* One event as a line; wide forms have the clock and costs, narrow ones neither. */
struct draw_row_opts {
	bool clock, cost, verdict;
	const char *agent; /* name to show first, or NULL */
	/* cells of the longest "#405" of the list, so that columns stand; 0: as long as it is */
	int id;
};
/* The width of the id column for @nr rows. */
int draw_id_cells(const struct row_info *r, size_t nr);
void draw_row(struct area a, int row, const struct row_info *r, const struct draw_row_opts *o,
	      struct arena *arena);
/* " sandglass  TITLE" at the left; pieces at the right end in their roles, separated by blanks. */
struct piece {
	enum role role;
	const char *text; /* NULL or "" is left out */
};
void draw_title(struct area a, int row, const char *title, const struct piece *right, size_t nr);
/* Pieces from @col on, two blanks between; a piece that does not fit is left out. Returns the
 * column after. */
int draw_pieces(struct area a, int row, int col, const struct piece *p, size_t nr);
/* Cells that they take, each with the blanks after it. */
int draw_pieces_cells(const struct piece *p, size_t nr, bool ascii);

#endif
