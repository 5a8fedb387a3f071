/* Line mode of a live session: one event a line, numbered prompts, commands typed at the prompt; no
 * cursor movement. */
#ifndef CLI_FRONT_FRONT_LINE_H
#define CLI_FRONT_FRONT_LINE_H

#include "cli/front/front.h"
#include "record/read/session.h"

/* Prints until the session has ended or (with a terminal) the user leaves. Commands go to
 * @socket; NULL: there is nobody. Returns the exit status. */
int front_line(struct cmd_ctx *ctx, struct session *s, const char *socket,
	       const struct front_opts *fo);

/* The same for front_opts.raw; @input: front_opts.input. */
int front_raw(struct cmd_ctx *ctx, struct session *s, const char *socket, bool input);

/* The exit status that session.end of @s tells; EXIT_UNSUCCESSFUL if it has none. */
int front_status(struct session *s, struct buf *why);

#endif
