/* The console on a session: ui/console.h with the control client as its hands. */
#ifndef CLI_FRONT_FRONT_CONSOLE_H
#define CLI_FRONT_FRONT_CONSOLE_H

#include "cli/front/front.h"

/* All sessions that run, also those that begin later. Returns an exit status. */
int front_console_all(struct cmd_ctx *ctx, const struct front_opts *fo);

int front_console(struct cmd_ctx *ctx, const char *path, const char *socket,
		  const struct front_opts *fo);

/* The session browser: all sessions of the directory, none of them on the screen. */
int front_console_sessions(struct cmd_ctx *ctx);

#endif
