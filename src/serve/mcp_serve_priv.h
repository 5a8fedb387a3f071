/* What the parts of the MCP server share. */
#ifndef SERVE_MCP_SERVE_PRIV_H
#define SERVE_MCP_SERVE_PRIV_H

#include "serve/mcp_serve.h"

#define META "io.modelcontextprotocol/"

/* Sends the answer to the request @id. @result is taken; in the new era it gets what each result
 * has. */
void mcp_serve_finish(struct mcp_peer *p, json_t *id, json_t *result, bool modern);
/* @data is taken; NULL: none */
void mcp_serve_refuse(struct mcp_peer *p, json_t *id, enum rpc_code code, json_t *data,
		      const char *text);

/* mcp_serve_lists.c: answers a list, or an item of a list that is empty. Return false for other
 * methods. */
bool mcp_serve_list(struct mcp_peer *p, const struct rpc_msg *m, bool modern);
bool mcp_serve_item(struct mcp_peer *p, const struct rpc_msg *m, bool modern);
void mcp_serve_put_cache(json_t *o);

#endif
