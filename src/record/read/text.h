/* The text of an event as it is searched: its body, or for output the bytes of its segment;
 * for output of a terminal followed by its words (base/text/screen_words.h). */
#ifndef RECORD_READ_TEXT_H
#define RECORD_READ_TEXT_H

#include <sqlite3.h>

#include "base/buf.h"
#include "base/err.h"

struct text_reader {
	sqlite3 *db; /* borrowed */
	sqlite3_stmt *event, *segment;
};
#define TEXT_READER(db) ((struct text_reader){ (db), NULL, NULL })
void text_reader_release(struct text_reader *t);

/* Fills @out (reset first). 1, 0 when there is none (no such event, redacted), -1 failure. */
int text_of_event(struct text_reader *t, uint64_t seq, struct buf *out, struct err *err);

/* In lower case, as searches compare. Fills @out (reset first). */
void text_fold(const char *bytes, size_t len, struct buf *out);

#endif
