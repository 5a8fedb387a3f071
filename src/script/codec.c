#include "script/codec.h"

#include <lauxlib.h>
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/text/utf8.h"
#include "script/order.h"

static const char array_key, null_key;

static int null_text(lua_State *L)
{
	lua_pushliteral(L, "null");
	return 1;
}

void codec_open(lua_State *L)
{
	lua_newtable(L); /* into array_mt */
	lua_pushliteral(L, "list");
	lua_setfield(L, -2, "__name");
	lua_pushvalue(L, -1);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &array_key);
	lua_setfield(L, -2, "array_mt");

	lua_newtable(L); /* into null */
	lua_newtable(L); /* into null mt */
	lua_pushcfunction(L, null_text);
	lua_setfield(L, -2, "__tostring");
	lua_pushboolean(L, false);
	lua_setfield(L, -2, "__metatable");
	lua_setmetatable(L, -2);
	lua_pushvalue(L, -1);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &null_key);
	lua_setfield(L, -2, "null");
}

/* --- to JSON ---------------------------------------------------------------------------------- */

static void script_codec_put_text(const char *s, size_t len, struct buf *out)
{
	static const char hex[] = "0123456789abcdef";
	buf_putc(out, '"');
	size_t from = 0;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];
		if (c >= 0x20 && c != '"' && c != '\\')
			continue;
		buf_append(out, s + from, i - from);
		from = i + 1;
		switch (c) {
		case '"':
			buf_puts(out, "\\\"");
			break;
		case '\\':
			buf_puts(out, "\\\\");
			break;
		case '\n':
			buf_puts(out, "\\n");
			break;
		case '\t':
			buf_puts(out, "\\t");
			break;
		case '\r':
			buf_puts(out, "\\r");
			break;
		default:
			buf_puts(out, "\\u00");
			buf_putc(out, hex[c >> 4]);
			buf_putc(out, hex[c & 15]);
		}
	}
	buf_append(out, s + from, len - from);
	buf_putc(out, '"');
}

static void script_codec_put_string(lua_State *L, const char *s, size_t len, int flags,
				    struct buf *out)
{
	bool text = utf8_valid(s, len);
	if (!(flags & CODEC_FRAME)) {
		if (!text)
			luaL_error(L, "can't encode a string that isn't UTF-8 as JSON");
		script_codec_put_text(s, len, out);
		return;
	}
	if (text && !memchr(s, 0, len)) {
		script_codec_put_text(s, len, out);
		return;
	}
	buf_puts(out, "{\"b64\":\"");
	base64_append(out, s, len);
	buf_puts(out, "\"}");
}

static void script_codec_put_number(lua_State *L, int idx, struct buf *out)
{
	if (lua_isinteger(L, idx)) {
		buf_printf(out, "%lld", (long long)lua_tointeger(L, idx));
		return;
	}
	double d = lua_tonumber(L, idx);
	if (!isfinite(d))
		luaL_error(L, "can't encode the number %f as JSON", d);
	char s[40];
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(s, sizeof(s), "%.*g", digits, d);
		double back;
		if (sscanf(s, "%lf", &back) == 1 && memcmp(&back, &d, sizeof(d)) == 0)
			break;
	}
	buf_puts(out, s);
	if (!strpbrk(s, ".eE"))
		buf_puts(out, ".0");
}

static void script_codec_newline(int flags, int depth, struct buf *out)
{
	if (!(flags & CODEC_PRETTY))
		return;
	buf_putc(out, '\n');
	for (int i = 0; i < depth; i++)
		buf_puts(out, "  ");
}

static bool is_array(lua_State *L, int idx)
{
	if (!lua_getmetatable(L, idx))
		return false;
	lua_rawgetp(L, LUA_REGISTRYINDEX, &array_key);
	bool yes = lua_rawequal(L, -1, -2);
	lua_pop(L, 2);
	return yes;
}

static bool is_null(lua_State *L, int idx)
{
	lua_rawgetp(L, LUA_REGISTRYINDEX, &null_key);
	bool yes = lua_rawequal(L, -1, idx);
	lua_pop(L, 1);
	return yes;
}

static void script_codec_put_value(lua_State *L, int idx, int flags, int depth, struct buf *out);

static void put_list(lua_State *L, int idx, lua_Integer n, int flags, int depth, struct buf *out)
{
	buf_putc(out, '[');
	for (lua_Integer i = 1; i <= n; i++) {
		if (i > 1)
			buf_putc(out, ',');
		script_codec_newline(flags, depth + 1, out);
		lua_rawgeti(L, idx, i);
		script_codec_put_value(L, lua_gettop(L), flags, depth + 1, out);
		lua_pop(L, 1);
	}
	script_codec_newline(flags, depth, out);
	buf_putc(out, ']');
}

