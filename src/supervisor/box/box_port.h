/* Ports of sandboxes on the host (op box.url): a listener on 127.0.0.1. Each client is connected
 * to that port of the sandbox's own loopback (driver.h: dial). Opening a port is an action of
 * kind port. The port gives the sandbox no network, and the server inside learns nothing about
 * the client. Only this user and root may connect, and no client while the session or the port's
 * agent is paused or the sandbox frozen; open connections stay. Each connection is an event
 * (port.closed) at its end. A port lives as long as its sandbox. A resumed session opens no port
 * until a script requests it again. Loop thread only. */
#ifndef SUPERVISOR_BOX_BOX_PORT_H
#define SUPERVISOR_BOX_BOX_PORT_H

#include "supervisor/core/core.h"

void op_box_url(struct call *c);
void box_ports_gone(struct super *s, uint64_t box); /* 0: all of them */

#endif
