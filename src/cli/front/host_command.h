/* A user's own command on the host, from a console or line mode that was begun with
 * --trust. */
#ifndef CLI_FRONT_HOST_COMMAND_H
#define CLI_FRONT_HOST_COMMAND_H

#include "base/err.h"

/* Has the session @session record @cmd as the user's, then runs it with sh on this terminal and
 * records its end. Returns its exit status (128 + the signal that ended it), or -1: it was not
 * recorded, and did not run. */
NODISCARD int host_command(const char *session, const char *cmd, struct err *err);

#endif
