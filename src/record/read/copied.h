/* How much of a session was another one's: a fork begins with events that it has copied. Reading
 * only. */
#ifndef RECORD_READ_COPIED_H
#define RECORD_READ_COPIED_H

#include "record/read/session.h"

/* the last seq that belongs to another session; 0: the session is not a fork */
uint64_t session_copied(const struct session *s);

#endif
