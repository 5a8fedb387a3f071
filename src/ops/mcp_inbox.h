/* Requests of the client of `sandglass mcp serve`, on their way to the script that serves them
 * (lua/agents/mcp.lua). Commands of the control socket put them in; the ops mcp.next and
 * mcp.answer take them out. A request is answered once, or dropped when its client has gone.
 * When the serving process ends, the script is notified. Loop thread only. */
#ifndef OPS_MCP_INBOX_H
#define OPS_MCP_INBOX_H

#include "supervisor/core/core.h"

/* The command mcp_call TEXT: {"id","tool","args","client"} or {"cancel":id}; "passing": the
 * sender disconnects right after it, which is normal. 1: answered later by @rq's ticket. */
NODISCARD int mcp_inbox_command(struct super *s, const struct control_request *rq, const char *text,
				struct err *err);
void op_mcp_next(struct call *c);
void op_mcp_answer(struct call *c);
void mcp_inbox_free(struct super *s);

#endif
