/* A Lua file other than an agent's script: a policy, a configuration, checks over a recording.
 * It runs once in its own Lua host (without file, network, secret, or terminal), and its result
 * comes back as checked plain data. Blocking; may run on its own thread. */
#ifndef LUAHOST_LUA_FILE_H
#define LUAHOST_LUA_FILE_H

#include "base/json.h"

/* Answers the call @op of the file: fills *value_out (owned; NULL is nil), or sets @err, which the
 * file sees raised. */
typedef int lua_file_call_fn(void *self, const char *op, const json_t *args, json_t **value_out,
			     struct err *err);

struct lua_file_run {
	const char *mode;	/* a mode of lua/sandglass/boot.lua */
	const char *path;	/* name in messages; its modules lie beside it */
	const char *text;	/* NULL: the content of the file */
	json_t *args;		/* borrowed; NULL = none */
	lua_file_call_fn *call; /* NULL: it can ask for nothing but modules */
	void *self;
	int limit_ms; /* 0 = 10 s */
};
/* Fills *data_out (owned). ERR_SCRIPT with "file:line: ..." when the file is wrong. */
NODISCARD int lua_file_run(const struct lua_file_run *run, json_t **data_out, struct err *err);

/* @mode: "policy" or "config". Fills *data_out (owned). ERR_SCRIPT with "file:line: ..." when the
 * file is wrong. */
NODISCARD int lua_file_read(const char *mode, const char *path, json_t **data_out, struct err *err);

#endif
