/* A program's terminal on ours: bytes pass as they are in both directions, and a side reader keeps
 * its screen and its modes.
 *
 *  - Until the program has a screen of its own nothing is painted. A terminal that attaches later
 *    gets the screen as the recording has it and the modes. The size then becomes one column less
 *    and returns, so that the program paints all of it again.
 *  - The prefix key (prefix_keys.h) opens the overlay (overlay.h). While it is open, output goes to
 *    the side reader only.
 *  - When the program stops itself (Ctrl-Z), we stop; it continues when we do.
 *  - At any end, every mode that the program has switched on in our terminal is switched off. */
#ifndef TERMINAL_TERMINAL_VIEW_H
#define TERMINAL_TERMINAL_VIEW_H

#include "control/client.h"
#include "record/read/session.h"

enum terminal_end { TERMINAL_ENDED, TERMINAL_DETACHED, TERMINAL_TAKEN, TERMINAL_LOST };

struct terminal_use {
	struct control_client *client;
	struct session *session;
	uint64_t action;
	bool take;  /* from the client that uses it */
	int prefix; /* the prefix key's byte, 1 to 31 */
	/* The user wants the console: shows it on the terminal and comes back. May be NULL. */
	void (*fleet)(void *self);
	void *self;
};

/* Shows and feeds the terminal until the program ends or is left. Returns how, *status_out: the
 * program's exit status of TERMINAL_ENDED; -1 on failure. Descriptors 0 and 1 are the terminal. */
int terminal_use(const struct terminal_use *u, int *status_out, struct err *err);

#endif
