/* Several commands as one: args.batch of an exec is a list of texts for sh, run one after another
 * in shells of their own. A separator between them on both streams (an unguessable mark, with the
 * exit status) is removed before recording, so that each command's part of the output is known to
 * the byte. A command that reads the memory of the shell that runs it can learn the mark, and a
 * remote sandbox sees its own input: the boundaries of the parts are a claim of the sandbox.
 *
 * An edited batch becomes one command: the one that you wrote. */
#ifndef SANDBOX_BATCH_H
#define SANDBOX_BATCH_H

#include "action/action.h"

struct several;

/* The command as which a batch is shown and checked against policy. Each text is quoted, so that
 * none of them can change the meaning of another. false: @list is empty or holds anything but
 * texts. */
bool command_batch_text(const json_t *list, struct buf *out);

/* NULL: the action is none. Returns owned. */
struct several *command_batch_new(struct action *a);
void command_batch_free(struct several **b);
/* The words to run instead of its own; borrowed. */
char *const *command_batch_argv(const struct several *b, size_t *nr_out);
/* The first input of the shells, which must be open; borrowed. */
const char *command_batch_input(const struct several *b);
/* Output as it comes; the commands' own passes to action_output. */
void command_batch_output(struct several *b, enum record_stream s, const void *bytes, size_t len);
/* Nothing more comes: [{"code","out":[from,to],"err":[from,to]}] of those that have ended, in bytes
 * of the recorded output. Returns owned. */
json_t *command_batch_end(struct several *b);

#endif
