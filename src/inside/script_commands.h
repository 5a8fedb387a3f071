/* The commands of a script that a model gives its agent to run (Codex: JavaScript that calls
 * tools.exec_command). */
#ifndef INSIDE_SCRIPT_COMMANDS_H
#define INSIDE_SCRIPT_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Appends each command of the script to @out, and its directory ("": none is named) to @dirs.
 * False, with both as they were: a command is missing, or the script may run others. It then uses
 * `tools` for something else, has a command that is not a literal text, names a shell, or could
 * reach `tools` by another name or make code from text. */
bool script_commands(const char *text, size_t len, struct strv *out, struct strv *dirs);

#endif
