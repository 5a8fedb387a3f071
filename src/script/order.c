#include "script/order.h"

#include <lauxlib.h>
#include <string.h>

#include "base/compat.h"

/* Key of a handle's number in its table; hidden from every walk. */
static char handle_key;

enum rank { RANK_NUMBER, RANK_STRING, RANK_FALSE, RANK_TRUE, RANK_HANDLE };

struct key {
	enum rank rank;
	bool is_int;
	lua_Integer i; /* integer, or number of the handle */
	lua_Number n;  /* float key: never integral, Lua keeps those as integers */
	const char *s;
	size_t len;
	lua_Integer slot;
};

static int number_compare(const struct key *a, const struct key *b)
{
	if (a->is_int && b->is_int)
		return a->i < b->i ? -1 : a->i > b->i;
	lua_Number x = a->is_int ? (lua_Number)a->i : a->n, y = b->is_int ? (lua_Number)b->i : b->n;
	return x < y ? -1 : x > y ? 1 : a->is_int ? -1 : 1; /* 2^63 - 1 and 2^63 */
}

static int key_compare(const struct key *a, const struct key *b)
{
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	switch (a->rank) {
	case RANK_NUMBER:
		return number_compare(a, b);
	case RANK_STRING: {
		int c = memcmp(a->s, b->s, a->len < b->len ? a->len : b->len);
		return c ? c : a->len < b->len ? -1 : a->len > b->len;
	}
	case RANK_HANDLE:
		return a->i < b->i ? -1 : a->i > b->i;
	case RANK_FALSE:
	case RANK_TRUE:
		return 0;
	}
	return 0;
}

static bool order_hidden(lua_State *L, int idx)
{
	return lua_type(L, idx) == LUA_TLIGHTUSERDATA;
}

/* Reads the key at @idx; raises if it has no place in the order. */
static void key_read(lua_State *L, int idx, struct key *k)
{
	*k = (struct key){ .rank = RANK_NUMBER };
	switch (lua_type(L, idx)) {
	case LUA_TNUMBER:
		k->is_int = lua_isinteger(L, idx);
		if (k->is_int)
			k->i = lua_tointeger(L, idx);
		else
			k->n = lua_tonumber(L, idx);
		return;
	case LUA_TSTRING:
		k->rank = RANK_STRING;
		k->s = lua_tolstring(L, idx, &k->len);
		return;
	case LUA_TBOOLEAN:
		k->rank = lua_toboolean(L, idx) ? RANK_TRUE : RANK_FALSE;
		return;
	case LUA_TTABLE:
		k->rank = RANK_HANDLE;
		lua_rawgetp(L, idx, &handle_key);
		k->i = lua_tointeger(L, -1);
		lua_pop(L, 1);
		if (k->i)
			return;
		break;
	default:
		break;
	}
	luaL_error(
		L,
		"can't walk a table with a %s as key: its order would differ between runs (use a "
		"list, or names as keys)",
		luaL_typename(L, idx));
}

/* Merge sort: the C library's asks the kernel for the size of the memory. */
static void order_sort(struct key *a, struct key *spare, size_t n)
{
	for (size_t width = 1; width < n; width *= 2) {
		for (size_t lo = 0; lo < n; lo += 2 * width) {
			size_t mid = lo + width < n ? lo + width : n,
			       hi = lo + 2 * width < n ? lo + 2 * width : n;
			for (size_t i = lo, j = mid, k = lo; k < hi; k++)
				spare[k] = i < mid && (j >= hi || key_compare(&a[i], &a[j]) <= 0)
						   ? a[i++]
						   : a[j++];
		}
		memcpy(a, spare, n * sizeof(*a));
	}
}

lua_Integer order_keys(lua_State *L, int idx)
{
	idx = lua_absindex(L, idx);
	luaL_checkstack(L, 8, "keys");
	size_t n = 0;
	bool plain = true; /* 1, 2, 3 ... as it comes */
	lua_newtable(L);   /* keys */
	int keys = lua_gettop(L);
	for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) { /* keys key value */
		if (order_hidden(L, -2))
			continue;
		n++;
		plain = plain && lua_isinteger(L, -2) && lua_tointeger(L, -2) == (lua_Integer)n;
		lua_pushvalue(L, -2);
		lua_rawseti(L, keys, (lua_Integer)n);
	}
	if (plain)
		return (lua_Integer)n;
	struct key *a = lua_newuserdatauv(L, 2 * n * sizeof(*a), 0); /* keys space */
	bool sorted = true;
	for (size_t i = 0; i < n; i++) {
		/* keys space key; the string stays anchored in keys */
		lua_rawgeti(L, keys, (lua_Integer)i + 1);
		key_read(L, lua_gettop(L), &a[i]);
		a[i].slot = (lua_Integer)i + 1;
		sorted = sorted && (i == 0 || key_compare(&a[i - 1], &a[i]) <= 0);
		lua_pop(L, 1);
	}
	if (sorted) {
		lua_pop(L, 1);
		return (lua_Integer)n;
	}
	order_sort(a, a + n, n);
	lua_createtable(L, (int)n, 0); /* keys space out */
	for (size_t i = 0; i < n; i++) {
		lua_rawgeti(L, keys, a[i].slot);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	lua_replace(L, keys);
	lua_settop(L, keys);
	return (lua_Integer)n;
}

