/* Replay: the position of the cursor, its movement by time and by keys, and the bottom rows that
 * show it: the timeline (ruler.h) and a status line. The screens are those of a live session.
 * The cursor is ui->limit; 0 is the end, which it follows while the session runs. With several
 * sessions side by side the timeline belongs to the first one; the others are shown at the same
 * time after their own start. */
#ifndef UI_FRAME_TRANSPORT_H
#define UI_FRAME_TRANSPORT_H

#include "ui/frame/ui.h"

/* True if the key was for the transport: digits and the "%" or "G" after them. */
bool transport_key(struct ui *ui, uint32_t key);
bool transport_verb(struct ui *ui, enum verb v, const struct subject *on);
/* "50%", "188", "#188", "+5m", "-30s", "14:32:07", "start", "end". Says what is wrong. */
void transport_seek(struct ui *ui, const char *to);
/* "]e" and the like: the cursor to the next event of that kind. */
void transport_jump(struct ui *ui, char kind, const char *word, int by);
/* Plays on up to ui->mono_us. True if the cursor has moved or playing has ended. */
bool transport_tick(struct ui *ui);
/* Says how the session went and how to continue: at its end. */
void transport_summary(struct ui *ui);
void transport_go(struct ui *ui, uint64_t seq);
/* the same in another session; 0 its end */
uint64_t transport_limit(const struct ui *ui, size_t source);
uint64_t transport_cursor(const struct ui *ui); /* its seq */
/* the cursor to where the timeline was clicked */
bool transport_click(struct ui *ui, int row, int col);
/* how many rows it takes at the bottom; 0 outside of replay */
int transport_rows(const struct ui *ui);
void transport_paint(const struct ui *ui, struct area a);
/* The playing speed by name, "8x" or "8"; 0 if there is none. Else a ratio: @num / @den. */
bool transport_speed(const char *name, int *index_out);
void transport_ratio(int index, int *num, int *den);

#endif
