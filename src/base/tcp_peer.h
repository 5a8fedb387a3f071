/* Whose is the other end of a TCP connection that stays on the host? Linux, IPv4 (also spoken
 * by a socket of IPv6). Reads the tables of the network namespace of this process: a peer in
 * another one is not found. */
#ifndef BASE_TCP_PEER_H
#define BASE_TCP_PEER_H

#include <sys/types.h>

#include "base/err.h"

/* @uid_out: the user who made the socket at the other end of @sock. ERR_NOENT: nobody holds that
 * end now (it may still have sent something, and the kernel has forgotten its owner), or it is on
 * another host. Blocks while the kernel writes its tables. */
NODISCARD int tcp_peer_uid(int sock, uid_t *uid_out, struct err *err);

#endif
