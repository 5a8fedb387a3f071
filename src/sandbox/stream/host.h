/* A box that is none: commands run on this machine, as the user that started us (started by root:
 * as the user of boxes), in a copy of the repository, with everything that this user may. For what
 * cannot run in a box; chosen by name only, and its profile "none" stands on every screen. What it
 * gains over a shell: every command passes the gate, is recorded, and its changes can be shown,
 * taken back and merged. */
#ifndef SANDBOX_STREAM_HOST_H
#define SANDBOX_STREAM_HOST_H

#include "sandbox/driver.h"

extern const struct driver driver_host;

#endif
