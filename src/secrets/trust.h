/* Trust in the Lua files of a project (.sandglass/), its instructions and skills (project.h): by
 * path and content hash, kept in the user's state directory. An agent that changes such a file
 * changes its hash, and so cannot widen its own rules. */
#ifndef SECRETS_TRUST_H
#define SECRETS_TRUST_H

#include "base/err.h"

/* CHANGED: as it was before, it was trusted */
enum trust_state { TRUST_NONE, TRUST_CHANGED, TRUST_YES };
bool trusted_file(const char *path);
/* The same for a text that was read already: @path is full and free of links. */
enum trust_state trust_of_text(const char *path, const void *bytes, size_t len);
NODISCARD int trust_text(const char *path, const void *bytes, size_t len, struct err *err);
NODISCARD int trust_file(const char *path, struct err *err);

#endif
