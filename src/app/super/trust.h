/* Trust in the Lua files of a project (.sandglass/): by path and content hash, kept in the user's state folder. An agent
 * that changes such a file changes its hash, and so cannot widen its own rules. */
#ifndef APP_TRUST_H
#define APP_TRUST_H

#include "base/err.h"

bool trusted_file(const char *path);
NODISCARD int trust_file(const char *path, struct err *err);

#endif
