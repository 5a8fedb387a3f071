/* Forks onto other models of sessions with agents inside. Such an agent continues with a copy of
 * its own session, which the recording has (lua/sandglass/inside/kept.lua). */
#ifndef CLI_FRONT_FORK_INSIDE_H
#define CLI_FRONT_FORK_INSIDE_H

#include <stdint.h>

#include "base/err.h"

/* Can the agents inside of the session file @path continue from event @seq with each of @models
 * ("PROVIDER:NAME,...")? -1 names the first that can't, and an event from which it can. */
NODISCARD int fork_inside_check(const char *path, uint64_t seq, const char *models,
				struct err *err);

#endif
