/* Finds the owner of the other end of a TCP connection on the host. Linux, IPv4 (also through an
 * IPv6 socket). Reads the tables of this process's network namespace: a peer in another one is
 * not found. */
#ifndef BASE_TCP_PEER_H
#define BASE_TCP_PEER_H

#include <sys/types.h>

#include "base/err.h"

/* @uid_out: the user who made the socket at the other end of @sock. ERR_NOENT: nobody holds that
 * end now (it may still have sent something, and the kernel has forgotten its owner), or it is on
 * another host. Blocks while the kernel writes its tables. */
NODISCARD int tcp_peer_uid(int sock, uid_t *uid_out, struct err *err);

#endif
