/* The terminal (descriptor 0) of a user's shell, raw while that has it, and given back whatever
 * happens: when the shell has ended, when we are ended by a signal, and by ui/term/tty_guard.h when
 * we are killed. One at a time. */
#ifndef TERMINAL_OPERATOR_TTY_H
#define TERMINAL_OPERATOR_TTY_H

#include <stdbool.h>

/* false: descriptor 0 is not a terminal, and nothing needs restoring */
bool operator_tty_take(void);
/* @cut: the shell was ended by another, with whatever its program had set. */
void operator_tty_give_back(bool cut);

#endif
