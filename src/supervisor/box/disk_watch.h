/* Holds a sandbox to its limits of disk space and files (`limits = { disk = "2G", files = 20000
 * }`), counted over all its writes. A sandbox without a limit for files gets a million.
 *
 * The kernel bounds single files (RLIMIT_FSIZE). Project quotas could bound the sum, but need a
 * suitable file system and root. So while commands run, their files are summed up twice a
 * second, or less often if there are many. In a sandbox that is over its limit and grows, all
 * processes are killed and box.warn gives the reason. Between two checks it can exceed its
 * limit. Loop thread only. */
#ifndef SUPERVISOR_BOX_DISK_WATCH_H
#define SUPERVISOR_BOX_DISK_WATCH_H

#include "supervisor/core/core.h"

struct disk_watch;

/* NULL when it writes nothing here. */
struct disk_watch *disk_watch_new(struct super *s, struct box *b, const struct box_opts *o);
void disk_watch_free(struct disk_watch **d);

#endif
