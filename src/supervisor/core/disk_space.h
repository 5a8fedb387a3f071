/* Room on the disk that the session file lies on: when it becomes little people are told once
 * (super.warn, topic room), and again when there is room once more. It is looked at as the record
 * grows, at most once a second; while it is little, also when nothing happens. Loop thread only. */
#ifndef SUPERVISOR_CORE_DISK_SPACE_H
#define SUPERVISOR_CORE_DISK_SPACE_H

#include <stdbool.h>
#include <stdint.h>

struct super;

/* Less than 1 GiB and less than a tenth of the disk is left; @bytes_out: how much. False also when
 * nobody can tell. */
bool disk_space_is_little(const char *path, uint64_t *bytes_out);

void disk_space_look(struct super *s); /* the record has grown */
void disk_space_free(struct super *s);

#endif
