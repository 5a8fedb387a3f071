/* A text for sh that execve takes in no single word (128 KiB): {"sh","-c",TEXT} becomes a short
 * command that gets TEXT another way and evaluates it. In a terminal, or beside an input of its
 * own, TEXT comes in pieces as words (1 MiB); else it is the beginning of the input, up to
 * HOST_BODY_MAX. Policy, screens, and the recording still use TEXT. */
#ifndef SANDBOX_LONG_COMMAND_H
#define SANDBOX_LONG_COMMAND_H

#include "action/action.h"

struct long_command;

/* NULL: the words of @spec can be run as they are. @pty: in a terminal; @input: it has an input of
 * its own. Returns owned. */
struct long_command *long_command_new(const struct action_spec *spec, bool pty, bool input);
void long_command_free(struct long_command **lc);
/* The words to run instead; borrowed. */
char *const *long_command_argv(const struct long_command *lc, size_t *nr_out);
/* The bytes for its input before all others, which must be open then; NULL none. Borrowed. */
const char *long_command_input(const struct long_command *lc, size_t *len_out);

#endif
