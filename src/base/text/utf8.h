/* UTF-8, strictly: no overlong forms, no surrogates, nothing past U+10FFFF (Unicode 15, table 3-7).
 *
 * Broken input is divided by the maximal-subpart rule: each call consumes either one scalar
 * value or one run of bytes that could have begun one, so that every reader counts the same number
 * of faults. Pure functions, any thread.
 */
#ifndef BASE_TEXT_UTF8_H
#define BASE_TEXT_UTF8_H

#include "base/compat.h"

enum utf8_result { UTF8_OK, UTF8_BAD, UTF8_PARTIAL };

/* Reads one scalar value from the front of <bytes, len>, len > 0. Fills *cp on UTF8_OK. *used:
 * bytes consumed (OK), bytes of the maximal broken subpart (BAD), all of len (PARTIAL: more could
 * complete it).
 */
enum utf8_result utf8_next(const void *bytes, size_t len, uint32_t *cp, size_t *used);

/* Writes @cp (a scalar value) to @out and returns 1 to 4. */
size_t utf8_put(uint32_t cp, char out[4]);

/* True if the whole of it is well formed (NUL counts as a character). */
bool utf8_valid(const void *bytes, size_t len);

#endif
