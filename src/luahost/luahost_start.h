/* The process of a Lua host whose caller speaks to it directly (a file of rules, a simulation): one
 * socket, nothing else open. */
#ifndef LUAHOST_LUAHOST_START_H
#define LUAHOST_LUAHOST_START_H

#include "base/err.h"

struct host_process {
	int sock, pid, pidfd; /* both descriptors owned */
};
#define HOST_PROCESS_NONE ((struct host_process){ -1, -1, -1 })

NODISCARD int luahost_process_start(struct host_process *p, struct err *err);
/* Ends it (whatever it was doing) and closes what is open; may be called after a failed start. */
void luahost_process_end(struct host_process *p);

#endif
