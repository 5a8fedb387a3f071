/* Programs that take the screen for a while: editor, pager, and the plain copy screen. Also the way
 * to the clipboard.
 *
 * The screen is restored before and taken again after; agents continue meanwhile, since they are
 * other processes. A stop (Ctrl-Z) of the program stops the console too, as one job. Texts must
 * be sanitized by the caller. */
#ifndef UI_FRAME_SUSPEND_SCREEN_H
#define UI_FRAME_SUSPEND_SCREEN_H

#include "base/buf.h"

/* Around all of it, and what else takes the terminal: off the screen Ctrl-C works again, and is for
 * the program that runs, never for the console. */
void suspend_begin(void);
void suspend_end(void);

/* $VISUAL, $EDITOR, vi on @text. False: it failed, or what came back is not a text. */
bool suspend_edit(const char *text, struct buf *out);
/* @pager NULL: $PAGER, "less -R". False: it could not be run. */
bool suspend_page(const char *pager, const char *text, size_t len);
/* What suspend_compare takes as one text: the file's name, for the tool's idea of its language, and
 * both contents. */
void compare_text(const char *name, const struct buf *old, const struct buf *new_, struct buf *out);
/* Both versions in the user's own diff.tool of git, read only. False with @why: none is set, or it
 * could not be run. */
bool suspend_compare(const struct buf *text, const char **why);
/* Leaves the full screen and prints @text, so that the terminal's own selection copies it whole;
 * until a key. */
void suspend_plain(const char *text, size_t len);

enum { CLIP_MAX = 74000 }; /* of text: what xterm and others still take by OSC 52 */
/* Appends OSC 52. */
void clip_sequence(const char *text, size_t len, struct buf *out);
/* To wl-copy or xclip, where there is one and a display for it. Returns its name or NULL. */
const char *clip_program(const char *text, size_t len);

#endif
