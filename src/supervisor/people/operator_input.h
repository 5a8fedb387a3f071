/* What a person pipes into a command that was begun with its input open (`sandbox exec -i`): pieces
 * that come as commands, each recorded and passed on behind a barrier, in order.
 *
 *  1. A piece waits for the start of its action: nothing goes in before the gate has let it run.
 *  2. It is answered when the command has taken so much of what came before that the next may
 *  follow; who sends waits for
 *     that. So a command that does not read stops its person, not our memory.
 *  3. Of an action's input the first INPUT_KEPT bytes are recorded, without secrets; of a piece
 *  that goes beyond them its length
 *     and hash. Last bytes of a piece that could be the beginning of a secret are told as a number
 *     (held_bytes) and
 *     recorded with the next one, or when the action has ended.
 *  4. Nobody attached any more, or not one piece (an empty one announces more) in half a minute:
 *  its input ends. What nobody can close would wait for
 *     ever.
 * Loop thread only. */
#ifndef SUPERVISOR_PEOPLE_OPERATOR_INPUT_H
#define SUPERVISOR_PEOPLE_OPERATOR_INPUT_H

#include "supervisor/people/super_cmd.h"

/* @bytes (taken) for action @id; the answer comes by the ticket. ERR_NOENT: it is no such action or
 * has ended; ERR_BUSY: the piece before has no answer yet; ERR_CLOSED: its input has ended. */
NODISCARD int operator_input(const struct ask_for *a, uint64_t id, struct buf *bytes, bool eof,
			     struct err *err);
/* Action @id will take input. */
void operator_input_expect(struct super *s, uint64_t id);
/* action @id has: what of its input was held back is recorded */
void operator_input_ended(struct super *s, uint64_t id);
void operator_inputs_left(struct super *s); /* rule 4 */
void operator_inputs_free(struct super *s);

#endif
