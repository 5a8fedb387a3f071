/* The console on a session: ui/console.h with the control client as its hands. */
#ifndef APP_FRONT_CONSOLE_H
#define APP_FRONT_CONSOLE_H

#include "app/front/front.h"

int front_console(struct cmd_ctx *ctx, const char *path, const char *socket, const struct front_opts *fo);

#endif
