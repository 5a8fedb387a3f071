/* The text of an event as it is searched: its body, or for output the bytes of its segment. */
#ifndef RECORD_READ_TEXT_H
#define RECORD_READ_TEXT_H

#include <sqlite3.h>

#include "base/buf.h"
#include "base/err.h"

/* Fills @out (reset first). 1, 0 when there is none (no such event, redacted), -1 failure. */
int text_of_event(sqlite3 *db, uint64_t seq, struct buf *out, struct err *err);

#endif
