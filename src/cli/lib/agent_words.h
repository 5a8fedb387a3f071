/* `sandglass claude ARGS` is `sandglass run --agent claude -i -- ARGS`: the arguments are the
 * agent's, so they are not looked at. Options of sandglass's own may stand directly behind the
 * name. */
#ifndef CLI_LIB_AGENT_WORDS_H
#define CLI_LIB_AGENT_WORDS_H

#include "base/buf.h"

/* Fills @out with the words to be parsed instead of @argv (without the program's name); false: they
 * are as they should be. */
bool agent_words(char *const *argv, size_t nr, struct strv *out);

#endif
