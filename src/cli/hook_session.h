/* The session that judges and records what an agent on the host tells through its hooks. Each
 * hook is a process of its own that lives for one event: the first one of an agent's session starts
 * a supervisor, the others find it by a file in the runtime directory whose name is a hash of the
 * agent's session id. */
#ifndef CLI_HOOK_SESSION_H
#define CLI_HOOK_SESSION_H

#include "base/json.h"

/* Hands @event (its "hook_event_name" and "session_id" are there) to its session and waits for what
 * it says. @opts: of the supervisor (sessions/spawn.h), used when there is none yet; NULL: then
 * nothing is done, *answer_out is NULL. Fills *answer_out (owned): {"allowed","why"?,"input"?}. */
NODISCARD int hook_session_tell(const json_t *event, const json_t *opts, json_t **answer_out,
				struct err *err);

#endif
