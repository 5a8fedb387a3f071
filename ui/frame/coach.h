/* Hints for new users: one line above the keys, one hint at a time, each once, as soon as it
 * applies.
 *
 * Shown hints are remembered in a file of names, one per line. A hint disappears when its key is
 * pressed, its screen is left, or the help is opened. "coach = false" in the configuration or
 * ":set nocoach" turns hints off. */
#ifndef UI_FRAME_COACH_H
#define UI_FRAME_COACH_H

#include "ui/frame/ui.h"

struct coach;

/* @path: the file that remembers; NULL: for this run only. */
struct coach *coach_new(const char *path);
void coach_free(struct coach *c);
/* Before a frame: is there something to say now? */
void coach_look(struct ui *ui);
/* The user has done @v. */
void coach_did(struct ui *ui, enum verb v);
/* What to show; NULL nothing. */
const char *coach_text(const struct ui *ui);
/* ":set coach" shows them all once more, ":set nocoach" none in this console. */
void coach_set(struct ui *ui, bool on);

#endif
