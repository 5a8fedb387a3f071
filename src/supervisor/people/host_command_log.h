/* Commands that the user runs on the host, outside every sandbox. No policy check applies. Each
 * command is recorded before it runs, and its end after it. */
#ifndef SUPERVISOR_PEOPLE_HOST_COMMAND_LOG_H
#define SUPERVISOR_PEOPLE_HOST_COMMAND_LOG_H

#include "supervisor/core/core.h"

/* Keeps the command `host_command`; its ticket is answered with {"event": seq} once that is
 * durable. */
NODISCARD int host_command_log(struct super *s, const struct control_request *rq, struct err *err);

#endif
