/* Several commands as one: args.batch of an exec is a list of texts for sh, run one after another
 * in shells of their own, in one go. What stands between them on both streams (a mark that nobody
 * can guess, with the exit status) is taken out again before it is recorded, so that each command's
 * part of the output is known to the byte. A command that looks into the memory of the shell that
 * runs it can learn the mark, and what lies elsewhere shows its input to itself: what the parts say
 * is a claim of the box.
 *
 * One that a person has changed since it was asked for is no batch any more, but the command that
 * it was changed to. */
#ifndef SANDBOX_BATCH_H
#define SANDBOX_BATCH_H

#include "action/action.h"

struct several;

/* The command that a batch is judged and shown as. Each text stands in quotes, so that none of them
 * can change what another is taken for. false: @list holds something else than texts, or
 * nothing. */
bool command_batch_text(const json_t *list, struct buf *out);

/* NULL: the action is none. Returns owned. */
struct several *command_batch_new(struct action *a);
void command_batch_free(struct several **b);
/* The words to run instead of its own; borrowed. */
char *const *command_batch_argv(const struct several *b, size_t *nr_out);
/* What is said to them first on their input, which must be open; borrowed. */
const char *command_batch_input(const struct several *b);
/* Output as it comes; what is not ours goes on to action_output. */
void command_batch_output(struct several *b, enum record_stream s, const void *bytes, size_t len);
/* Nothing more comes: [{"code","out":[from,to],"err":[from,to]}] of those that have ended, in bytes
 * of the recorded output. Returns owned. */
json_t *command_batch_end(struct several *b);

#endif
