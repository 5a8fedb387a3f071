/* deny --filter: finds the pending actions that match, lists them, and asks. */
#ifndef CLI_DENY_FILTER_H
#define CLI_DENY_FILTER_H

#include "cli/lib/cmd_priv.h"
#include "control/client.h"

/* Returns the words of the command, "deny" and the IDs; owned. NULL: nothing is denied, and @err
 * has the reason: no filter and no ID, a wrong filter, no match, or no consent. */
json_t *deny_filtered(struct cmd_ctx *ctx, const struct control_client *c, struct err *err);

#endif
