/* The Lua environment: the functions that a script may call, and nothing else. Allow-listed from
 * the stock libraries. A function that is not repeatable, is unbounded, or reaches outside is
 * replaced or absent (the header of each replacement gives the reason).
 *
 * Absent: io (but io.write), os (but time clock date difftime), package, debug, dofile,
 * loadfile, collectgarbage, string.dump. load takes text only. setmetatable refuses __gc and
 * __mode. Two differences remain that a script could detect with effort: the length of a list
 * with holes (#t), which the manual leaves open, and a __mode that is put into a metatable after
 * setmetatable. */
#ifndef SCRIPT_ENV_H
#define SCRIPT_ENV_H

#include <lua.h>

/* Opens the libraries and leaves the table `core` on the stack: what lua/sandglass/boot.lua is
 * given and scripts are not (load, handle, where, trace, metatable, encode, decode, to64, from64,
 * null, array_mt, date, ostime, difftime). */
void env_open(lua_State *L);

#endif
