/* Free space on the disk of the session file. The user is warned once when it becomes low
 * (super.warn, topic room), and notified when space is free again. Checked as the recording
 * grows, at most once a second; while space is low, also without events. Loop thread only. */
#ifndef SUPERVISOR_CORE_DISK_SPACE_H
#define SUPERVISOR_CORE_DISK_SPACE_H

#include <stdbool.h>
#include <stdint.h>

struct super;

/* True if less than 1 GiB and less than a tenth of the disk is free; @bytes_out: the free bytes.
 * False also if the free space is unknown. */
bool disk_space_is_little(const char *path, uint64_t *bytes_out);

void disk_space_look(struct super *s); /* the record has grown */
void disk_space_free(struct super *s);

#endif
