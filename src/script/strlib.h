/* The string functions that could run endlessly, with bounds: find match gmatch gsub rep format;
 * and no dump. */
#ifndef SCRIPT_STRLIB_H
#define SCRIPT_STRLIB_H

#include <lua.h>

enum { STRING_MAX = 64 << 20 }; /* longest that rep makes, bytes */

/* Replaces the functions in the string table on top of the stack. */
void strlib_open(lua_State *L);

#endif
