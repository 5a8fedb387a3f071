/* May what a recording holds go into the user's repositories? */
#ifndef SESSIONS_MERGE_TRUST_H
#define SESSIONS_MERGE_TRUST_H

#include "cli/lib/cmd.h"
#include "record/read/session.h"

/* The whole recording is verified. ERR_DAMAGED: it is not what was written. ERR_DENIED: it was
 * recorded with another key than the user's, and the option --trust-key does not name that. */
NODISCARD int merge_trust(struct cmd_ctx *ctx, struct session *s, struct err *err);

#endif
