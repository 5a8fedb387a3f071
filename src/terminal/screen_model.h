/* A program's screen as made from its output: a repaint, a detach, and the overlay start from it.
 * Output is kept as bytes. It becomes cells only for a paint, a resize, or when the program is
 * silent, or when much is pending. Lines that have left the screen are dropped before
 * (plain_lines.h), and of a flood of other lines only the last ones are applied, so that a flood
 * costs little. */
#ifndef TERMINAL_SCREEN_MODEL_H
#define TERMINAL_SCREEN_MODEL_H

#include <stdbool.h>

#include "base/buf.h"

struct screen_model;

struct screen_model *screen_model_new(int rows, int cols);
void screen_model_free(struct screen_model **m); /* NULL: nothing */
void screen_model_feed(struct screen_model *m, const void *bytes, size_t len);
void screen_model_resize(struct screen_model *m, int rows, int cols);
/* Appends what paints it onto an empty terminal of its size (ui/term/vt.h). */
void screen_model_paint(struct screen_model *m, struct buf *out);
/* Bytes that are still to become cells; screen_model_settle does it. */
size_t screen_model_pending(const struct screen_model *m);
void screen_model_settle(struct screen_model *m);

#endif
