/* A sandbox whose guest is reached over one stream of bytes: another directory of the host (host),
 * another machine (ssh), a pod (kubernetes), a virtual machine (vm). The workspace is a copy: made
 * here in a directory of ours, transferred, and mirrored (mirror.h); runs go through the guest,
 * files through its tool.
 *
 * Such a driver is a struct far_kind: it makes the stream and removes the rest at the end.
 * Everything else is here. Loop thread only, except for the workers of box_tree_ops.
 *
 * Over there are ROOT/workspace, ROOT/home, and ROOT/tmp; with ROOT "" they are /workspace,
 * /home/agent, and /tmp. */
#ifndef SANDBOX_STREAM_STREAM_BACKEND_H
#define SANDBOX_STREAM_STREAM_BACKEND_H

#include "sandbox/common/folder.h"
#include "sandbox/guest/guest_client.h"
#include "sandbox/common/layers.h"
#include "sandbox/common/mirror.h"

struct far;

struct far_kind {
	const struct driver *driver;
	const char *folder; /* name of the copy below the box's state directory */
	/* The directory here is the box's own: no mirror. */
	bool here;
	/* The reach of commands: everything that their user may touch, or (FAR_SHARED) the
	 * system to read and the sandbox's directories to write, or (FAR_OWN) a whole machine of
	 * the sandbox's own. */
	enum far_wall { FAR_NONE, FAR_SHARED, FAR_OWN } wall;
	const char *profile; /* with FAR_SHARED: where the kernel there has landlock; else "none" */
	/* Checks the options and copies them; nothing is begun. */
	int (*options)(struct far *f, const struct box_opts *o, struct err *err);
	/* Brings the guest up; stream_backend_connected or stream_backend_fail follows, never from
	 * inside the call. */
	void (*connect)(struct far *f);
	/* The channel ended before the box was open. true: the reason is about to be known,
	 * stream_backend_fail follows. May be NULL. */
	bool (*explain)(struct far *f);
	/* The channel is closed, or never was: removes what is left over there, then calls
	 * stream_backend_gone (from the loop). */
	void (*leave)(struct far *f);
	void (*describe)(struct far *f, json_t *to); /* adds to what open answers; may be NULL */
	/* what options and connect made; not @f itself */
	void (*release)(struct far *f);
};

struct far {
	struct box b; /* first; a driver embeds struct far first */
	const struct far_kind *kind;
	struct loop *loop;
	char *name, *state_dir;
	char *root, *tool; /* set by connect: ROOT, and our program over there */
	char *workspace, *home;
	struct box_limits limits;
	struct strv env;   /* of every command */
	unsigned uid, gid; /* whose the copy here is */
	int landlock;
	bool filtered; /* commands enter our system call filters */
	struct layers layers;
	struct folder *folder;
	struct mirror *mirror;
	struct guest *guest;
	struct guest_info info;
	struct far_tool *tools; /* under way */
	bool open, dead, busy /* a worker has us */, closing, leaving;
	struct err failed;
	box_done_fn *opened, *closed;
	void *opened_self, *closed_self;
	void (*progress)(void *self, const char *line, size_t len);
	void *progress_self;
	struct loop_timer *wall;
};

/* @size: of the driver's struct. */
struct box *stream_backend_open(const struct far_kind *kind, size_t size, struct loop *l,
				const struct box_opts *o, box_done_fn *done, void *self);
/* takes @fd: the guest's greeting comes next */
void stream_backend_connected(struct far *f, int fd);
void stream_backend_fail(struct far *f, const struct err *err);
void stream_backend_gone(struct far *f);
void stream_backend_progress(struct far *f, const char *fmt, ...) PRINTF(2, 3);

/* Runs our tool over there (mirror.h); @out is borrowed. */
void stream_backend_tool(void *far, char *const *arg, const void *in, size_t len,
			 mirror_done_fn *done, void *self);
void stream_backend_tools_end(struct far *f); /* each under way has ERR_CLOSED */
/* of the box -> over there; returns owned */
char *stream_backend_path(const struct far *f, const char *path);

/* The verbs of struct driver. */
void stream_backend_close(struct box *b, box_done_fn *done, void *self);
struct run *stream_backend_run(struct box *b, const struct run_opts *o, const struct run_ops *ops,
			       void *self);
void stream_backend_read(struct box *b, const char *path, size_t max, box_done_fn *done,
			 void *self);
void stream_backend_write(struct box *b, const char *path, const void *data, size_t len, int mode,
			  box_done_fn *done, void *self);
void stream_backend_list(struct box *b, const char *path, box_done_fn *done, void *self);
void stream_backend_stat(struct box *b, const char *path, box_done_fn *done, void *self);
void stream_backend_kill(struct box *b);
void stream_backend_give_up(struct box *b);
void stream_backend_freeze(struct box *b, bool frozen, box_done_fn *done, void *self);
void stream_backend_listen(struct box *b, uint16_t port, box_done_fn *done, void *self);
void stream_backend_dial(struct box *b, uint16_t port, box_done_fn *done, void *self);
void stream_backend_stats(struct box *b, box_done_fn *done, void *self);
extern const struct box_tree_ops stream_backend_tree;

enum {
	FAR_CAPS = CAP_STREAMS | CAP_STDIN | CAP_SIGNAL | CAP_PTY | CAP_FREEZE | CAP_SNAPSHOT |
		   CAP_FORK | CAP_LISTEN | CAP_DIAL | CAP_PREPARE | CAP_SHELL
};
/* The common functions of these drivers in struct driver. */
#define FAR_VERBS                                                                                  \
	.close = stream_backend_close, .run_prepare = stream_backend_run, GUEST_DRIVE_VERBS,       \
	.run_turn = guest_drive_turn, .read = stream_backend_read, .write = stream_backend_write,  \
	.list = stream_backend_list, .stat = stream_backend_stat, .kill = stream_backend_kill,     \
	.give_up = stream_backend_give_up, .freeze = stream_backend_freeze,                        \
	.listen = stream_backend_listen, .dial = stream_backend_dial,                              \
	.stats = stream_backend_stats, .tree = &stream_backend_tree

#endif
