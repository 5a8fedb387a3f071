/* From a call of the script to the operation that serves it, and what the session asks of all
 * operations: to continue, or to end. */
#ifndef OPS_DISPATCH_H
#define OPS_DISPATCH_H

#include "luahost/luahost.h"
#include "supervisor/core/call.h"

/* What an op is: one row in op_table.c. OP_ANYWHERE: also for policy and configuration files.
 * OP_ENDING: also while the session ends, for the cleanup of a script that unwinds. OP_SECRETS:
 * args may hold {"$secret":NAME}; @start is called when the vault has their values (vault_value);
 * args keep the names. Every other op refuses them. @start answers now or later with call_answer or
 * call_fail, exactly once. */
struct op {
	const char *name;
	void (*start)(struct call *c);
	enum { OP_ANYWHERE = 1, OP_ENDING = 2, OP_SECRETS = 4 } flags;
};
const struct op *op_find(const char *name);

/* Requests of Lua hosts to the session. */
extern const struct luahost_ops dispatch_ops;
/* op_agent.c: agent.told and the like */
void call_tell(struct super *s, const json_t *body);

void op_procs_free(struct super *s);
void op_shells_free(struct super *s);
/* the box has gone, and with it the shells in it */
void op_shells_end(struct super *s, uint64_t box);
void op_agents_continue(struct super *s); /* turns that waited for a latch */
void op_agents_step(struct super *s, uint64_t agent);

#endif
