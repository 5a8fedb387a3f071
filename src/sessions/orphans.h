/* What boxes have left behind that no running session uses: which, how large, and what takes it
 * away.
 *
 * Three kinds: folders of boxes below $XDG_STATE_HOME/sandglass/box (a supervisor that ends by
 * itself removes its own), what lies on other machines (remote_orphans.h), and boxes that
 * are rented (hosted_book.h). Only folders of sessions that have ended, whose record has
 * all that is to be kept, are removed here; a session that was broken off may go on in its own, and
 * one whose file is not in the sessions folder may be somebody else's: those are named. */
#ifndef SESSIONS_ORPHANS_H
#define SESSIONS_ORPHANS_H

#include "cli/lib/cmd.h"

/* prune --boxes [SESSION...]: lists them, largest first, asks, removes. Exit status. */
int orphans_prune(struct cmd_ctx *ctx);

#endif
