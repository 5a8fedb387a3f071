#include "script/env.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/json.h"
#include "script/codec.h"
#include "script/order.h"
#include "script/strlib.h"

enum { ITEMS_MAX = 10000000, TRACE_LEVELS = 40 };

static const char LIBRARY[] = "@sandglass/";

/* --- base -------------------------------------------------------------------------------------
 */

static int base_setmetatable(lua_State *L)
{
	luaL_checktype(L, 1, LUA_TTABLE);
	int type = lua_type(L, 2);
	luaL_argexpected(L, type == LUA_TNIL || type == LUA_TTABLE, 2, "nil or table");
	static const char *const refused[] = { "__gc", "__mode" };
	for (size_t i = 0; type == LUA_TTABLE && i < ARRAY_LEN(refused); i++) {
		lua_pushstring(L, refused[i]);
		if (lua_rawget(L, 2) != LUA_TNIL)
			return luaL_error(
				L,
				"setmetatable: no '%s' here: when memory is freed differs in each run",
				refused[i]);
		lua_pop(L, 1);
	}
	if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL)
		return luaL_error(L, "can't change a protected metatable");
	lua_settop(L, 2);
	lua_setmetatable(L, 1);
	return 1;
}

struct text_reader {
	const char *s;
	size_t len;
};

static const char *env_read_text(lua_State *L, void *self, size_t *len)
{
	struct text_reader *r = self;
	(void)L;
	*len = r->len;
	r->len = 0;
	return *len ? r->s : NULL;
}

/* load(text, name, mode, env): text only; a function as first argument is not taken. */
static int base_load(lua_State *L)
{
	struct text_reader r;
	r.s = luaL_checklstring(L, 1, &r.len);
	const char *name = luaL_optstring(L, 2, "=(load)");
	if (strncmp(name, LIBRARY, sizeof(LIBRARY) - 1) == 0)
		return luaL_error(L, "load: the name '%s' is the library's", name);
	bool has_env = !lua_isnone(L, 4);
	if (lua_load(L, env_read_text, &r, name, "t") != LUA_OK) {
		lua_pushnil(L);
		lua_insert(L, -2);
		return 2;
	}
	if (has_env) {
		lua_pushvalue(L, 4);
		if (!lua_setupvalue(L, -2, 1))
			lua_pop(L, 1);
	}
	return 1;
}

/* --- table: lengths that a metamethod can make up are bounded ---------------------------------
 */

static int env_bounded(lua_State *L)
{
	luaL_checkany(L, 1);
	if (lua_type(L, 1) == LUA_TTABLE && luaL_len(L, 1) > ITEMS_MAX)
		return luaL_error(L, "table has more than %d items", (int)ITEMS_MAX);
	int n = lua_gettop(L);
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, 1);
	lua_call(L, n, LUA_MULTRET);
	return lua_gettop(L);
}

/* As bounded, and the numbers from argument upvalue 2 on span at most ITEMS_MAX. */
static int bounded_range(lua_State *L)
{
	int first = (int)lua_tointeger(L, lua_upvalueindex(2));
	if (!lua_isnoneornil(L, first) && !lua_isnoneornil(L, first + 1)) {
		lua_Integer from = luaL_checkinteger(L, first),
			    to = luaL_checkinteger(L, first + 1);
		if (to >= from && (lua_Unsigned)to - (lua_Unsigned)from >= ITEMS_MAX)
			return luaL_error(L, "range of more than %d items", (int)ITEMS_MAX);
	}
	return env_bounded(L);
}

static void env_table_open(lua_State *L)
{
	static const struct {
		const char *name;
		int range; /* argument where a range begins; 0 = none */
	} rows[] = {
		{ "insert", 0 }, { "remove", 0 }, { "concat", 3 }, { "unpack", 2 }, { "move", 2 }
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		lua_getfield(L, -1, rows[i].name); /* table function */
		lua_pushinteger(L, rows[i].range);
		lua_pushcclosure(L, rows[i].range ? bounded_range : env_bounded, 2);
		lua_setfield(L, -2, rows[i].name);
	}
	lua_pushnil(L); /* the stock sort picks pivots by the clock; boot.lua brings a stable one */
	lua_setfield(L, -2, "sort");
}

/* --- core -------------------------------------------------------------------------------------
 */

static bool is_library(const lua_Debug *ar)
{
	return strncmp(ar->source, LIBRARY, sizeof(LIBRARY) - 1) == 0;
}

