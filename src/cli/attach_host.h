/* attach and watch of a session on another machine: the console runs there, over the user's own
 * ssh, on the terminal here. Its record, its sockets and who is let in stay that machine's. */
#ifndef CLI_ATTACH_HOST_H
#define CLI_ATTACH_HOST_H

#include "cli/lib/cmd.h"

/* Becomes ssh; returns a status when it cannot. @host: as ssh takes it. */
int attach_host(struct cmd_ctx *ctx, const char *host);

#endif
