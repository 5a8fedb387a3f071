/* The output of a program that had a terminal, shown as the screen of that terminal: libvterm,
 * which is seen here only.
 *
 * 1. Nothing is sent: a program's queries (reports, DECRQSS) get no answer, and titles, clipboards,
 *    bells, and all modes other than those of cells are dropped. The text of a cell is sanitized
 *    before it is drawn.
 * 2. Colors become the 16 (a colored background: that color, reversed).
 * 3. Bounded: VT_ROWS_MAX x VT_COLS_MAX cells, VT_BACK_MAX rows of scrollback; older rows are
 *    dropped.
 * 4. The state depends only on size and bytes, in chunks of any size: live and replay see the
 *    same. */
#ifndef UI_VT_H
#define UI_VT_H

#include "base/buf.h"
#include "ui/term/modes.h"
#include "ui/term/text.h"

/* In one column libvterm writes the second half of a wide character nowhere. */
enum { VT_COLS_MIN = 2, VT_ROWS_MAX = 200, VT_COLS_MAX = 400, VT_BACK_MAX = 1000 };

struct vt;

/* @bare_lf: the program's terminal does not make CR LF of LF (a stateful shell's,
 * src/sandbox/shell.c). */
struct vt *vt_new(int rows, int cols, bool bare_lf);
void vt_free(struct vt **v);
/* Rows that leave the screen are dropped from now on: for owners that show only the screen. */
void vt_forget_back(struct vt *v);
void vt_feed(struct vt *v, const void *bytes, size_t len);
void vt_resize(struct vt *v, int rows, int cols);
/* Appends what paints the screen's cells, with their colors, onto a terminal of that size that
 * shows nothing, and puts the cursor to its place. Text goes through the sanitizer; modes are not
 * set. */
void vt_paint(const struct vt *v, struct buf *out);
/* A keyframe: appends to @out what brings a new terminal of that size to the state of *@v, with the
 * program's modes @m (ui/term/modes.h), so that what is fed afterwards makes the same screens.
 * Replaces *@v by such a terminal, without scrollback, and returns true. Returns false, with *@v
 * freed and NULL, inside of a sequence or in a state that sequences can't express. */
bool vt_again(struct vt **v, const struct modes *m, struct buf *out);
/* Appends the rows of the screen as text, without the blanks at their ends. */
void vt_rows(const struct vt *v, struct buf *out);
/* Appends scrollback and screen, without the blank rows at the end. */
void vt_text(struct vt *v, struct text *t);

#endif
