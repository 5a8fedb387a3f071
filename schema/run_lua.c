/* run_lua FILE [ARGUMENT...]: runs a Lua program of the build with the liblua that the Lua host is
 * linked with, so that building needs no Lua interpreter. */
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	lua_State *l = luaL_newstate();
	if (!l || argc < 2)
		return 2;
	luaL_openlibs(l);
	lua_createtable(l, argc, 0);
	for (int i = 1; i < argc; i++) {
		lua_pushstring(l, argv[i]);
		lua_rawseti(l, -2, i - 1);
	}
	lua_setglobal(l, "arg");
	if (luaL_dofile(l, argv[1]) == LUA_OK)
		return 0;
	fprintf(stderr, "%s\n", lua_tostring(l, -1));
	return 1;
}