/* Pushes "fix.lua:12" for the innermost frame of @co that is not the library's, else nil. */
static void env_where(lua_State *L, lua_State *co)
{
	lua_Debug ar;
	for (int level = 0; lua_getstack(co, level, &ar); level++) {
		lua_getinfo(co, "Sl", &ar);
		if (ar.currentline > 0 && !is_library(&ar)) {
			lua_pushfstring(L, "%s:%d", ar.short_src, ar.currentline);
			return;
		}
	}
	lua_pushnil(L);
}

/* where([co]) */
static int core_where(lua_State *L)
{
	env_where(L, lua_isthread(L, 1) ? lua_tothread(L, 1) : L);
	return 1;
}

/* trace([co]): one line per frame of the script, innermost first; frames of the library in a row
 * are one "...". */
static int core_trace(lua_State *L)
{
	lua_State *co = lua_isthread(L, 1) ? lua_tothread(L, 1) : L;
	lua_Debug ar;
	luaL_Buffer b;
	luaL_buffinit(L, &b);
	int lines = 0;
	bool gap = false;
	for (int level = 0; lines < TRACE_LEVELS && lua_getstack(co, level, &ar); level++) {
		lua_getinfo(co, "Sln", &ar);
		if (ar.currentline <= 0)
			continue;
		if (is_library(&ar)) {
			gap = true;
			continue;
		}
		if (gap && lines)
			luaL_addstring(&b, "  (sandglass)\n");
		gap = false;
		lines++;
		const char *what = *ar.what == 'm' ? "main chunk" : ar.name ? ar.name : "function";
		lua_pushfstring(L, "  %s:%d: in %s\n", ar.short_src, ar.currentline, what);
		luaL_addvalue(&b);
	}
	luaL_pushresult(&b);
	return 1;
}

/* load(text, chunkname [, env]): for the library: chunk or nil, message. */
static int core_load(lua_State *L)
{
	struct text_reader r;
	r.s = luaL_checklstring(L, 1, &r.len);
	bool has_env = !lua_isnoneornil(L, 3);
	if (lua_load(L, env_read_text, &r, luaL_checkstring(L, 2), "t") != LUA_OK) {
		lua_pushnil(L);
		lua_insert(L, -2);
		return 2;
	}
	if (has_env) {
		lua_pushvalue(L, 3);
		lua_setupvalue(L, -2, 1);
	}
	return 1;
}

/* Scratch of the codec: kept over calls, so that a raised error leaks nothing. */
static struct buf env_scratch;

/* encode(value [, pretty]) raises on what JSON cannot hold. */
static int core_encode(lua_State *L)
{
	luaL_checkany(L, 1);
	buf_reset(&env_scratch);
	codec_put(L, 1, lua_toboolean(L, 2) ? CODEC_PRETTY : 0, &env_scratch);
	lua_pushlstring(L, buf_cstr(&env_scratch), env_scratch.len);
	return 1;
}

/* decode(text, nulls) -> value, or nil and the error. nulls: fields that are null are kept. */
static int core_decode(lua_State *L)
{
	size_t len;
	const char *s = luaL_checklstring(L, 1, &len);
	struct err err = ERR_INIT;
	json_t *j = json_parse(s, len, "text", &err);
	if (!j) {
		lua_pushnil(L);
		lua_pushstring(L, err.text);
		return 2;
	}
	codec_push(L, j, lua_toboolean(L, 2) ? CODEC_NULLS : 0);
	json_release(&j);
	return 1;
}

/* to64(bytes) -> base64, with its ends filled. */
static int core_to64(lua_State *L)
{
	size_t len;
	const char *s = luaL_checklstring(L, 1, &len);
	buf_reset(&env_scratch);
	base64_append(&env_scratch, s, len);
	lua_pushlstring(L, buf_cstr(&env_scratch), env_scratch.len);
	return 1;
}

static int digit_of(char c)
{
	return c >= 'A' && c <= 'Z'   ? c - 'A'
	       : c >= 'a' && c <= 'z' ? c - 'a' + 26
	       : c >= '0' && c <= '9' ? c - '0' + 52
	       : c == '+'	      ? 62
	       : c == '/'	      ? 63
				      : -1;
}

