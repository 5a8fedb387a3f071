/* A user's terminal tied to a shell in a sandbox. Typed input goes to the supervisor as
 * commands. The shell's output is read from the session file, so that all visible output is
 * recorded. */
#ifndef TERMINAL_OPERATOR_SHELL_H
#define TERMINAL_OPERATOR_SHELL_H

#include "control/client.h"
#include "record/read/session.h"

/* Runs until action @id (kind shell) has ended. The terminal (descriptors 0 and 1) is put into raw
 * mode meanwhile. Returns its exit status, or -1. */
int operator_shell(struct control_client *c, struct session *s, uint64_t id, struct err *err);

#endif
