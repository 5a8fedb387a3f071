/* Nobody is attached who could decide: the box of what waits stands still until somebody comes or
 * it is decided (boxes_auto_freeze; recorded as box.frozen with its reason). Who only watches, and
 * a command from another shell that comes and goes, is not somebody who is there. Loop thread
 * only. */
#ifndef SUPERVISOR_PEOPLE_UNATTENDED_H
#define SUPERVISOR_PEOPLE_UNATTENDED_H

#include <stddef.h>

struct super;

void unattended_look(struct super *s); /* what waits, or who is there, has changed */
void unattended_free(struct super *s);

#endif
