/* Remains of sandboxes that no running session uses: their places, sizes, and the commands that
 * remove them.
 *
 * Three kinds: directories below $XDG_STATE_HOME/sandglass/box (a supervisor that ends normally
 * removes its own), files on remote hosts (remote_orphans.h), and hosted sandboxes
 * (hosted_book.h). Only directories of ended sessions with complete recordings are removed here.
 * An interrupted session may continue in its own directory, and a session whose file is not in
 * the sessions directory may belong to another user: those are named. */
#ifndef SESSIONS_ORPHANS_H
#define SESSIONS_ORPHANS_H

#include "cli/lib/cmd.h"

/* prune --boxes [SESSION...]: lists them, largest first, asks, removes. Exit status. */
int orphans_prune(struct cmd_ctx *ctx);

#endif
