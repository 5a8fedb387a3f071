/* The session browser: what the console's screens "sessions" and "found" read (ui/frame/browse.h),
 * from the sessions directory, its catalog, and the supervisors that run. */
#ifndef CLI_FRONT_FRONT_BROWSE_H
#define CLI_FRONT_FRONT_BROWSE_H

#include "cli/front/front.h"
#include "ui/frame/browse.h"

struct front_browse;
/* Never fails: a directory that can't be read has no sessions. @ctx outlives it. */
struct front_browse *front_browse_new(struct cmd_ctx *ctx) NODISCARD;
const struct browse *front_browse_ops(const struct front_browse *f);
void front_browse_free(struct front_browse **f);

#endif
