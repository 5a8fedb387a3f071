/* The host without a sandbox: commands run as the user that started us (started by root: as the
 * user of sandboxes), in a copy of the repository, with all rights of that user. For commands that
 * can't run in a sandbox; chosen by name only, and every screen shows its isolation level "none".
 * Unlike in a shell, every command passes the policy check and is recorded, and its changes can be
 * shown, undone, and merged. */
#ifndef SANDBOX_STREAM_HOST_H
#define SANDBOX_STREAM_HOST_H

#include "sandbox/driver.h"

extern const struct driver driver_host;

#endif
