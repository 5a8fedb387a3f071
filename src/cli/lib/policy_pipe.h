/* A policy that a user gives as an open descriptor: --policy <(...), --policy /dev/stdin. */
#ifndef CLI_LIB_POLICY_PIPE_H
#define CLI_LIB_POLICY_PIPE_H

#include "base/err.h"

/* If @path is /dev/fd/N, /proc/self/fd/N or /dev/stdin, reads that descriptor to its end (at most
 * 1 MiB, 10 s) and keeps what it held in a file of the user's state directory, named by its hash:
 * sessions read it again when they resume. *@out: that file, else a copy of @path; owned. */
NODISCARD int policy_pipe_keep(const char *path, char **out, struct err *err);

#endif
