/* Sessions that run: which one a user means, and a connection to it. */
#ifndef SESSIONS_LIVE_H
#define SESSIONS_LIVE_H

#include "control/client.h"

/* @text: the beginning of an id, a name, the path of a socket; NULL = the only one. ERR_NOENT none
 * runs; ERR_USAGE several do: the text names them. @watch: look only. */
NODISCARD int live_open(const char *text, bool watch, struct control_client **out, struct err *err);

/* Is @text the first two or more characters of the session ID @id, with or without its "s-"? */
bool live_id_begins(const char *id, const char *text);

/* Does it know the command, for us? ERR_DENIED: it is for its owner; ERR_UNSUPPORTED: it is too
 * old. */
NODISCARD int live_knows(const struct control_client *c, const char *command, struct err *err);

#endif
