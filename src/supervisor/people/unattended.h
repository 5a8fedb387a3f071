/* While no attached client can decide, the sandbox of a pending action is frozen until a client
 * attaches or the action is decided (boxes_auto_freeze; recorded as box.frozen with its reason).
 * A client that only watches, or a single command from another shell, does not count as
 * attached. Loop thread only. */
#ifndef SUPERVISOR_PEOPLE_UNATTENDED_H
#define SUPERVISOR_PEOPLE_UNATTENDED_H

#include <stddef.h>

struct super;

void unattended_look(struct super *s); /* what waits, or who is there, has changed */

#endif