/* Upvalues: table, keys, place. */
static int order_walk(lua_State *L)
{
	lua_Integer i = lua_tointeger(L, lua_upvalueindex(3));
	for (;;) {
		i++;
		if (lua_rawgeti(L, lua_upvalueindex(2), i) == LUA_TNIL)
			return 1;
		lua_pushvalue(L, -1);
		if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) /* key value */
			break;
		lua_pop(L, 2); /* removed meanwhile */
	}
	lua_pushinteger(L, i);
	lua_replace(L, lua_upvalueindex(3));
	return 2;
}

int order_pairs(lua_State *L)
{
	luaL_checkany(L, 1);
	if (luaL_getmetafield(L, 1, "__pairs") != LUA_TNIL) {
		lua_pushvalue(L, 1);
		lua_call(L, 1, 3);
		return 3;
	}
	luaL_checktype(L, 1, LUA_TTABLE);
	lua_pushvalue(L, 1);
	order_keys(L, 1);
	lua_pushinteger(L, 0);
	lua_pushcclosure(L, order_walk, 3);
	lua_pushvalue(L, 1);
	lua_pushnil(L);
	return 3;
}

int order_next(lua_State *L)
{
	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 2);
	struct key after, best = { 0 }, k;
	bool has_after = !lua_isnil(L, 2), found = false;
	if (has_after)
		key_read(L, 2, &after);
	lua_pushnil(L);					      /* table after best */
	for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) { /* table after best key value */
		if (order_hidden(L, -2))
			continue;
		key_read(L, lua_gettop(L) - 1, &k);
		if ((has_after && key_compare(&k, &after) <= 0) ||
		    (found && key_compare(&k, &best) >= 0))
			continue;
		best = k;
		found = true;
		lua_pushvalue(L, -2);
		lua_replace(L, 3);
	}
	if (!found)
		return 1; /* nil */
	lua_pushvalue(L, 3);
	lua_rawget(L, 1);
	return 2;
}

int order_handle(lua_State *L)
{
	static const char count_key;
	luaL_checktype(L, 1, LUA_TTABLE);
	lua_rawgetp(L, LUA_REGISTRYINDEX, &count_key);
	lua_Integer n = lua_tointeger(L, -1) + 1;
	lua_pushinteger(L, n);
	lua_rawsetp(L, LUA_REGISTRYINDEX, &count_key);
	lua_pushinteger(L, n);
	lua_rawsetp(L, 1, &handle_key);
	lua_settop(L, 1);
	return 1;
}

static void push_function(lua_State *L, int idx)
{
	lua_Debug ar = { 0 };
	lua_pushvalue(L, idx);
	lua_getinfo(L, ">S", &ar);
	if (ar.what[0] == 'C' || strncmp(ar.source, "@sandglass/", 11) == 0)
		lua_pushliteral(L, "function");
	else
		lua_pushfstring(L, "function %s:%d", ar.short_src, ar.linedefined);
}

void order_push_text(lua_State *L, int idx)
{
	idx = lua_absindex(L, idx);
	int type = lua_type(L, idx);
	if (type < LUA_TLIGHTUSERDATA || type == LUA_TNUMBER || type == LUA_TSTRING) {
		luaL_tolstring(L, idx, NULL);
		return;
	}
	if (luaL_getmetafield(L, idx, "__tostring") != LUA_TNIL) {
		lua_pop(L, 1);
		luaL_tolstring(L, idx, NULL);
		return;
	}
	if (type == LUA_TFUNCTION) {
		push_function(L, idx);
		return;
	}
	if (luaL_getmetafield(L, idx, "__name") == LUA_TSTRING)
		return;
	lua_pushstring(L, lua_typename(L, type));
}

int order_tostring(lua_State *L)
{
	luaL_checkany(L, 1);
	order_push_text(L, 1);
	return 1;
}
