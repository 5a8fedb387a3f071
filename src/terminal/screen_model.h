/* The side reader's screen of a program: what a repaint, a detach, and the overlay start from.
 * Output is kept as bytes and becomes cells only when somebody asks or the program is silent, so
 * that a flood costs little. */
#ifndef TERMINAL_SCREEN_MODEL_H
#define TERMINAL_SCREEN_MODEL_H

#include <stdbool.h>

#include "base/buf.h"

/* So much of the past makes the screen. */
enum { SCREEN_MODEL_MAX = 4 << 20 };

struct screen_model;

struct screen_model *screen_model_new(int rows, int cols);
void screen_model_free(struct screen_model **m); /* NULL: nothing */
void screen_model_feed(struct screen_model *m, const void *bytes, size_t len);
void screen_model_resize(struct screen_model *m, int rows, int cols);
/* Appends what paints it onto an empty terminal of its size (ui/term/vt.h). */
void screen_model_paint(struct screen_model *m, struct buf *out);
/* True: bytes are still to become cells; screen_model_settle does it. */
bool screen_model_pending(const struct screen_model *m);
void screen_model_settle(struct screen_model *m);

#endif
