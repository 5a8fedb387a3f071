/* Where the process at the other end of a control socket runs. One in a sandbox must not decide its
 * own actions, whatever way it has found to the socket and whatever its uid is. */
#ifndef CONTROL_PEER_PLACE_H
#define CONTROL_PEER_PLACE_H

#include <sys/types.h>

#include "base/err.h"

/* ERR_DENIED unless @pid, the peer of @sock, is alive, in our PID and user namespace, and in no
 * cgroup of a sandbox that we are not in ourselves. */
NODISCARD int peer_place_check(int sock, pid_t pid, struct err *err);

#endif
