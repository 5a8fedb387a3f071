/* Ports of boxes on this machine (op box.url): a listener of ours on 127.0.0.1; whoever connects is connected to that port of the
 * box's own loopback (driver.h: dial). Opening one is an action of kind port; the box has no network by it, and what listens in it
 * learns nothing of who comes. It lives as long as its box. Loop thread only. */
#ifndef APP_BOX_PORT_H
#define APP_BOX_PORT_H

#include "app/super/super_inner.h"

void op_box_url(struct call *c);
void box_ports_gone(struct super *s, uint64_t box); /* 0: all of them */

#endif
