/* The one form of a request's path, so that what a route allows and what the server makes of it
 * cannot differ: no dot segments, no empty segments, characters that need no escape unescaped,
 * escapes in capitals. Any thread. */
#ifndef PROXY_ONE_PATH_H
#define PROXY_ONE_PATH_H

#include "base/buf.h"

/* Appends the one form of <path, len> (from its slash on, without a query) to @out and returns
 * NULL; else what is wrong with it: an encoded separator, a backslash, a control character, an
 * escape that is not one, bytes that are not UTF-8. The encoded slash of a scoped package
 * ("/@scope%2fname") becomes a slash. */
const char *one_path(const char *path, size_t len, struct buf *out);

/* A field or a parameter with which a client asks the server to take the request for another one
 * than it is. */
bool one_path_override_field(const char *name);		     /* lower case */
bool one_path_override_query(const char *query, size_t len); /* with or without '?' */

#endif
