/* A directory on another machine, through the user's own ssh (its configuration, keys and agent;
 * never asked for anything: BatchMode). One connection per box: it brings our guest program over if
 * that machine does not have it (by the hash of its content, in the cache directory there), makes a
 * directory for the box and becomes the guest's channel. When the connection ends, for whatever
 * reason, the guest ends everything below it and the directory is removed; what a machine that lost
 * its power kept is removed by the next box that opens there.
 *
 * Options: host, or ssh://[user@]host[:port]; user, port, key (file), config (file instead of
 * ~/.ssh/config), dir (directory over there instead of ~/.cache/sandglass). */
#ifndef SANDBOX_STREAM_SSH_H
#define SANDBOX_STREAM_SSH_H

#include "sandbox/driver.h"

extern const struct driver driver_ssh;

#endif
