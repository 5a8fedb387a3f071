/* MCP servers that the user has added, by name: mcp.json in the configuration directory (0600),
 * {"servers":{NAME:SERVER}}.
 *
 * SERVER: {"command":[words],"env"?:{NAME:V}} or {"url","headers"?:{NAME:V}},
 * "where"?:"host"|"box", "cwd"?. V is a string or {"$secret":NAME,"prefix"?:text}: the value of a
 * secret, with @prefix before it. Any thread; reads the file each time. */
#ifndef MCP_KNOWN_H
#define MCP_KNOWN_H

#include "base/buf.h"
#include "base/json.h"

bool mcp_name_ok(const char *name); /* letters, digits, "_" and "-", at most 40 */
/* {NAME: SERVER}. Returns owned; empty without a file; NULL with @err if it can't be read. */
json_t *mcp_known(struct err *err);
/* The server of one name; owned. ERR_NOENT says which there are. */
json_t *mcp_known_find(const char *name, struct err *err);
/* Sets one (takes @server) or removes it (NULL; ERR_NOENT). */
NODISCARD int mcp_known_set(const char *name, json_t *server, struct err *err);

/* The part of our environment that a server on the host gets: directories, language, terminal,
 * proxies, certificates. It gets nothing else, because other variables may be keys. More is
 * given by name (its "env"), which is in @out already and has precedence. Appends "NAME=value". */
void mcp_env(struct strv *out);

#endif
