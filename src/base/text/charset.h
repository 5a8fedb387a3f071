/* Text of the web in whatever encoding it says it has -> UTF-8. Encodings: those of the web that
 * keep no state between characters (UTF-8, UTF-16, ISO 8859, windows-125x, KOI8, GBK, GB18030,
 * Big5, Shift_JIS, EUC); a name that is not known is read as UTF-8. A byte order mark counts more
 * than a name. What cannot be read becomes U+FFFD; NUL goes. Any thread. */
#ifndef BASE_TEXT_CHARSET_H
#define BASE_TEXT_CHARSET_H

#include "base/buf.h"

/* Appends to @out. @name may be NULL (UTF-8). */
void text_to_utf8(const void *bytes, size_t len, const char *name, struct buf *out);
bool charset_known(const char *name);

#endif
