/* The ops of wire/host.h: one row each, one file per family. */
#include <string.h>

#include "app/op.h"

static const struct op table[] = {
	{ "module", op_module, .anywhere = true, .while_ending = true },
	{ "box.open", op_box_open },
	{ "box.close", op_box_close, .while_ending = true },
	{ "box.freeze", op_box_freeze },
	{ "box.thaw", op_box_thaw },
	{ "box.exec", op_box_exec, .while_ending = true },
	{ "box.spawn", op_box_spawn },
	{ "box.read", op_box_read, .while_ending = true },
	{ "box.write", op_box_write, .while_ending = true },
	{ "box.edit", op_box_edit, .while_ending = true },
	{ "box.glob", op_box_glob, .while_ending = true },
	{ "box.put", op_box_put },
	{ "box.get", op_box_get },
	{ "box.snapshot", op_box_snapshot, .while_ending = true },
	{ "box.rollback", op_box_rollback },
	{ "box.fork", op_box_fork },
	{ "box.diff", op_box_diff, .while_ending = true },
	{ "box.merge", op_box_merge },
	{ "proc.read", op_proc_read },
	{ "proc.write", op_proc_write },
	{ "proc.wait", op_proc_wait },
	{ "proc.kill", op_proc_kill, .while_ending = true },
	{ "shell.open", op_shell_open },
	{ "shell.run", op_shell_run },
	{ "shell.send", op_shell_send },
	{ "shell.close", op_shell_close, .while_ending = true },
	{ "agent.start", op_agent_start },
	{ "agent.turn", op_agent_turn },
	{ "agent.end", op_agent_end, .while_ending = true },
	{ "model.call", op_model_call },
	{ "tool.call", op_tool_call },
	{ "budget.new", op_budget_new },
	{ "budget.left", op_budget_left },
	{ "ask", op_ask },
	{ "notify", op_notify },
	{ "store.get", op_store_get, .while_ending = true },
	{ "store.set", op_store_set, .while_ending = true },
	{ "store.add", op_store_add, .while_ending = true },
	{ "store.find", op_store_find, .while_ending = true },
	{ "store.keys", op_store_keys, .while_ending = true },
	{ "sleep", op_sleep },
	{ "host.push", op_host_push },
	{ "host.exec", op_host_exec },
};

const struct op *op_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (!strcmp(table[i].name, name))
			return &table[i];
	return NULL;
}
