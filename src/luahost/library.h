/* The Lua files that are part of the program: the library, its models, the examples (lua/ in the
 * source tree) and the shipped plugins ("plugins/models/anthropic.lua"). */
#ifndef LUAHOST_LIBRARY_H
#define LUAHOST_LIBRARY_H

#include <stddef.h>

/* Text of a module ("sandglass", "sandglass.policy", "sandglass.scripted.demo"); NULL if there
 * is none. With SANDGLASS_DATA set, lua/ below that directory is read instead, so that the
 * library can be changed without building. */
const char *library_find(const char *module, size_t *len_out);
/* Text of a file by its path below lua/ ("examples/hello.lua"). */
const char *library_file(const char *path, size_t *len_out);
const char *library_path(size_t i); /* of the i-th file; NULL past the end */

#endif
