/* The notification command: run when something waits for a user. */
#ifndef SUPERVISOR_CORE_NOTIFY_COMMAND_H
#define SUPERVISOR_CORE_NOTIFY_COMMAND_H

#include "supervisor/core/core.h"

/* Something waits for a person: the notification command runs, with @text as one harmless
 * line in SANDGLASS_TEXT and, of an action @id, the lines that answer it over ssh in
 * SANDGLASS_APPROVE and SANDGLASS_DENY. */
void super_held(struct super *s, uint64_t id, const char *text);
void super_notify(struct super *s, const char *title, const char *text);

#endif
