#include "script/strlib.h"

#include <lauxlib.h>
#include <string.h>

#include "base/compat.h"
#include "script/order.h"
#include "script/pattern.h"

enum { SMALL = 48 };
static const uint64_t STEPS_BASE = 20000000, STEPS_PER_BYTE = 64;

/* A compiled pattern that is being tried on a text. The items stand on the C stack if there are
 * few. */
struct search {
	struct match m;
	const struct item *items;
	bool anchored;
};

static const char *const SPECIALS = "^$*+?.([%-";

static bool strlib_is_plain(const char *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!p[i] || strchr(SPECIALS, p[i]))
			return false;
	return true;
}

/* Compiles the pattern into @small, or into a userdata that it leaves on the stack. */
static void search_begin(lua_State *L, struct search *s, const char *text, size_t text_len,
			 const char *pattern, size_t len, bool anchors, struct item small[SMALL])
{
	s->anchored = anchors && len && *pattern == '^';
	if (s->anchored) {
		pattern++;
		len--;
	}
	if (len > PATTERN_MAX)
		luaL_error(L, "pattern is longer than %d bytes", PATTERN_MAX);
	struct item *items =
		len < SMALL ? small : lua_newuserdatauv(L, (len + 1) * sizeof(*items), 0);
	const char *fault = pattern_compile(pattern, len, items);
	if (fault)
		luaL_error(L, "%s", fault);
	s->items = items;
	s->m = (struct match){ .text = text,
			       .text_end = text + text_len,
			       .steps = STEPS_BASE + STEPS_PER_BYTE * text_len };
}

static const char *search_at(lua_State *L, struct search *s, const char *at)
{
	s->m.nr_captures = 0;
	const char *e = pattern_match(&s->m, s->items, at);
	if (s->m.fault)
		luaL_error(L, "%s", s->m.fault);
	return e;
}

static void push_capture(lua_State *L, const struct match *m, int i, const char *s, const char *e)
{
	if (i >= m->nr_captures) {
		if (i != 0)
			luaL_error(L, "invalid capture index %%%d", i + 1);
		lua_pushlstring(L, s, (size_t)(e - s));
	} else if (m->capture[i].len == CAPTURE_PLACE) {
		lua_pushinteger(L, m->capture[i].at - m->text + 1);
	} else if (m->capture[i].len == CAPTURE_OPEN) {
		luaL_error(L, "unfinished capture");
	} else {
		lua_pushlstring(L, m->capture[i].at, (size_t)m->capture[i].len);
	}
}

/* Pushes all captures; without captures and with @whole the whole match. */
static int push_captures(lua_State *L, const struct match *m, const char *s, const char *e,
			 bool whole)
{
	int n = m->nr_captures || !whole ? m->nr_captures : 1;
	luaL_checkstack(L, n, "too many captures");
	for (int i = 0; i < n; i++)
		push_capture(L, m, i, s, e);
	return n;
}

/* Start of a search from Lua's init argument; false if it lies past the end. */
static bool init_arg(lua_State *L, int arg, size_t len, size_t *out)
{
	lua_Integer i = luaL_optinteger(L, arg, 1);
	if (i > 0)
		*out = (size_t)i - 1;
	else if (i == 0 || i < -(lua_Integer)len)
		*out = 0;
	else
		*out = len - (size_t)-i;
	return *out <= len;
}

