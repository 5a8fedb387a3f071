/* Reads JSON text in one pass without building values: what base/json.h accepts, and nothing else
 * (strict UTF-8, no lone surrogates, integers of 64 bits, at most 2048 values deep). Does not look
 * for duplicate names inside skipped values. */
#ifndef WIRE_JSON_SCAN_H
#define WIRE_JSON_SCAN_H

#include "base/mem.h"

struct json_scan {
	const char *p, *end;
	struct arena *arena; /* of texts with escapes */
	int depth;
};

/* Skips blanks; the next byte, or 0 at the end (NUL is not valid in JSON, either). */
char json_scan_peek(struct json_scan *s);
/* Skips blanks and @c; false if another byte comes. */
bool json_scan_take(struct json_scan *s, char c);
/* Enters a value; false: too deep. json_scan_leave after it. */
bool json_scan_enter(struct json_scan *s);
void json_scan_leave(struct json_scan *s);
/* A string, without its quotes and escapes: borrowed from the text, or from the arena. */
bool json_scan_string(struct json_scan *s, const char **out, size_t *len);
/* A number; *@is_int says whether *@out was filled. */
bool json_scan_number(struct json_scan *s, bool *is_int, int64_t *out);
/* A whole value of any type. */
bool json_scan_skip(struct json_scan *s);
/* true, false, or null. */
bool json_scan_word(struct json_scan *s, const char *word);

#endif
