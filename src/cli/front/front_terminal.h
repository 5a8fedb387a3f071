/* The terminal of a session's program on ours: waits until there is one, shows it, and says at the
 * end what became of it. */
#ifndef CLI_FRONT_FRONT_TERMINAL_H
#define CLI_FRONT_FRONT_TERMINAL_H

#include "cli/lib/cmd.h"

/* A variable of a console that was opened from a terminal: "SESSION AGENT". */
#define FRONT_TERMINAL_FROM "SANDGLASS_TERMINAL_FROM"

struct front_terminal_opts {
	const char *name; /* of the program, or the number of its agent; NULL: the newest */
	bool take;	  /* from the client that uses it */
	bool wait;	  /* the session has just begun: its terminal comes */
	bool own;	  /* its end is ours: the exit status is the program's */
};

/* Returns an exit status. */
int front_terminal(struct cmd_ctx *ctx, const char *path, const char *socket,
		   const struct front_terminal_opts *o);
/* Does the live session have a program in a terminal that an agent is? */
bool front_has_terminal(const char *socket, const char *name);
/* Is the session at @path that of one program in its own terminal interface (run -i)? Its terminal
 * may come later. */
bool front_terminal_comes(const char *path);
/* Fills @o, the script's words, with the size and the variables of our terminal. */
void front_terminal_words(struct strv *args);

#endif
