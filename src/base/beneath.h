/* Opens paths below a directory that another process may be changing: no component is a link that
 * is followed, none leads out, and a path may be longer than PATH_MAX. Any thread. */
#ifndef BASE_BENEATH_H
#define BASE_BENEATH_H

#include <stddef.h>

/* @flags as of open(2); O_CLOEXEC and O_NOFOLLOW are added. "" is the root itself. -1 and errno. */
int beneath_open(int root, const char *path, size_t len, int flags);

#endif
