/* MCP servers that a script uses (ops mcp.find, mcp.open, mcp.call, mcp.tools, mcp.close). Starting
 * one and each call of a tool is an action of kind mcp. A server on the host is a child of ours or
 * reached over HTTP, with the secrets that its options name; one in a box is a spawned command of
 * that box and speaks through its pipes. A server lives until it is closed, dies, or the session
 * ends. Loop thread only. */
#ifndef OPS_MCP_HUB_H
#define OPS_MCP_HUB_H

#include "supervisor/core/core.h"

void op_mcp_find(struct call *c);
void op_mcp_open(struct call *c);
void op_mcp_call(struct call *c);
void op_mcp_tools(struct call *c);
void op_mcp_close(struct call *c);
void mcp_hub_free(struct super *s);

#endif
