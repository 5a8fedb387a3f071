/* The operations of scripts; wire/host.h defines each. Rows in op_table.c. */
#ifndef OPS_OP_H
#define OPS_OP_H

#include "ops/dispatch.h"
#include "supervisor/box/box_ops.h"

void op_module(struct call *c);
void op_box_open(struct call *c);
void op_box_close(struct call *c);
void op_box_restore(struct call *c);
void op_box_freeze(struct call *c);
void op_box_thaw(struct call *c);
void op_box_exec(struct call *c);
void op_box_spawn(struct call *c);
void op_box_dial(struct call *c);
void op_box_read(struct call *c);
void op_box_write(struct call *c);
void op_box_edit(struct call *c);
void op_box_glob(struct call *c);
void op_proc_read(struct call *c);
void op_proc_write(struct call *c);
void op_proc_wait(struct call *c);
void op_proc_kill(struct call *c);
void op_proc_resize(struct call *c);
void op_shell_open(struct call *c);
void op_shell_run(struct call *c);
void op_shell_send(struct call *c);
void op_shell_close(struct call *c);
void op_agent_start(struct call *c);
void op_agent_turn(struct call *c);
void op_agent_end(struct call *c);
void op_tool_call(struct call *c);
void op_budget_new(struct call *c);
void op_budget_left(struct call *c);
void op_ask(struct call *c);
void op_notify(struct call *c);
void op_label(struct call *c);
void op_store_get(struct call *c);
void op_store_set(struct call *c);
void op_store_add(struct call *c);
void op_store_find(struct call *c);
void op_store_keys(struct call *c);
void op_sleep(struct call *c);
void op_host_push(struct call *c);
void op_host_exec(struct call *c);
void op_instructions(struct call *c);
void op_skill(struct call *c);
void op_check(struct call *c);

/* Shared by the families. */

/* Fills what exec and spawn share; false after an answer. The caller releases argv, env and @in. */
bool op_command_spec(struct call *c, struct action_spec *spec, struct buf *in);

#endif
