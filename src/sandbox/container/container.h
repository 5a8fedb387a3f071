/* Boxes in containers of an engine on the host (Docker, Podman; engine.h). Our guest is
 * PID 1 of the container and connects to a socket that is mounted into it, so a command costs a
 * fork and no request to the engine. The workspace is a copy (folder.h) that is mounted at
 * /workspace: trees, diffs and merging back work as elsewhere. When the supervisor dies, the guest
 * sees the end of its socket and ends, and the engine removes the container.
 *
 * Hardened: no capabilities, no new privileges, the engine's seccomp profile, read-only root, no
 * network of its own (an allow list goes through our proxy, on the container's loopback), limits,
 * landlock in the guest, an ordinary uid.
 *
 * Options (box_opts.driver): those of image.h; "engine": socket, else as engine_socket
 * says.
 */
#ifndef SANDBOX_CONTAINER_CONTAINER_H
#define SANDBOX_CONTAINER_CONTAINER_H

#include "sandbox/driver.h"

extern const struct driver driver_container;

/* Asks the engine whether the container that a note names (remote_orphans.h: "SOCKET: NAME") is
 * there: 1, 0, or -1 if no engine answers within 2 s. Blocking, with a loop of its own. */
int container_there(const char *where);

#endif
