/* Profile reduced of the process driver: no namespaces and no mounts, as in a plain container started as root. The
 * guest runs alone under a uid of its own, behind landlock, seccomp (no internet sockets) and rlimits; the workspace is
 * a copy below the state folder. */
#ifndef SANDBOX_PROCESS_REDUCED_H
#define SANDBOX_PROCESS_REDUCED_H

#include "sandbox/driver.h"
#include "sandbox/guest_client.h"

struct process_box;
struct reduced;

struct reduced *reduced_new(struct process_box *p, const struct err *why); /* @why: no namespaces */
/* Copies, starts, confines; @done with what process_open adds to its result. */
void reduced_start(struct reduced *r, box_done_fn *done, void *self);
void reduced_close(struct reduced *r, box_done_fn *done, void *self); /* kills every process of its uid */
void reduced_free(struct reduced **r);
struct guest *reduced_guest(struct reduced *r); /* NULL when it has gone */
uint64_t reduced_box(const struct reduced *r);	/* the launcher's number */
/* Where a path of the box lies on the host. Returns owned. */
char *reduced_path(const struct reduced *r, const char *path);
/* As the verbs of the driver and of box_tree_ops. */
void reduced_look(struct reduced *r, const char *path, const char *as, size_t max, box_done_fn *done, void *self);
void reduced_write(struct reduced *r, const char *path, const void *data, size_t len, int mode, box_done_fn *done,
		   void *self);
int reduced_tree(struct reduced *r, size_t layer, const char *which, struct err *err);
int reduced_tree_open(struct reduced *r, size_t layer, const char *which, const char *path, struct err *err);
/* Carries out a plan of workspace/apply.h as the box's uid: what it makes is the box's, what it may is what the box may. */
int reduced_tree_apply(struct reduced *r, size_t layer, const char *plan, size_t len, const int *fds, size_t nr_fds,
		       struct err *err);

#endif
