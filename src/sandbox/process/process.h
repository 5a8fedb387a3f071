/* The process driver, the default: bubblewrap, overlay, seccomp, landlock and cgroups around a
 * guest (DESIGN 6). Needs a running launcher (launcher_client.h). Profiles: "enforced"; "best
 * effort" where no cgroup bounds memory; "reduced" where there are no namespaces. What a box lacks
 * against enforced is text in the result of open ("lacks").
 *
 * Options of its own (box_opts.driver): "lowers": {"NAME": [directory, ..]}: immutable uppers of
 * another box, newest first, between the upper and the repository of that name ("" the workspace,
 * ":home" /home/agent): how a fork is opened. */
#ifndef SANDBOX_PROCESS_PROCESS_H
#define SANDBOX_PROCESS_PROCESS_H

#include "sandbox/driver.h"

extern const struct driver driver_process;

/* How many started boxes wait for a workspace, for each combination of limits, roots and network
 * that was used lately (default 0). Warm boxes cost a few megabytes each. 0 ends the waiting
 * ones. */
void process_pool_set(struct loop *l, int nr);
int process_pool_ready(void); /* how many could be handed out now */
/* Ends the waiting ones and calls @done once they have gone. */
void process_pool_drain(struct loop *l, loop_fn *done, void *self);

/* From now on the running launcher keeps the next box's keeper ready, so that also one that is not
 * warm opens sooner. To be said again to a new launcher. */
void process_ahead(void);

/* The prefix of directories that are made ahead beside the states of sandboxes. Those of a
 * killed supervisor are empty. */
#define PROCESS_AHEAD ".ready-"

/* The processes of an open box as the host sees them: its guest (PID 1 of the box) and its keeper;
 * 0 if there is none.
 */
int process_box_guest_pid(const struct box *b);
int process_box_keeper_pid(const struct box *b);

#endif