/* from64(text) -> bytes. Characters outside base64 are skipped: line ends and padding. */
static int core_from64(lua_State *L)
{
	size_t len;
	const char *s = luaL_checklstring(L, 1, &len);
	unsigned held = 0, bits = 0;
	buf_reset(&env_scratch);
	buf_reserve(&env_scratch, len / 4 * 3 + 3);
	for (size_t i = 0; i < len; i++) {
		int v = digit_of(s[i]);
		if (v < 0)
			continue;
		held = held << 6 | (unsigned)v;
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			env_scratch.data[env_scratch.len++] = (char)(held >> bits);
		}
	}
	lua_pushlstring(L, env_scratch.data, env_scratch.len);
	return 1;
}

/* metatable(v): the real one, whatever __metatable says. */
static int core_metatable(lua_State *L)
{
	luaL_checkany(L, 1);
	return lua_getmetatable(L, 1);
}

/* Upvalue 1: stock os.date. Always UTC; the caller gives the time. */
static int core_date(lua_State *L)
{
	const char *f = luaL_optstring(L, 1, "%c");
	luaL_checkinteger(L, 2);
	lua_settop(L, 2);
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_pushfstring(L, "!%s", *f == '!' ? f + 1 : f);
	lua_pushvalue(L, 2);
	lua_call(L, 2, 1);
	return 1;
}

/* --- all together -----------------------------------------------------------------------------
 */

static void base_open(lua_State *L)
{
	static const char *const absent[] = { "dofile", "loadfile", "collectgarbage",
					      "warn",	"print",    "_VERSION" };
	static const luaL_Reg ours[] = {
		{ "pairs", order_pairs },	{ "next", order_next },
		{ "tostring", order_tostring }, { "setmetatable", base_setmetatable },
		{ "load", base_load },		{ NULL, NULL },
	};
	luaL_requiref(L, LUA_GNAME, luaopen_base, 0); /* _G */
	for (size_t i = 0; i < ARRAY_LEN(absent); i++) {
		lua_pushnil(L);
		lua_setfield(L, -2, absent[i]);
	}
	luaL_setfuncs(L, ours, 0);
	lua_pushliteral(L, "Lua 5.4");
	lua_setfield(L, -2, "_VERSION");
	lua_pop(L, 1);
}

/* Strings get a table of methods of their own, so that a script that changes `string` breaks only
 * itself. */
static void string_open(lua_State *L)
{
	luaL_requiref(L, LUA_STRLIBNAME, luaopen_string, 1); /* string */
	strlib_open(L);
	lua_pushliteral(L, "");
	lua_getmetatable(L, -1); /* string "" mt */
	lua_newtable(L);	 /* string "" mt methods */
	for (lua_pushnil(L); lua_next(L, -5);) {
		lua_pushvalue(L, -2);
		lua_insert(L, -2);
		lua_settable(L, -4);
	}
	lua_setfield(L, -2, "__index");
	lua_pushboolean(L, false);
	lua_setfield(L, -2, "__metatable");
	lua_pop(L, 3);
}

static void core_os(lua_State *L)
{
	luaL_requiref(L, LUA_OSLIBNAME, luaopen_os, 0); /* core os */
	lua_getfield(L, -1, "date");
	lua_pushcclosure(L, core_date, 1);
	lua_setfield(L, -3, "date");
	lua_getfield(L, -1, "time");
	lua_setfield(L, -3, "ostime");
	lua_getfield(L, -1, "difftime");
	lua_setfield(L, -3, "difftime");
	lua_pop(L, 1);
}

void env_open(lua_State *L)
{
	static const luaL_Reg core[] = {
		{ "where", core_where },    { "trace", core_trace },
		{ "load", core_load },	    { "metatable", core_metatable },
		{ "encode", core_encode },  { "decode", core_decode },
		{ "to64", core_to64 },	    { "from64", core_from64 },
		{ "handle", order_handle }, { NULL, NULL },
	};
	base_open(L);
	string_open(L);
	luaL_requiref(L, LUA_TABLIBNAME, luaopen_table, 1);
	env_table_open(L);
	luaL_requiref(L, LUA_MATHLIBNAME, luaopen_math, 1);
	luaL_requiref(L, LUA_UTF8LIBNAME, luaopen_utf8, 1);
	luaL_requiref(L, LUA_COLIBNAME, luaopen_coroutine, 1);
	lua_pop(L, 4);
	luaL_newlib(L, core);
	core_os(L);
	codec_open(L);
	/* Names in error messages are looked up here, in an order that differs in each run: nothing
	 * to be found. */
	lua_newtable(L);
	lua_setfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
}
