/* JSON to Lua values and back, for frames and for sg.json.
 *
 * To JSON: a table whose keys are exactly 1..n is a list, one whose keys are strings an object with
 * its keys in byte order, the empty one an object unless it has the list metatable. Reads raw (no
 * metamethods), at most CODEC_DEPTH deep. To Lua: an empty list gets the list metatable, so that it
 * stays one; null in an object is an absent key (the null value with CODEC_NULLS), in a list the
 * null value. In frames (CODEC_FRAME) bytes that JSON cannot hold are {"b64":"..."}; without it
 * they raise. */
#ifndef SCRIPT_CODEC_H
#define SCRIPT_CODEC_H

#include <lua.h>

#include "base/buf.h"
#include "base/json.h"

enum { CODEC_DEPTH = 64, CODEC_FRAME = 1, CODEC_PRETTY = 2, CODEC_NULLS = 4 };

/* Puts the list metatable and null into the registry and into the table on top of the stack
 * (array_mt, null). */
void codec_open(lua_State *L);

/* Appends the value at @idx. Raises on what JSON cannot hold; then @out holds a part of it. */
void codec_put(lua_State *L, int idx, int flags, struct buf *out);

/* Pushes one value. Raises on memory only. */
void codec_push(lua_State *L, const json_t *j, int flags);

#endif