static int find_or_match(lua_State *L, bool find)
{
	size_t len, plen, init;
	const char *text = luaL_checklstring(L, 1, &len), *pattern = luaL_checklstring(L, 2, &plen);
	if (!init_arg(L, 3, len, &init)) {
		lua_pushnil(L);
		return 1;
	}
	if (find && (lua_toboolean(L, 4) || strlib_is_plain(pattern, plen))) {
		const char *at =
			plen ? memmem(text + init, len - init, pattern, plen) : text + init;
		if (!at) {
			lua_pushnil(L);
			return 1;
		}
		lua_pushinteger(L, at - text + 1);
		lua_pushinteger(L, at - text + (lua_Integer)plen);
		return 2;
	}
	struct search s;
	struct item small[SMALL];
	search_begin(L, &s, text, len, pattern, plen, true, small);
	for (const char *at = text + init; at <= s.m.text_end; at++) {
		const char *e = search_at(L, &s, at);
		if (e && find) {
			lua_pushinteger(L, at - text + 1);
			lua_pushinteger(L, e - text);
			return 2 + push_captures(L, &s.m, at, e, false);
		}
		if (e)
			return push_captures(L, &s.m, at, e, true);
		if (s.anchored)
			break;
	}
	lua_pushnil(L);
	return 1;
}

static int string_find(lua_State *L)
{
	return find_or_match(L, true);
}

static int string_match(lua_State *L)
{
	return find_or_match(L, false);
}

/* Upvalues: text, pattern, next start (offset), end of the last match (offset, -1 none). */
static int gmatch_next(lua_State *L)
{
	size_t len, plen;
	const char *text = lua_tolstring(L, lua_upvalueindex(1), &len);
	const char *pattern = lua_tolstring(L, lua_upvalueindex(2), &plen);
	lua_Integer from = lua_tointeger(L, lua_upvalueindex(3)),
		    last = lua_tointeger(L, lua_upvalueindex(4));
	struct search s;
	struct item small[SMALL];
	search_begin(L, &s, text, len, pattern, plen, false, small);
	for (const char *at = text + from; at <= s.m.text_end; at++) {
		const char *e = search_at(L, &s, at);
		if (!e || e - text == last)
			continue;
		lua_pushinteger(L, e - text);
		lua_copy(L, -1, lua_upvalueindex(3));
		lua_replace(L, lua_upvalueindex(4));
		return push_captures(L, &s.m, at, e, true);
	}
	lua_pushinteger(L, (lua_Integer)len + 1);
	lua_replace(L, lua_upvalueindex(3));
	return 0;
}

static int string_gmatch(lua_State *L)
{
	size_t len, init;
	luaL_checklstring(L, 1, &len);
	luaL_checkstring(L, 2);
	if (!init_arg(L, 3, len, &init))
		init = len + 1;
	lua_settop(L, 2);
	lua_pushinteger(L, (lua_Integer)init);
	lua_pushinteger(L, -1);
	lua_pushcclosure(L, gmatch_next, 4);
	return 1;
}

/* Adds the replacement string with its %0 to %9. */
static void add_template(lua_State *L, luaL_Buffer *b, const struct match *m, const char *s,
			 const char *e)
{
	size_t len;
	const char *r = lua_tolstring(L, 3, &len);
	for (const char *end = r + len; r < end; r++) {
		if (*r != '%') {
			luaL_addchar(b, *r);
			continue;
		}
		r++;
		if (r < end && *r == '%') {
			luaL_addchar(b, '%');
		} else if (r < end && *r == '0') {
			luaL_addlstring(b, s, (size_t)(e - s));
		} else if (r < end && *r >= '1' && *r <= '9') {
			push_capture(L, m, *r - '1', s, e);
			luaL_tolstring(L, -1, NULL); /* a place is a number */
			lua_remove(L, -2);
			luaL_addvalue(b);
		} else {
			luaL_error(L, "invalid use of '%%' in replacement string");
		}
	}
}

/* Adds what the match from @s to @e becomes. */
static void add_replacement(lua_State *L, luaL_Buffer *b, const struct match *m, const char *s,
			    const char *e, int type)
{
	if (type == LUA_TFUNCTION) {
		lua_pushvalue(L, 3);
		lua_call(L, push_captures(L, m, s, e, true), 1);
	} else if (type == LUA_TTABLE) {
		push_capture(L, m, 0, s, e);
		lua_gettable(L, 3);
	} else {
		add_template(L, b, m, s, e);
		return;
	}
	if (!lua_toboolean(L, -1)) {
		lua_pop(L, 1);
		luaL_addlstring(b, s, (size_t)(e - s));
	} else if (lua_isstring(L, -1)) {
		luaL_addvalue(b);
	} else {
		luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
	}
}

