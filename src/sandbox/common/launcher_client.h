/* The supervisor's end of sandglass-launcher (wire/launch.h): starts it, asks it for boxes and Lua
 * hosts, starts it again when it dies.
 *
 * Loop thread only; one launcher per process. Everything that a launcher started dies with it:
 * boxes and hosts report that themselves (their sockets end), on_death says why. */
#ifndef SANDBOX_COMMON_LAUNCHER_CLIENT_H
#define SANDBOX_COMMON_LAUNCHER_CLIENT_H

#include "sandbox/common/rpc.h"

struct launcher;

struct launcher_info {
	int pid;
	bool root;	   /* it can change uid, make idmapped clones, make cgroups */
	unsigned uid, gid; /* of boxes and Lua hosts */
	unsigned spare;	   /* first of 16 unused uids for boxes of profile reduced; 0: none */
	char cgroup[8];	   /* "v1" "v2" "none" */
	char cgroup_why[200];
	bool freezer;
};

struct launcher_opts {
	unsigned box_uid;    /* 0: choose (configuration "box_uid") */
	const char *program; /* NULL: sandglass-launcher beside this program or in libexec */
};
/* It has died; everything that it had started has died too. A new one is started when this returns
 * (see launcher_info).
 */
typedef void launcher_death_fn(void *self, const struct err *why);

/* Starts it and waits for its hello (milliseconds). It becomes launcher_current(). */
struct launcher *launcher_start(struct loop *l, const struct launcher_opts *o,
				launcher_death_fn *on_death, void *self, struct err *err) NODISCARD;
/* ends it and its children; waits for that (milliseconds) */
void launcher_stop(struct launcher **l);
struct launcher *launcher_current(void); /* NULL before launcher_start; borrows */
const struct launcher_info *launcher_info(const struct launcher *l);

/* Starts a program without privileges under the uid of launcher_info. @fds become its descriptors
 * 0, 1, .. (-1 = /dev/null); they are copied, so the caller closes his. */
struct launcher_host_ops {
	void (*on_started)(void *self, int pid, int pidfd);   /* takes @pidfd */
	void (*on_exit)(void *self, int code, int signal);    /* last */
	void (*on_failed)(void *self, const struct err *err); /* instead of both */
};
void launcher_spawn_host(struct launcher *l, const char *program, char *const *argv,
			 char *const *env, const int *fds, size_t nr_fds,
			 const struct launcher_host_ops *ops, void *self);
/* Tells once when a process that the launcher started by launcher_call has ended and its cgroup is
 * empty. */
typedef void launcher_exit_fn(void *self, int code, int signal);
void launcher_watch(struct launcher *l, int pid, launcher_exit_fn *on_exit, void *self);
/* No further callbacks to @self, neither of hosts nor of calls. */
void launcher_forget(struct launcher *l, const void *self);

/* Any request of wire/launch.h; see rpc_call. For the drivers. */
void launcher_call(struct launcher *l, uint16_t type, const json_t *body, const int *fds,
		   size_t nr_fds, rpc_done_fn *done, void *self);
uint64_t launcher_next_box(struct launcher *l); /* a number for LAUNCH_KEEPER */

#endif
