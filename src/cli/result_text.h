/* The result of a console command as text: "denied #138", "merged 3 changes to /home/ann/work,
 * fix (#283)". The text is not yet vetted for a terminal (cmd_safe). Pure. */
#ifndef CLI_RESULT_TEXT_H
#define CLI_RESULT_TEXT_H

#include "cli/lib/cmd.h"

/* @result: what the supervisor has answered to @ctx's command. false: there are no words for it,
 * nothing is appended. */
bool result_text_of(struct cmd_ctx *ctx, const json_t *result, struct buf *out);

#endif
