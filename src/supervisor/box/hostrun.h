/* Commands on the host outside any box (sg.host.exec, sg.host.push), as the effector of host
 * actions. They run with the supervisor's own rights; that is why no rule allows them by default.
 * Not a sandbox driver: nothing is contained. */
#ifndef SUPERVISOR_BOX_HOSTRUN_H
#define SUPERVISOR_BOX_HOSTRUN_H

#include "action/gate.h"
#include "secrets/vault.h"

struct hostrun_at {
	struct loop *loop;
	const struct vault *vault;	      /* may be NULL: then no secrets */
	void (*runs)(void *self, int change); /* one more (1) or less (-1) */
	void *self;
};
/* @at is borrowed by every action that the effector starts. argv of the spec runs in spec.args
 * "cwd" (default: where the supervisor was started). A value of spec.args "env", and "stdin", that
 * is {"$secret":NAME} gets its value here, from the vault (which must have it: OP_SECRETS), in the
 * environment or the pipe and never in an argument list; the spec holds its name. Ends with code or
 * signal. */
void hostrun_effector(const struct hostrun_at *at, struct effector *out);

#endif
