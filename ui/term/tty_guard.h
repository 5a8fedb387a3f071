/* A process that restores the terminal if the console can't (kill -9, a crash). It waits at a
 * socket for the console's end. It holds only the terminal and the socket, in its own session. */
#ifndef UI_TTY_GUARD_H
#define UI_TTY_GUARD_H

#include <stdbool.h>
#include <termios.h>

#include "base/compat.h"

/* Lent: another program draws on the terminal, or a line of text is there; the screen is not
 * ours to leave. */
enum { GUARD_TAKEN = 't', GUARD_LENT = 'l', GUARD_GONE = 'g' };

/* Returns the socket to it, -1 if there can be none (the console works without). */
int guard_start(int tty, const struct termios *before);
void guard_say(int guard, char what); /* may be called in a signal handler */
void guard_end(int *guard);	      /* it ends and is waited for */
/* Leaves every mode that we may have set; @before NULL: except the line discipline's, which
 * another program has set by now. May be called in a signal handler; never waits. False: the
 * terminal did not take all of it. */
bool tty_guard_restore(int tty, const struct termios *before);
/* The same for a lent one: what the program may have set, and a line that nothing had touched stays
 * where it is. */
bool tty_guard_restore_lent(int tty, const struct termios *before);

#endif
