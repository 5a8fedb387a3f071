/* Output of a terminal program as the words that a reader of its screen sees, so that searches find
 * them: control sequences leave, a move to the right in a line is that many spaces, and any
 * other move of the cursor is a line break. Not a screen: text that was painted over is still
 * there. */
#ifndef BASE_TEXT_SCREEN_WORDS_H
#define BASE_TEXT_SCREEN_WORDS_H

#include "base/buf.h"

/* Appends the words of <@bytes, @len> to @out. A sequence that is cut at either end is taken as
 * well as it can be. */
void screen_words(const char *bytes, size_t len, struct buf *out);

#endif
