/* The modes that a program has switched on in its terminal, read from its output: alternate screen,
 * mouse, bracketed paste, keyboard protocols, cursor, colors, title. It draws nothing and changes
 * no byte. A copy of the struct is a state to restore.
 *
 * The state depends only on the bytes, in chunks of any size. */
#ifndef UI_MODES_H
#define UI_MODES_H

#include "base/buf.h"

enum { MODES_MAX = 48, MODES_KITTY = 8, MODES_SEQ = 256, MODES_TITLE = 160 };

struct mode_set { /* a private mode (CSI ? NUMBER h or l) that is not as it was at first */
	int number;
	bool on;
};
struct kitty_stack {
	int flags[MODES_KITTY];
	int depth; /* pushes beyond MODES_KITTY forget the oldest, as terminals do */
};

struct modes {
	struct mode_set set[MODES_MAX];
	int nr_set;
	struct kitty_stack kitty[2]; /* main and alternate screen have one each */
	int other_keys;		     /* modifyOtherKeys */
	int cursor_shape;
	bool keypad, colors; /* application keypad; OSC 10, 11 or 12 has set a color */
	char title[MODES_TITLE];
	/* the parser */
	enum { MODES_GROUND, MODES_ESC, MODES_CSI, MODES_STRING, MODES_STRING_ESC } at;
	char seq[MODES_SEQ];
	size_t nr_seq;
	char string; /* ']' 'P' '_' '^' 'X' */
};

void modes_feed(struct modes *m, const void *bytes, size_t len);
/* Between two sequences: other output may come here. */
bool modes_quiet(const struct modes *m);
bool modes_on(const struct modes *m, int number, bool at_first);
bool modes_alternate(const struct modes *m); /* screen */

/* Appends what switches off all that @m has switched on; the alternate screen stays if
 * @keep_screen. */
void modes_undo(const struct modes *m, bool keep_screen, struct buf *out);
/* Appends what switches it on, in a terminal where nothing of it is on. @screen: also the alternate
 * screen; else that is as it is. */
void modes_repeat(const struct modes *m, bool screen, struct buf *out);
/* Appends what brings any terminal back in which a program may have switched on anything. */
void modes_undo_all(struct buf *out);

#endif
