/* The end of a session as text, from the body of its session.end: for lists and for screens. */
#ifndef RECORD_READ_ENDED_H
#define RECORD_READ_ENDED_H

#include "base/json.h"

/* "ended" (well), "stopped" (by a user, or with its machine: nothing went wrong), "failed".
 * Static. */
const char *ended_word(const json_t *end);
/* The same from its fields ok and status. */
const char *ended_status_word(bool good, int64_t status);
/* Why, the first line of it; "" it ended well or does not say. Not sanitized: a server's words may
 * be in it. Borrowed from @end; its bytes are *@len_out. */
const char *ended_why(const json_t *end, size_t *len_out);

#endif
