/* A session's sandboxes apart from their commands: opens them from a script's options, keeps
 * their files (snapshots, rollback, fork, merge), and removes them. */
#ifndef SUPERVISOR_BOX_SUPER_BOX_H
#define SUPERVISOR_BOX_SUPER_BOX_H

#include "supervisor/core/core.h"
#include "supervisor/box/super_tree.h"

NODISCARD int super_box_init(struct super *s, struct err *err);
void super_box_release(struct super *s);
bool super_box_busy(struct super *s); /* a snapshot or merge is under way */

/* box.open: begins; the call is answered when the box is there. -1: @err, nothing begun. */
NODISCARD int super_box_open(struct call *c, struct err *err);
/* box.fork: opens a box like @from; its files become those of @from at event @n. */
NODISCARD int super_box_fork(struct call *c, uint64_t from, uint64_t n, struct err *err);
void super_box_answer(struct super *s, uint64_t box, struct call *c); /* what box.open answers */
/* Opens a box as @open (body of its box.open) says, with the files of its snapshots. Returns its
 * id; resume_box_ready follows. @restore: an action had begun to change them, so they are put back
 * to the newest snapshot; else what is on disk counts, which may be one snapshot ahead of the
 * record. 0: @err. */
uint64_t super_box_reopen(struct super *s, uint64_t old, const json_t *open,
			  const struct old_snap *snap, size_t nr, bool restore, struct err *err);
/* Opens a box as @open (body of a box.open) says, under @name; @ready comes once, when its first
 * snapshot is taken or it could not be opened (@err). Returns its id; 0: @err, nothing begun, no
 * @ready. */
typedef void super_box_ready_fn(void *self, uint64_t box, const struct err *err);
uint64_t super_box_open_as(struct super *s, const json_t *open, const char *name, uint64_t cause,
			   super_box_ready_fn *ready, void *self, struct err *err);
void super_box_close(struct super *s, uint64_t box);
void super_box_over(struct super *s, uint64_t box); /* no later box continues its state */
/* bodies of its box.notice events; borrows; NULL: it has gone */
json_t *super_box_notices(struct super *s, uint64_t box);
/* box.warn */
void super_box_warn(struct super *s, uint64_t box, const char *fix, const char *fmt, ...)
	PRINTF(4, 5);
/* box_continue.c: thaws frozen sandboxes. @agent: those that only it uses, or other running
 * agents; 0: all. The "text" of @out names those that stay frozen. */
void super_box_continue(struct super *s, uint64_t agent, uint64_t cause, json_t *out);
/* Answers @c once the sandbox is closed. False: it is closed already, or another caller waits
 * for this. */
bool super_box_await_end(struct call *c, uint64_t box);
/* The use of the proxies with placeholder @key, of open sandboxes. Returns owned. */
json_t *super_box_proxy_usage(struct super *s, const char *key);
/* boxes_ops.state_dir */
char *super_box_state(void *super, uint64_t box, const struct box_opts *o);
/* boxes_ops.caller */
uint64_t super_box_caller(void *super, uint64_t box, const json_t *argv, const char **how_out);
/* proxies_allowed (inside/proxy.h) of @box. */
uint64_t super_box_allowed(struct super *s, uint64_t box, uint64_t agent, enum action_kind kind,
			   const char *id, const char *what);
/* box_missing.c. A command ended 127. If its program exists on the host outside the box,
 * appends the line that names the option. */
bool super_box_explain_missing(struct super *s, const char *stderr_text, const json_t *args,
			       struct buf *out);

/* From the layers below. */
void super_box_opened(struct super *s, uint64_t box, json_t *result, const struct err *err);
/* Its first snapshot is taken: the script may continue. */
void super_box_ready(struct super *s, uint64_t box);
void super_box_gone(struct super *s, uint64_t box);
/* Callbacks for the parts above. All members are set. */
struct box_observer {
	void (*leaves)(struct super *s, uint64_t box); /* first of all: its shells end */
	void (*gone)(struct super *s, uint64_t box);   /* the caller that opened it is answered */
	void (*clear)(const char *state_dir); /* what an earlier supervisor has left there */
};
/* After an action that may have written; gate_settled follows. */
void super_box_snapshot(struct super *s, uint64_t box, uint64_t action);

#endif
