/* Between vt_state.c, which finds the state of an emulated terminal, and vt_again.c, which writes
 * it as sequences. */
#ifndef UI_VT_STATE_H
#define UI_VT_STATE_H

#include "ui/term/vt_priv.h"

enum { VT_HALF = -1, VT_SETS = 4 }; /* VT_HALF: the second cell of a wide character */

struct page { /* of cells: the main screen or the alternate one */
	VTermScreenCell *row[VT_ROWS_MAX], *cells;
	VTermLineInfo line[VT_ROWS_MAX];
};

struct vt_state {
	int rows, cols;
	bool alternate, origin, wrap, reverse, cursor;
	bool insert, new_line, pending; /* pending: the next character wraps */
	int top, bottom;		/* margins, from 1 */
	VTermPos at, saved;
	VTermScreenCell pen, saved_pen;
	bool saved_cursor; /* it was shown */
	char set[VT_SETS]; /* B, A, 0 (as in ESC ( B), or u: UTF-8 */
	bool tab[VT_COLS_MAX];
	struct page *page[2];
};

/* Reads it from @v, which is of no further use. False: it has what sequences can't express. */
bool vt_state_read(struct vt_state *s, const struct vt *v);
void vt_state_free(struct vt_state **s);
bool vt_mode(const struct vt *v, int number);
VTermPos vt_cursor(const struct vt *v);
VTermScreenCell vt_pen(const struct vt *v); /* a cell of that style */
VTermScreenCell vt_cell(const struct vt *v, int row, int col);
bool style_equal(const VTermScreenCell *a, const VTermScreenCell *b);

#endif
