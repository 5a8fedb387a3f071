/* The verbs of wire/tool.h. */
#ifndef GUEST_TOOL_H
#define GUEST_TOOL_H

#include "base/buf.h"

/* @argv: the verb and its arguments. Reads descriptor 0, answers on 1; returns the exit status. */
int tool_main(int argc, char **argv);
/* of a verb that is a question: rule 1; the exit status */
int tool_answer(int argc, char **argv, struct buf *out);
int tool_tty(char **argv);  /* tty.c: what follows the verb, at least a command's first word */
int tool_ends(char **argv); /* ends.c: the same */
int tool_connect(const char *host, const char *port); /* connect.c */

#endif