static void put_table(lua_State *L, int idx, int flags, int depth, struct buf *out)
{
	if (depth >= CODEC_DEPTH)
		luaL_error(
			L,
			"can't encode a table more than %d levels deep as JSON (does it contain itself?)",
			CODEC_DEPTH);
	luaL_checkstack(L, 8, "JSON");
	lua_Integer n = order_keys(L, idx); /* keys */
	int keys = lua_gettop(L);
	lua_Integer named = 0;
	for (lua_Integer i = 1; i <= n; i++) {
		lua_rawgeti(L, keys, i);
		if (lua_type(L, -1) == LUA_TSTRING)
			named++;
		else if (!lua_isinteger(L, -1) || lua_tointeger(L, -1) != i)
			luaL_error(
				L,
				"can't encode a table as JSON whose keys are neither 1..n nor names");
		lua_pop(L, 1);
	}
	if (named && named != n)
		luaL_error(L, "can't encode a table with both a list and names as JSON");
	if (!named && (n || is_array(L, idx))) {
		put_list(L, idx, n, flags, depth, out);
		lua_pop(L, 1);
		return;
	}
	buf_putc(out, '{');
	for (lua_Integer i = 1; i <= n; i++) {
		if (i > 1)
			buf_putc(out, ',');
		script_codec_newline(flags, depth + 1, out);
		lua_rawgeti(L, keys, i); /* keys key */
		size_t len;
		const char *key = lua_tolstring(L, -1, &len);
		if (!utf8_valid(key, len))
			luaL_error(L, "can't encode a name that isn't UTF-8 as JSON");
		script_codec_put_text(key, len, out);
		buf_puts(out, flags & CODEC_PRETTY ? ": " : ":");
		lua_rawget(L, idx); /* keys value */
		script_codec_put_value(L, lua_gettop(L), flags, depth + 1, out);
		lua_pop(L, 1);
	}
	if (n)
		script_codec_newline(flags, depth, out);
	buf_putc(out, '}');
	lua_pop(L, 1);
}

static void script_codec_put_value(lua_State *L, int idx, int flags, int depth, struct buf *out)
{
	size_t len;
	const char *s;
	switch (lua_type(L, idx)) {
	case LUA_TNIL:
		buf_puts(out, "null");
		break;
	case LUA_TBOOLEAN:
		buf_puts(out, lua_toboolean(L, idx) ? "true" : "false");
		break;
	case LUA_TNUMBER:
		script_codec_put_number(L, idx, out);
		break;
	case LUA_TSTRING:
		s = lua_tolstring(L, idx, &len);
		script_codec_put_string(L, s, len, flags, out);
		break;
	case LUA_TTABLE:
		if (is_null(L, idx))
			buf_puts(out, "null");
		else
			put_table(L, idx, flags, depth, out);
		break;
	default:
		luaL_error(L, "can't encode a %s as JSON", luaL_typename(L, idx));
	}
}

void codec_put(lua_State *L, int idx, int flags, struct buf *out)
{
	script_codec_put_value(L, lua_absindex(L, idx), flags, 0, out);
}

/* --- to Lua ----------------------------------------------------------------------------------- */

static bool push_bytes(lua_State *L, const json_t *j)
{
	if (json_object_size(j) != 1 || !json_is_string(json_object_get(j, "b64")))
		return false;
	struct buf b = BUF_INIT;
	bool good = json_get_bytes(j, &b);
	if (good)
		/* running out of memory ends the process: nothing leaks */
		lua_pushlstring(L, buf_cstr(&b), b.len);
	buf_release(&b);
	return good;
}

void codec_push(lua_State *L, const json_t *j, int flags)
{
	luaL_checkstack(L, 6, "JSON");
	switch (json_typeof(j)) {
	case JSON_OBJECT: {
		if ((flags & CODEC_FRAME) && push_bytes(L, j))
			return;
		lua_createtable(L, 0, (int)json_object_size(j));
		const char *key;
		json_t *value;
		json_object_foreach((json_t *)(uintptr_t)j, key, value)
		{
			if (json_is_null(value) && !(flags & CODEC_NULLS))
				continue;
			codec_push(L, value, flags);
			lua_setfield(L, -2, key);
		}
		return;
	}
	case JSON_ARRAY:
		lua_createtable(L, (int)json_array_size(j), 0);
		for (size_t i = 0; i < json_array_size(j); i++) {
			const json_t *item = json_array_get(j, i);
			if (json_is_null(item))
				lua_rawgetp(L, LUA_REGISTRYINDEX, &null_key);
			else
				codec_push(L, item, flags);
			lua_rawseti(L, -2, (lua_Integer)i + 1);
		}
		if (!json_array_size(j)) {
			lua_rawgetp(L, LUA_REGISTRYINDEX, &array_key);
			lua_setmetatable(L, -2);
		}
		return;
	case JSON_STRING:
		lua_pushlstring(L, json_string_value(j), json_string_length(j));
		return;
	case JSON_INTEGER:
		lua_pushinteger(L, json_integer_value(j));
		return;
	case JSON_REAL:
		lua_pushnumber(L, json_real_value(j));
		return;
	case JSON_TRUE:
		lua_pushboolean(L, true);
		return;
	case JSON_FALSE:
		lua_pushboolean(L, false);
		return;
	case JSON_NULL:
		lua_rawgetp(L, LUA_REGISTRYINDEX, &null_key);
		return;
	}
}
