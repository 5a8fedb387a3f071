/* The requests of wire/launch.h, one after the other, and the children that came from them. */
#ifndef LAUNCHER_SERVICE_H
#define LAUNCHER_SERVICE_H

#include "launcher/launcher_priv.h"

struct service;

/* says hello; NULL on failure */
struct service *service_new(int channel, uid_t wanted, struct err *err);
/* kills everything that was started and waits for it */
void service_free(struct service **s);
bool service_request(struct service *s); /* takes one; false: the channel has ended */
void service_reap(struct service *s);	 /* collects the dead and tells of them */
/* Nothing is left to prepare; else call service_ahead when nobody has asked for anything for a
 * while. */
bool service_idle(const struct service *s);
void service_ahead(struct service *s);
/* a cgroup is not empty yet: call service_reap again soon */
bool service_dying(const struct service *s);

#endif
