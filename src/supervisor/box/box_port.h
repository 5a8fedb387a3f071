/* Ports of boxes on this machine (op box.url): a listener of ours on 127.0.0.1; whoever connects is
 * connected to that port of the box's own loopback (driver.h: dial). Opening one is an action of
 * kind port; the box has no network by it, and what listens in it learns nothing of who comes. Only
 * this user and root are let in, and nobody while the session or the agent that opened it is paused
 * or the box frozen; connections that are open then stay. Each connection is an event (port.closed)
 * when it is over. It lives as long as its box; in a resumed session nothing listens until it is
 * asked for again. Loop thread only. */
#ifndef SUPERVISOR_BOX_BOX_PORT_H
#define SUPERVISOR_BOX_BOX_PORT_H

#include "supervisor/core/core.h"

void op_box_url(struct call *c);
void box_ports_gone(struct super *s, uint64_t box); /* 0: all of them */

#endif
