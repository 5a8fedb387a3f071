/* Starts a supervisor as a process of its own: the same program, hidden command `supervise`, its
 * options as one JSON object on descriptor 3, its "I am ready" line on descriptor 4. It has its own
 * session (setsid), so that neither Ctrl-C nor the end of the terminal reaches it. */
#ifndef SESSIONS_SPAWN_H
#define SESSIONS_SPAWN_H

#include "base/json.h"

/* Descriptors of the hidden command, and how much is read from either. */
enum {
	SPAWN_OPTS_FD = 3,
	SPAWN_READY_FD = 4,
	SPAWN_READY_MAX = 64 << 10,
	SPAWN_OPTS_MAX = 64 << 20
};

struct spawned {
	char *id, *path, *socket; /* owned */
	int pid;
};
void spawned_release(struct spawned *s);

/* @opts: the fields of struct super_opts by name
 * ("name","script_path","script","args","sessions_dir","resume","model",
 * "backend","hold","policy","notify","share","budget","roots","step","no_input","accept_reduced").
 * Returns an exit status: 0 when it runs, else @err says why it does not. */
NODISCARD int spawn_supervisor(const json_t *opts, struct spawned *out, struct err *err);

#endif
