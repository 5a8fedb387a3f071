/* A hint where something may have changed: inotify on the directories of an upper. It makes a
 * snapshot cost what changed even when much had changed before.
 *
 * A hint only ever adds to the scanned paths, and it has to earn its trust: until it has reported a
 * write into a file that was in the upper already (which some kernels keep quiet about for an
 * overlay's own writes) and WATCH_PROOFS changed snapshots in a row, and again every WATCH_AGAIN
 * snapshots, everything is walked and compared with its reports. One miss turns it off. Stores
 * through a mapping report nothing until the mapping ends: while processes live, everything is
 * walked. One thread at a time. */
#ifndef SANDBOX_WORKSPACE_WATCH_H
#define SANDBOX_WORKSPACE_WATCH_H

#include "base/buf.h"
#include "base/err.h"

struct watch;
enum { WATCH_PROOFS = 3, WATCH_AGAIN = 50, WATCH_MIN_NODES = 2000, WATCH_DIRS_MAX = 200000 };

/* Watches all directories below @root (borrowed, must outlive it). Fails where that is not to be
 * had (no inotify, too many watches): a walk is what there is then. */
NODISCARD int watch_new(struct watch **out, int root, struct err *err);
void watch_free(struct watch **w);

/* Takes the reports since the last call: paths of entries (relative, sorted, each once; a new
 * directory ends in '/': everything below it is new). New directories are watched from here on.
 * False if something was lost: only a full walk is complete. */
bool watch_collect(struct watch *w, struct strv *told);

#endif
