/* Who writes a session: an open-file-description lock on the file's companion, FILE-lease, held for as long as its
 * writer lives. Asking takes no lock, so that readers never get into a writer's way. */
#ifndef RECORD_READ_LEASE_H
#define RECORD_READ_LEASE_H

#include "base/err.h"

/* Takes the lease: the descriptor that holds it, or -1 (ERR_BUSY names the process that has it). */
NODISCARD int lease_take(const char *session_path, struct err *err);
bool lease_held(const char *session_path);
/* Of the program that holds it or held it last; 0 = unknown. */
int lease_pid(const char *session_path);

#endif
