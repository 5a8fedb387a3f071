/* The commands of a script that a model gives its agent to run (Codex: JavaScript that calls
 * tools.exec_command). */
#ifndef INSIDE_SCRIPT_COMMANDS_H
#define INSIDE_SCRIPT_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Appends each command of the script to @out. False, with @out as it was: there is none, or the
 * script may run others. It uses `tools` for something else, a command is not a literal text, or it
 * could make code from text. */
bool script_commands(const char *text, size_t len, struct strv *out);

#endif
