/* An action, or another event that a filter finds, as one flat object: what checks ask, comparisons
 * align, reports add up.
 *
 * Keys, those that are known: id (seq), seq (the same), ts_us, event (name of the kind of event),
 * kind (exec, read, ..., or snapshot, note, tool, end), tool, cmd, path, host, port, agent (name),
 * agent_id, box (name), box_id, call, cwd; of what became of it: verdict (allow, ask, deny), rule
 * (of the strictest match), file, line, risk, rules (number that matched), held (bool), decision,
 * by (human, timeout, ...), person, note, decided_us, wait_us (held until decided), started_us,
 * ended_us, end, why, exit, signal, dur_us, cost_uusd (also of a rented box that was closed),
 * cost_unknown (bool), tokens, out_bytes, err_bytes, edited (bool: then cmd is what ran, and
 * proposed the requested command), last (seq of its last step); of other events: text, level,
 * stop, args, ok, changes (number of changed paths), tree. Any thread (the session's). */
#ifndef QUERY_ROW_H
#define QUERY_ROW_H

#include "record/read/session.h"

/* Fills *out (owned). ERR_NOENT: no event has this number. */
NODISCARD int row_of(struct session *s, uint64_t seq, json_t **out, struct err *err);

/* The subject as one line: the command as typed or its words with blanks between, else path,
 * host, tool, text. */
void row_what(const json_t *row, struct buf *out);

#endif
