/* The tools that `sandglass mcp serve` offers: names, texts for a model, schemas, and the format
 * of results on the wire. lua/agents/mcp.lua implements them. Any thread. */
#ifndef SERVE_MCP_TOOLS_H
#define SERVE_MCP_TOOLS_H

#include "base/json.h"

/* tools[] of tools/list. Returns owned. */
json_t *mcp_tools_list(void);
bool mcp_tools_has(const char *name);
/* @args as the session takes them: content in base64 becomes bytes. Returns owned, or NULL when it
 * is not base64. */
json_t *mcp_tools_args(const json_t *args, struct err *err);
/* Whether @args (object or NULL) fit the tool's schema. ERR_INVALID with a line that a model can
 * repair it by. */
NODISCARD int mcp_tools_check(const char *name, const json_t *args, struct err *err);
/* The same for any schema: type, required, properties, items, additionalProperties, enum; the rest
 * is let pass. */
NODISCARD int mcp_schema_check(const json_t *schema, const json_t *value, const char *at,
			       struct err *err);
/* A CallToolResult from the args of the op mcp.answer. Returns owned. */
json_t *mcp_tools_result(const json_t *answer);
json_t *mcp_tools_failure(const char *text); /* isError */

#endif
