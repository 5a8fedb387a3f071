/* Operations on the files of a sandbox (tree_*.c, op_tree.c, op_copy.c) and their shared parts. */
#ifndef SUPERVISOR_BOX_BOX_OPS_H
#define SUPERVISOR_BOX_BOX_OPS_H

#include "supervisor/box/super_tree.h"
#include "supervisor/core/call.h"

void op_box_put(struct call *c);
void op_box_get(struct call *c);
void op_box_snapshot(struct call *c);
void op_box_rollback(struct call *c);
void op_box_fork(struct call *c);
void op_box_diff(struct call *c);
void op_box_merge(struct call *c);
void op_boxes_merge(struct call *c);

/* The files of args.box; answers with an error and returns NULL if it has no files. */
struct trees *op_trees(struct call *c, uint64_t *box_out);

/* The effector of put and get, and a snapshot of @t. */
void op_copy_effector(struct super *s, struct effector *out);
void op_snapshot_effector(struct trees *t, struct effector *out);

/* before the gate goes: copies on their way to the disk end without their actions */
void op_copy_leave(void);

/* "NAME=value" words from an object of strings. */
void op_env(const json_t *env, struct strv *out);
/* A short, valid name for a box or file: letters, digits, "-", "_", "."; else "box". Returns
 * owned. */
char *op_plain_name(const char *name, const char *fallback);

#endif