static int string_gsub(lua_State *L)
{
	size_t len, plen;
	const char *text = luaL_checklstring(L, 1, &len), *pattern = luaL_checklstring(L, 2, &plen);
	int type = lua_type(L, 3);
	luaL_argexpected(L,
			 type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TTABLE ||
				 type == LUA_TFUNCTION,
			 3, "string/function/table");
	lua_Integer most = luaL_optinteger(L, 4, (lua_Integer)len + 1), n = 0;
	struct search s;
	struct item small[SMALL];
	search_begin(L, &s, text, len, pattern, plen, true, small);
	luaL_Buffer b;
	luaL_buffinit(L, &b);
	const char *at = text, *last = NULL;
	while (n < most) {
		const char *e = search_at(L, &s, at);
		if (e && e != last) {
			n++;
			add_replacement(L, &b, &s.m, at, e, type);
			at = last = e;
		} else if (at < s.m.text_end) {
			luaL_addchar(&b, *at++);
		} else {
			break;
		}
		if (s.anchored)
			break;
	}
	luaL_addlstring(&b, at, (size_t)(s.m.text_end - at));
	luaL_pushresult(&b);
	lua_pushinteger(L, n);
	return 2;
}

static int string_rep(lua_State *L)
{
	size_t len, sep_len;
	const char *s = luaL_checklstring(L, 1, &len);
	lua_Integer n = luaL_checkinteger(L, 2);
	const char *sep = luaL_optlstring(L, 3, "", &sep_len);
	if (n <= 0 || len + sep_len == 0) {
		lua_pushliteral(L, "");
		return 1;
	}
	if ((size_t)n > STRING_MAX / (len + sep_len))
		return luaL_error(L, "resulting string too large (the limit is %d bytes)",
				  (int)STRING_MAX);
	luaL_Buffer b;
	size_t total = (size_t)n * len + (size_t)(n - 1) * sep_len;
	char *p = luaL_buffinitsize(L, &b, total);
	for (lua_Integer i = 0; i < n; i++) {
		memcpy(p, s, len);
		p += len;
		if (i + 1 < n && sep_len) {
			memcpy(p, sep, sep_len);
			p += sep_len;
		}
	}
	luaL_pushresultsize(&b, total);
	return 1;
}

/* Upvalue 1: the stock function. Refuses %p and turns what would print an address into our text
 * first. */
static int string_format(lua_State *L)
{
	size_t len;
	const char *f = luaL_checklstring(L, 1, &len);
	for (size_t i = 0; i + 1 < len; i++) {
		if (f[i] != '%')
			continue;
		for (i++; i < len && memchr("-+ #0123456789.", f[i], 15); i++)
			;
		if (i < len && f[i] == 'p')
			return luaL_error(
				L, "string.format: no '%%p' here: addresses differ in each run");
	}
	int n = lua_gettop(L);
	for (int i = 2; i <= n; i++) {
		int type = lua_type(L, i);
		if (type == LUA_TTABLE || type == LUA_TFUNCTION || type == LUA_TTHREAD ||
		    type == LUA_TUSERDATA) {
			order_push_text(L, i);
			lua_replace(L, i);
		}
	}
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, 1);
	lua_call(L, n, 1);
	return 1;
}

void strlib_open(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "find", string_find }, { "match", string_match }, { "gmatch", string_gmatch },
		{ "gsub", string_gsub }, { "rep", string_rep },	    { NULL, NULL },
	};
	lua_getfield(L, -1, "format"); /* string format */
	lua_pushcclosure(L, string_format, 1);
	lua_setfield(L, -2, "format");
	lua_pushnil(L);
	lua_setfield(L, -2, "dump");
	luaL_setfuncs(L, functions, 0);
}
