/* One order for the keys of a table, and text for values without an address in it: what keeps a
 * script repeatable.
 *
 * Order: numbers by value, strings by bytes, false, true, handles by their number. A handle is a
 * table that the library made known with order_handle; any other kind of key raises when the table
 * is walked. */
#ifndef SCRIPT_ORDER_H
#define SCRIPT_ORDER_H

#include <lua.h>

/* Pushes a list of the keys of the table at @idx in order; returns how many. Raises on a key
 * without order. */
lua_Integer order_keys(lua_State *L, int idx);

/* Lua functions. */
int order_pairs(lua_State *L);	  /* pairs(t): keys added while walking are not visited */
int order_next(lua_State *L);	  /* next(t, k) */
int order_handle(lua_State *L);	  /* handle(t): gives t the next number (once) and returns t */
int order_tostring(lua_State *L); /* tostring(v) */

/* Pushes what tostring(v) gives. */
void order_push_text(lua_State *L, int idx);

#endif
