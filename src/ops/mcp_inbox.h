/* What the client of `sandglass mcp serve` wants, on its way to the script that does it
 * (lua/agents/mcp.lua): commands of the control socket come in, the ops mcp.next and mcp.answer
 * take them out. A request is answered once, or forgotten when its client has gone. When the
 * serving process ends, the script is told so. Loop thread only. */
#ifndef OPS_MCP_INBOX_H
#define OPS_MCP_INBOX_H

#include "supervisor/core/core.h"

/* The command mcp_call TEXT: {"id","tool","args","client"} or {"cancel":id}; "passing":
 * whoever sends it goes away again, and that means nothing. 1: answered later by @rq's ticket. */
NODISCARD int mcp_inbox_command(struct super *s, const struct control_request *rq, const char *text,
				struct err *err);
void op_mcp_next(struct call *c);
void op_mcp_answer(struct call *c);
void mcp_inbox_free(struct super *s);

#endif
