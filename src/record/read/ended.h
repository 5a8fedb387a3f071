/* The end of a session as text, from its session.end: for lists and for screens. */
#ifndef RECORD_READ_ENDED_H
#define RECORD_READ_ENDED_H

#include "wire/event_body.h"

/* "ended" (well), "stopped" (by a user, or with its machine: nothing went wrong), "failed".
 * Static. */
const char *ended_word(const struct ev_session_end *end);
/* The same from its fields ok and status. */
const char *ended_status_word(bool good, int64_t status);
/* Why, the first line of it; "" it ended well or does not say. Not sanitized: a server's words may
 * be in it. Not terminated. */
struct ev_text ended_why(const struct ev_session_end *end);

#endif
