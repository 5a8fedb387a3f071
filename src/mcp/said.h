/* The meaning of an MCP server's answers: its protocol versions, its tools, the result of a
 * call. Pure functions of JSON; requests are in client.h. */
#ifndef MCP_SAID_H
#define MCP_SAID_H

#include "base/json.h"

#define MCP_MODERN "2026-07-28"
extern const char *const mcp_versions[]; /* newest first, ends with NULL */

/* A version of the older era (one that begins with `initialize`) that is spoken here. */
bool mcp_is_older(const char *version);
/* @versions: a list as in "supportedVersions"; whatever else it is names none. */
bool mcp_names_modern(const json_t *versions);
bool mcp_names_older(const json_t *versions);

/* Whether a tool as listed can be used: its name, its schema and, in the new era, the headers that
 * it wants. */
bool mcp_good_tool(const json_t *tool, bool modern);
/* The tool of that name, NULL if there is none (or @name is NULL). Borrowed from @tools. */
const json_t *mcp_tool_named(const json_t *tools, const char *name);

/* Characters of base64: of one image or file, and of all of a result. Larger ones, and data that is
 * not base64, are left out; the text names them. */
enum { MCP_MEDIA_MAX = 5 << 20, MCP_MEDIA_ALL_MAX = 12 << 20 };

/* The content of a CallToolResult: {"text","structured"?,"is_error","media"?}. text names each
 * image, file and link; media: [{"mime","data" in base64,"uri"?}]. Returns owned. */
json_t *mcp_result_text(const json_t *result);
/* The same for the answer to resources/read. */
json_t *mcp_resource_text(const json_t *result);

#endif
