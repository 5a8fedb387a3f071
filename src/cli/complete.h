/* Values of options, for the completion of shells: complete_value.c has a row for each such
 * option. */
#ifndef CLI_COMPLETE_H
#define CLI_COMPLETE_H

#include "control/registry.h"

/* One candidate, with a word about it. */
typedef void complete_fn(void *self, const char *word, const char *about);

/* False: nothing is known of this option's values but that they are texts, or files. */
bool complete_value(const struct command *c, const char *option, complete_fn *fn, void *self);
/* Values of --agent, --model, --repo, and --label, where these choose sessions. */
void complete_traits(const char *sessions, const struct command *c, const char *option,
		     complete_fn *fn, void *self);
/* The kinds of boxes: drivers, plugins of the program, the user's own. */
void complete_kinds(complete_fn *fn, void *self);

#endif
