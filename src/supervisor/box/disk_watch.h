/* Holds a box to its limits of disk space and files (`limits = { disk = "2G", files = 20000 }`),
 * counted over all that it has written. A box that names no number of files gets a million.
 *
 * The kernel bounds single files (RLIMIT_FSIZE); project quotas, which could bound the sum, are
 * neither on every file system nor for ordinary users. So while something runs in the box its files
 * are summed up twice a second, or less often where they are many. A box that is over its limit and
 * grows is stopped: what runs in it is killed and box.warn says why. Between two looks it can write
 * more than it may. Loop thread only. */
#ifndef SUPERVISOR_BOX_DISK_WATCH_H
#define SUPERVISOR_BOX_DISK_WATCH_H

#include "supervisor/core/core.h"

struct disk_watch;

/* NULL when it writes nothing here. */
struct disk_watch *disk_watch_new(struct super *s, struct box *b, const struct box_opts *o);
void disk_watch_free(struct disk_watch **d);

#endif
