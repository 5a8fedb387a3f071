/* Profile reduced of the process driver: no namespaces and no mounts, as in a plain container
 * started as root. The guest runs alone under a uid of its own, behind landlock, seccomp (no
 * internet sockets) and rlimits; the workspace is a copy below the state directory. */
#ifndef SANDBOX_PROCESS_PROCESS_REDUCED_H
#define SANDBOX_PROCESS_PROCESS_REDUCED_H

#include "sandbox/driver.h"
#include "sandbox/common/folder.h"
#include "sandbox/guest/guest_client.h"

struct process_box;
struct reduced;

struct reduced *reduced_new(struct process_box *p, const struct err *why); /* @why: no namespaces */
/* Copies, starts, confines; @done with what process_open adds to its result. */
void reduced_start(struct reduced *r, box_done_fn *done, void *self);
/* kills every process of its uid */
void reduced_close(struct reduced *r, box_done_fn *done, void *self);
void reduced_free(struct reduced **r);
struct guest *reduced_guest(struct reduced *r);	  /* NULL when it has gone */
uint64_t reduced_box(const struct reduced *r);	  /* the launcher's number */
struct folder *reduced_folder(struct reduced *r); /* where its files lie; borrows */

#endif
