/* Where the repositories within a sandbox's directory keep their own files. */
#ifndef SESSIONS_SUBMODULE_H
#define SESSIONS_SUBMODULE_H

/* The directory of the submodule at @prefix of the host's directory @dir, as the sandbox names it:
 * ".git/modules/one". NULL: it is not a submodule. Returns owned. */
char *submodule_gitdir(const char *dir, const char *prefix);

#endif
