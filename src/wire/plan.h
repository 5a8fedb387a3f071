/* The plan of an apply: what the keeper does to the merged view of one workspace for a rollback, an
 * undo, a promote or a merge-in. Made by src/sandbox/workspace, carried out in order by
 * src/keeper/apply.c.
 *
 *   1. eight bytes "SGPLAN1\n", then operations until the end
 *   2. operation: u8 op, u32 mode, u32 fd, u64 off, u64 len, u32 path length, path, u32 target
 *      length, target (all little-endian); fields that an operation does not use are 0
 *   3. path and target of a hard link: bytes relative to the workspace's root; no empty, "." or
 *      ".." component, no
 * leading or trailing slash, no NUL. Target of a symbolic link: any bytes without NUL. Never
 * followed: a component that is a symbolic link is an error.
 *   4. PLAN_FILE, PLAN_SYMLINK, PLAN_FIFO and PLAN_LINK replace what is there unless that is a
 *      directory with something in it (remove it first); parents must exist. PLAN_DIR on an
 *      existing directory only sets its mode. PLAN_REMOVE takes a whole tree and does not mind a
 *      missing path, nor does PLAN_TIME.
 *   5. mode: 07777 bits; the set-uid and set-gid bits are refused. The first failure stops the
 *      plan. */
#ifndef WIRE_PLAN_H
#define WIRE_PLAN_H

#include "base/buf.h"
#include "base/err.h"

enum plan_kind {
	PLAN_FILE = 1, /* len bytes of descriptor fd from off on */
	PLAN_DIR,
	PLAN_SYMLINK,
	PLAN_REMOVE,
	PLAN_CHMOD,
	PLAN_FIFO,
	PLAN_LINK, /* path becomes another name of target */
	/* it was last modified off microseconds after the epoch; a link itself, not what it leads
	 * to */
	PLAN_TIME,
};
enum { PLAN_PATH_MAX = 16384 };

struct plan_op {
	enum plan_kind kind;
	uint32_t mode;
	uint32_t fd; /* index into the descriptors that go with the plan */
	uint64_t off, len;
	const char *path; /* borrowed from the plan; not terminated */
	size_t path_len;
	const char *target;
	size_t target_len;
};

void plan_begin(struct buf *plan);
void plan_add(struct buf *plan, const struct plan_op *op);

/* Walks a plan. @pos starts at 0. Returns 1 and fills @op, 0 at the end, -1 where it breaks a rule
 * (nothing after it is worth reading). @nr_fds bounds op->fd. */
int plan_next(const char *plan, size_t len, size_t *pos, size_t nr_fds, struct plan_op *op,
	      struct err *err);

/* Rule 3 for a path. */
bool plan_path_ok(const char *path, size_t len);

/* What PLAN_TIME does to @name in @dir. 0, or -1 with errno. */
int plan_time(int dir, const char *name, const struct plan_op *op);

/* Carries a plan out beneath directory @root (borrowed): descriptors only, no link followed. Stops
 * at the first failure, @done_out operations are done then. Any thread. */
NODISCARD int plan_run(int root, const char *plan, size_t len, const int *fds, size_t nr_fds,
		       size_t *done_out, struct err *err);

#endif
