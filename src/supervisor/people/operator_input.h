/* Input that you pipe into a command started with its input open (`sandbox exec -i`). It comes in
 * pieces as commands. Each piece is recorded and passed on behind a barrier, in order.
 *
 * 1. A piece waits for the start of its action: no input passes before the policy check.
 * 2. The answer to a piece comes when the command has read enough that the next may follow, and the
 *    sender waits for it. So a command that does not read stops its sender; our memory does not
 *    grow.
 * 3. The first INPUT_KEPT bytes of an action's input are recorded, without secrets. A piece beyond
 *    them is recorded by its length and hash. Last bytes of a piece that may start a secret are
 *    recorded as a number (held_bytes); the bytes follow with the next piece or at the end of the
 *    action.
 * 4. The input ends when no client is attached, or half a minute after the last piece (an empty
 *    piece announces more). Otherwise the command would wait without end.
 * Loop thread only. */
#ifndef SUPERVISOR_PEOPLE_OPERATOR_INPUT_H
#define SUPERVISOR_PEOPLE_OPERATOR_INPUT_H

#include "supervisor/people/super_cmd.h"

/* Passes @bytes (taken) to action @id; the ticket is answered later. ERR_NOENT: unknown or ended
 * action; ERR_BUSY: the piece before has no answer yet; ERR_CLOSED: its input has ended. */
NODISCARD int operator_input(const struct ask_for *a, uint64_t id, struct buf *bytes, bool eof,
			     struct err *err);
/* Action @id will take input. */
void operator_input_expect(struct super *s, uint64_t id);
/* action @id has: what of its input was held back is recorded */
void operator_input_ended(struct super *s, uint64_t id);
void operator_inputs_left(struct super *s); /* rule 4 */
void operator_inputs_free(struct super *s);

#endif
