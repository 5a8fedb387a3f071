/* A policy or configuration file, read without a session: run once in a Lua host of its own (no file, network, secret
 * or terminal in its reach) and handed back as the checked plain data that the file stands for. Blocking, at most 10 s.
 */
#ifndef APP_LUA_FILE_H
#define APP_LUA_FILE_H

#include "base/json.h"

/* @mode: "policy" or "config". Fills *data_out (owned). ERR_SCRIPT with "file:line: ..." when the file is wrong. */
NODISCARD int lua_file_read(const char *mode, const char *path, json_t **data_out, struct err *err);

#endif
