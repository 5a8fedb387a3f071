/* The launcher: a small single-threaded program that starts every other process of a session
 * (protocol: wire/launch.h). Where root started us it alone makes use of that: it changes uid,
 * makes idmapped clones of directories, makes cgroups. Everything that it starts dies with it
 * (PDEATHSIG on each link of the chain). */
#ifndef LAUNCHER_LAUNCHER_PRIV_H
#define LAUNCHER_LAUNCHER_PRIV_H

#include <sys/types.h>

#include "base/err.h"
#include "base/json.h"

/* --- who.c --- */
struct who {
	bool root;
	uid_t uid;
	gid_t gid;   /* of boxes and Lua hosts */
	uid_t spare; /* first of WHO_SPARE unused uids; 0: none */
};
enum { WHO_SPARE = 16, WHO_FIRST_UID = 524288 };
/* @wanted 0: the user "sandglass" if there is one, else an unused uid from WHO_FIRST_UID up. */
NODISCARD int who_find(uid_t wanted, struct who *out, struct err *err);

/* --- cgroup.c --- */
struct cgroups; /* where the cgroups of this launcher lie */
struct cgroup;	/* one of them: a directory in each hierarchy that is of use */
struct cgroup_limits {
	int64_t mem_bytes, cpu_milli, pids;
}; /* 0 = none */
struct cgroup_stats {
	int64_t cpu_us, mem_bytes, pids, oom;
}; /* -1 = unknown */
enum { CGROUP_FDS_MAX = 6 };

struct cgroups *cgroups_new(void);
/* ends and removes what dead launchers left, wherever it lies; at most 50 ms */
void cgroups_sweep(void);
void cgroups_free(struct cgroups **cs);
/* "v1" "v2" "none": memory and processes can be limited */
const char *cgroups_kind(const struct cgroups *cs);
const char *cgroups_why(const struct cgroups *cs); /* what is missing, "" if nothing */
bool cgroups_freezer(const struct cgroups *cs);
struct cgroup *cgroup_new(struct cgroups *cs, struct err *err); /* without limits */
NODISCARD int cgroup_limit(const struct cgroup *c, const struct cgroup_limits *l, struct err *err);
/* Descriptors of cgroup.procs: who writes "0" there is in; owned by the caller. Returns their
 * number. */
size_t cgroup_doors(const struct cgroup *c, int fds[CGROUP_FDS_MAX]);
NODISCARD int cgroup_freeze(struct cgroup *c, bool frozen, struct err *err);
void cgroup_kill(struct cgroup *c);
bool cgroup_remove(struct cgroup *c); /* false while a process is left in it */
void cgroup_stats(const struct cgroup *c, struct cgroup_stats *out);
void cgroup_free(struct cgroup **c);

/* --- trees.c --- */
struct trees;
struct trees *launcher_trees_new(const struct who *w);
void launcher_trees_free(struct trees **t);
/* Answers LAUNCH_TREES: fills @fds, returns the body (owned) or NULL. */
json_t *trees_open(struct trees *t, const json_t *request, int *fds, size_t *nr_fds,
		   struct err *err);

/* --- child.c --- */
struct child {
	int exe; /* O_PATH descriptor of the program */
	char *const *argv, *const *env;
	const char *dir; /* working directory; NULL: / */
	const int *fds;	 /* become 0, 1, ..; -1 = /dev/null */
	size_t nr_fds;
	bool drop; /* to uid and gid, with no group and no capability left */
	uid_t uid;
	gid_t gid;
	bool confine;	    /* no_new_privs, then @filters */
	const int *filters; /* memfds with BPF programs */
	size_t nr_filters;
	const int *doors; /* cgroup.procs to enter */
	size_t nr_doors;
};
/* Forks, becomes what @c says and executes it; dies with the launcher. Returns once the program
 * runs. */
NODISCARD int launcher_child_start(const struct child *c, pid_t *pid_out, int *pidfd_out,
				   struct err *err);
/* Kills our children but those that @known says (NULL: all of them): what a program that died has
 * left comes to us (PR_SET_CHILD_SUBREAPER). */
void child_kill_left(bool (*known)(const void *self, pid_t pid), const void *self);
/* Kills every process of @uid (never 0, never our own). */
void child_kill_uid(uid_t uid);

/* --- keepers.c --- */
enum { KEEPER_CHANNELS = 3, KEEPER_FILTERS_MAX = 4 }; /* loop, worker, guest: wire/keeper.h */
struct keeper_want {
	uid_t uid;
	gid_t gid;
	int filter[KEEPER_FILTERS_MAX]; /* memfds */
	size_t nr_filters;
};
struct keeper_made {
	pid_t pid;
	int pidfd, channel[KEEPER_CHANNELS]; /* our ends; owned */
	struct cgroup *cgroup;		     /* owned; without limits */
};
/* Starts one: a box of its own but for its limits, its files and its guest. @drop: we are root. */
NODISCARD int keeper_make(struct cgroups *cs, int exe, bool drop, const struct keeper_want *w,
			  struct keeper_made *out, struct err *err);
void keeper_close(struct keeper_made *m); /* its descriptors; a keeper whose channels end ends */
bool keeper_want_equal(const struct keeper_want *a, const struct keeper_want *b);
/* owns its filters, read from their beginning */
struct keeper_want keeper_want_copy(const struct keeper_want *w);
void keeper_want_release(struct keeper_want *w);

#endif
