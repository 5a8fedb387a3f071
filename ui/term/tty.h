/* The terminal itself: its modes, output, answers, and its restoration.
 *
 * 1. Output is queued and written as the terminal takes it. Only tty_drain waits for a terminal
 *    that has stopped reading, with a limit. The descriptor is our own (the terminal opened anew),
 *    so that O_NONBLOCK does not reach programs that share ours.
 * 2. Every mode that we set is undone in tty_close, tty_leave, and the handler of SIGTERM, SIGHUP,
 *    SIGQUIT, and SIGINT. A guard does this after kill -9 or a crash: a small process that waits
 *    for our death and restores the terminal. Only text in the queue is lost then.
 * 3. Queries (background color, synchronized updates) are sent once, with 50 ms of patience;
 *    input.h drops late answers.
 * One terminal per process. */
#ifndef UI_TTY_H
#define UI_TTY_H

#include "base/err.h"

/* Raw keys, our own descriptor, signal handlers, guard. ERR_UNSUPPORTED: not a terminal. */
NODISCARD int tty_open(struct err *err);
void tty_close(void);
/* Gives the terminal away for a moment and takes it back. */
void tty_leave(void);
void tty_return(void);

void tty_put(const void *bytes, size_t len); /* queues; nothing is written yet */
void tty_puts(const char *s);
bool tty_flush(void);	  /* writes what the terminal takes now; true when nothing is left */
size_t tty_pending(void); /* bytes that wait */
bool tty_drain(int ms);	  /* writes all, within that time */
int tty_fd(void);	  /* for poll: POLLOUT while something waits */
/* Bytes that have come; 0 = none now, -1 the terminal has gone. */
int tty_read(void *bytes, size_t max);

struct tty_answers {
	bool dark, light; /* of the background; neither: not said */
	bool sync;	  /* mode 2026 can be used */
};
struct tty_answers tty_ask(bool background, bool sync, int ms);
/* True if TERM is a terminal that takes control strings (titles, queries) without showing them. */
bool tty_modern(void);

void tty_set_mouse(bool on);
/* True once after SIGTSTP (suspend now), SIGCONT (another program had the terminal), or
 * SIGWINCH. */
bool tty_stop_wanted(void);
bool tty_continued(void);
bool tty_resized(void);
/* Stops us as Ctrl-Z does (foreground.h), the terminal given back meanwhile. Call between tty_leave
 * and tty_return. */
void tty_stop(void);

#endif
