/* libgit2 made ready once per process, with nothing of the machine's or the user's configuration in
 * reach. */
#ifndef SANDBOX_WORKSPACE_GIT_H
#define SANDBOX_WORKSPACE_GIT_H

#include <git2.h>
#include <git2/sys/commit.h>
#include <git2/sys/repository.h>

#include "base/err.h"
#include "record/read/object.h"

void ws_git_ready(void); /* any thread, any number of times */
/* Sets @err to "WHAT: libgit2's words". Returns -1. */
int ws_git_err(struct err *err, const char *what);

#endif
