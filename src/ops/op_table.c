/* The ops of wire/host.h: one row each, one file per family. */
#include <string.h>

#include "ops/dispatch.h"
#include "ops/op.h"
#include "inside/proxy.h"
#include "models/model_call.h"
#include "supervisor/box/box_port.h"
#include "ops/mcp_hub.h"
#include "ops/mcp_inbox.h"
#include "supervisor/box/notices.h"
#include "web/web.h"

static const struct op op_table_rows[] = {
	{ "module", op_module, OP_ANYWHERE | OP_ENDING },
	{ "box.open", op_box_open, 0 },
	{ "box.close", op_box_close, OP_ENDING },
	{ "box.restore", op_box_restore, 0 },
	{ "box.freeze", op_box_freeze, 0 },
	{ "box.thaw", op_box_thaw, 0 },
	{ "box.exec", op_box_exec, OP_ENDING },
	{ "box.spawn", op_box_spawn, 0 },
	{ "box.dial", op_box_dial, 0 },
	{ "box.read", op_box_read, OP_ENDING },
	{ "box.write", op_box_write, OP_ENDING },
	{ "box.edit", op_box_edit, OP_ENDING },
	{ "box.glob", op_box_glob, OP_ENDING },
	{ "box.url", op_box_url, 0 },
	{ "box.put", op_box_put, 0 },
	{ "box.get", op_box_get, 0 },
	{ "box.snapshot", op_box_snapshot, OP_ENDING },
	{ "box.rollback", op_box_rollback, 0 },
	{ "box.fork", op_box_fork, 0 },
	{ "box.diff", op_box_diff, OP_ENDING },
	{ "box.merge", op_box_merge, 0 },
	{ "boxes.merge", op_boxes_merge, 0 },
	{ "box.notices", op_box_notices, OP_ENDING },
	{ "proc.read", op_proc_read, 0 },
	{ "proc.write", op_proc_write, 0 },
	{ "proc.wait", op_proc_wait, 0 },
	{ "proc.kill", op_proc_kill, OP_ENDING },
	{ "proc.resize", op_proc_resize, 0 },
	{ "shell.open", op_shell_open, 0 },
	{ "shell.run", op_shell_run, 0 },
	{ "shell.send", op_shell_send, 0 },
	{ "shell.close", op_shell_close, OP_ENDING },
	{ "agent.start", op_agent_start, 0 },
	{ "agent.turn", op_agent_turn, 0 },
	{ "agent.end", op_agent_end, OP_ENDING },
	{ "instructions", op_instructions, 0 },
	{ "skill", op_skill, 0 },
	{ "check", op_check, 0 },
	{ "model.call", op_model_call, 0 },
	{ "tool.call", op_tool_call, 0 },
	{ "budget.new", op_budget_new, 0 },
	{ "budget.left", op_budget_left, 0 },
	{ "proxy.open", op_proxy_open, OP_SECRETS },
	{ "proxy.certificate", op_proxy_certificate, 0 },
	{ "proxy.usage", op_proxy_usage, OP_ENDING },
	{ "inner.permit", op_inner_permit, 0 },
	{ "ask", op_ask, 0 },
	{ "notify", op_notify, 0 },
	{ "label", op_label, OP_ENDING },
	{ "store.get", op_store_get, OP_ENDING },
	{ "store.set", op_store_set, OP_ENDING },
	{ "store.add", op_store_add, OP_ENDING },
	{ "store.find", op_store_find, OP_ENDING },
	{ "store.keys", op_store_keys, OP_ENDING },
	{ "sleep", op_sleep, 0 },
	{ "host.push", op_host_push, 0 },
	{ "host.exec", op_host_exec, OP_SECRETS },
	{ "host.fetch", op_host_fetch, OP_SECRETS },
	{ "host.search", op_host_search, 0 },
	{ "mcp.find", op_mcp_find, 0 },
	{ "mcp.open", op_mcp_open, OP_SECRETS },
	{ "mcp.call", op_mcp_call, 0 },
	{ "mcp.tools", op_mcp_tools, 0 },
	{ "mcp.close", op_mcp_close, OP_ENDING },
	{ "mcp.next", op_mcp_next, 0 },
	{ "mcp.answer", op_mcp_answer, OP_ENDING },
};

const struct op *op_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(op_table_rows); i++)
		if (!strcmp(op_table_rows[i].name, name))
			return &op_table_rows[i];
	return NULL;
}
