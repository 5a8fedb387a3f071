/* Runs whose store and sessions lie elsewhere than the user's: each trial of a test has a
 * directory of its own. */
#ifndef SUITE_APART_H
#define SUITE_APART_H

#include "base/buf.h"

/* Appends this process's environment, with the store in @dir/data. */
void apart_environment(const char *dir, struct strv *out);

#endif
