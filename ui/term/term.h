/* A place where a grid is shown. Two there are: ncurses (term_curses.c, the one file that sees it)
 * and a text dump for golden files (term_dump.c). Key codes are characters (Unicode scalar values)
 * or one of enum key. */
#ifndef UI_TERM_H
#define UI_TERM_H

#include <stdio.h>

#include "base/err.h"
#include "ui/term/grid.h"

enum key {
	KEY_NONE_ = 0,
	KEY_FIRST_ = 0x200000,
	K_UP,
	K_DOWN,
	K_LEFT,
	K_RIGHT,
	K_PGUP,
	K_PGDN,
	K_HOME,
	K_END,
	K_DEL,
	K_BACKSPACE,
	K_STAB,
	K_F1,
	K_F2,
	K_F3,
	K_F4,
	K_F5,
	K_F6,
	K_F7,
	K_F8,
	K_F9,
	K_F10,
	K_SF3,
	K_RESIZE,
	K_EOF,
	K_MOUSE,
	K_FOCUS_IN,
	K_FOCUS_OUT,
	K_PASTED = 0x1000000, /* a flag: the character was pasted */
};
enum { K_ENTER = '\n', K_TAB = '\t', K_ESC = 0x1b };
#define K_CTRL(c) ((uint32_t)(c)&0x1f)

enum mouse_kind { MOUSE_PRESS, MOUSE_RELEASE, MOUSE_DRAG, MOUSE_WHEEL_UP, MOUSE_WHEEL_DOWN };
struct mouse {
	enum mouse_kind kind;
	int row, col;
};

/* Takes the screen (alternate screen, raw keys). ERR_UNSUPPORTED: TERM unknown or too poor; say
 * --no-tui. */
NODISCARD int term_open(struct err *err);
void term_set_theme(const struct theme *theme); /* before the first draw, and at any time; copied */
int term_background(void); /* what the terminal said: 1 light, -1 dark, 0 nothing */
void term_close(void);	   /* puts everything back; safe to call twice */
bool term_utf8(void);	   /* what the locale says; call setlocale first */
void term_size(int *rows, int *cols);
/* Next key that has come, 0 none; never waits. Call it when the keyboard is readable and after
 * term_key_wait_ms. */
uint32_t term_key(void);
struct mouse term_mouse(void); /* of the last K_MOUSE */
/* -1; else an Esc may be a key or the beginning of one: that long until it is clear */
int term_key_wait_ms(void);
bool term_flush_keys(void); /* true: keys were thrown away */
void term_set_mouse(bool on);
/* Draws what changed. False: the terminal has not taken the last frame yet; nothing is done, show
 * the newest later. */
bool term_show(const struct grid *g);
void term_redraw(void); /* forgets what the terminal shows */
void term_leave(void);	/* gives the screen away for a moment ($EDITOR, $PAGER) */
void term_return(void);

/* The screen as text, without trailing blanks. */
void term_text(const struct grid *g, FILE *to);
/* For tests: that text, a line of "=", the layer of role letters. The row that keys act on is
 * marked "|" at its end in the second layer. */
void term_dump(const struct grid *g, FILE *to);

#endif
