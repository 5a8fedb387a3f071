/* The keeper of one process sandbox. It owns the sandbox's outer user and mount namespace, mounts
 * the workspace, opens files below it, and starts bubblewrap (protocol: wire/keeper.h). It runs as
 * the sandbox's uid and holds capabilities in its own namespace only. It never executes a program
 * itself (that would drop them) and reads no content.
 *
 * In its mount namespace a private tmpfs covers /sys, a directory that every kernel has and that
 * holds no user's files. The sandbox's root is assembled there. */
#ifndef KEEPER_KEEPER_PRIV_H
#define KEEPER_KEEPER_PRIV_H

#include <sys/stat.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/json.h"

#define SPACE	  "/sys"
#define SPACE_BOX SPACE "/box" /* the box's root */
/* shared, so that what is mounted on it later shows in the box */
#define SPACE_STAGE SPACE_BOX "/workspace"
#define SPACE_SHM   SPACE "/shm"	    /* becomes /dev/shm */
#define SPACE_PTS   SPACE "/pts"	    /* becomes /dev/pts */
#define SPACE_HOME  SPACE_BOX "/home/agent" /* shared */
/* objects of repositories on the host; read only and shared in the box */
#define SPACE_GIT SPACE "/git"
enum { KEEPER_FDS_MAX = 4096 };

/* Descriptors that came with the frames of a channel and are not yet used; all are closed after the
 * request. */
struct fds {
	int fd[KEEPER_FDS_MAX];
	size_t nr;
};

struct layer {
	char *name; /* "", ":home" or the directory below /workspace */
	/* SPACE/layer/N, or SPACE/layer/home of one that came ahead: state, repo, git, mask,
	 * low0.., empty, view */
	char *dir;
	char *at;     /* where it is mounted */
	char *lowers; /* "low0:low1:mask:git:repo": what never changes, for lowerdir= */
	bool view;    /* the lower alone is mounted there */
};

struct keeper {
	uid_t uid;
	gid_t gid;
	int filters[4];
	size_t nr_filters;
	int doors[8];
	size_t nr_doors;
	int guest_sock;	     /* -1 once bubblewrap has it */
	pid_t bwrap, guest;  /* 0: not started */
	int args, info, log; /* of a bubblewrap that waits for its arguments; -1 after */
	int bwrap_pidfd, guest_pidfd;
	struct layer *layer, home; /* home: of those ahead, while it waits for the others */
	bool tried, ahead;	   /* something was to come ahead; it is there */
	size_t nr_layers;	   /* 0 until all are there */
	size_t of_layers, placed;
	struct fds *in; /* of the channel that is being served */
};

struct reply {
	json_t *body; /* owned */
	int fd;	      /* owned; -1: none */
};

/* --- space.c --- */
NODISCARD int space_enter(const struct keeper *k, struct err *err); /* namespaces, maps, tmpfs */
/* Mounts a tree of the protocol at @target (which is made: a file or a directory). */
NODISCARD int space_place(struct keeper *k, const json_t *tree, const char *target, bool is_file,
			  bool read_only, struct err *err);
NODISCARD int space_write(const char *path, const char *text, struct err *err);

/* --- root.c --- */
NODISCARD int root_make(struct keeper *k, const json_t *request,
			struct err *err); /* SPACE_BOX, read only, from KEEPER_START */

/* --- bwrap.c --- */
/* Executes bubblewrap, which loads, enters its cgroups and then reads its arguments: while we put
 * the root together. */
NODISCARD int bwrap_wait(struct keeper *k, struct err *err);
/* gives them */
NODISCARD int bwrap_start(struct keeper *k, const json_t *request, struct reply *r,
			  struct err *err);

/* --- layers.c --- */
NODISCARD int layers_attach(struct keeper *k, const json_t *request, struct reply *r,
			    struct err *err);
/* O_PATH descriptor of the root of a layer. */
NODISCARD int layers_root(struct keeper *k, const json_t *request, int *fd_out, struct err *err);

/* --- masks.c --- */
/* Fills @dir (an empty directory) with a lower that hides or replaces; @repo is what lies below
 * it. */
NODISCARD int masks_make(const char *dir, int repo, const json_t *masks, struct err *err);

/* --- files.c --- */
NODISCARD int files_open(struct keeper *k, const json_t *request, struct reply *r, struct err *err);
NODISCARD int files_look(struct keeper *k, const json_t *request, struct reply *r, struct err *err);
NODISCARD int files_write(struct keeper *k, const json_t *request, struct reply *r,
			  struct err *err);
/* openat2 beneath @root without links of any kind. Path "" is @root itself. */
int open_beneath(int root, const char *path, size_t len, int flags, mode_t mode);

/* --- apply.c --- */
NODISCARD int apply_plan(struct keeper *k, const json_t *request, struct reply *r, struct err *err);
NODISCARD int remove_tree(int dir, const char *name); /* -1 with errno; missing is fine */

#endif
