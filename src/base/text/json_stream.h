/* A stream for JSON that terminals and other programs read: DEL, the C1 controls (U+0080 to
 * U+009F), and the line separators U+2028 and U+2029 become \u escapes. JSON has them in strings
 * only, so the text means the same. */
#ifndef BASE_TEXT_JSON_STREAM_H
#define BASE_TEXT_JSON_STREAM_H

#include <stdio.h>

#include "base/buf.h"

/* A new stream whose output goes to @to, which is borrowed; fclose ends it. NULL: no memory. */
FILE *json_stream_new(FILE *to);

/* The same for a text in pieces: appends to @out. @held: the last bytes of a piece, which may begin
 * such a character. */
struct json_held {
	unsigned char byte[2];
	size_t nr;
};
void json_stream_escape(struct json_held *held, const char *bytes, size_t len, struct buf *out);
void json_stream_rest(struct json_held *held, struct buf *out);

#endif
