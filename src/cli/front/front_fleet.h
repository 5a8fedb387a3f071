/* All running sessions on one screen: the current ones, and those that start while it is open. */
#ifndef CLI_FRONT_FRONT_FLEET_H
#define CLI_FRONT_FRONT_FLEET_H

#include "cli/front/front.h"
#include "ui/console.h"

struct fleet_watch;

/* Watches the directory of control sockets. @watch: look only. NULL with @err when it cannot. */
struct fleet_watch *fleet_watch_new(bool watch, struct err *err);
void fleet_watch_free(struct fleet_watch **f);
int fleet_watch_fd(const struct fleet_watch *f); /* readable: look again */
/* console_opts.more; the strings of @out and its hands live as long as the watch. A session that
 * cannot be reached is passed over. */
bool fleet_watch_next(void *self, struct console_source *out);

#endif
