/* Finds the program of `run --agent` and `run -i`: on the host, or in the sandbox's own image. */
#ifndef CLI_FRONT_INNER_SANDBOX_H
#define CLI_FRONT_INNER_SANDBOX_H

#include "cli/front/front.h"

/* True: the backend brings its own files, so the program is searched for in the sandbox. */
bool inner_sandbox_own(const json_t *o);
/* --image, --build, and --option as words for the agent's script, appended to @args. An image or a
 * Dockerfile without a backend selects "container" in @o. ERR_USAGE: contradicting or malformed. */
NODISCARD int inner_sandbox_take(struct cmd_ctx *ctx, json_t *o, struct strv *args,
				 struct err *err);

#endif
