/* A private copy of a session file with its log, for readers that can't write beside the file, as
 * SQLite must. The copy has a directory of its own in TMPDIR. It is removed by copy_remove, and
 * when SIGINT, SIGTERM, or SIGHUP ends a program that doesn't handle the signal. Any thread. */
#ifndef RECORD_READ_COPY_H
#define RECORD_READ_COPY_H

#include <stdatomic.h>

#include "base/err.h"

#define COPY_NAME "copy.glass"

/* @dir_out, owned, is that directory, also when the copy fails after it was made. @stop gives up
 * (ERR_CANCELLED); may be NULL. */
NODISCARD int copy_make(char **dir_out, const char *path, const atomic_bool *stop, struct err *err);
void copy_remove(char **dir); /* may be NULL inside */

#endif
