/* What boxes may have left where the host's own clean-up does not reach: written down below the
 * box's state directory before it is made, taken away once it is known to be gone. What a killed
 * supervisor leaves is therefore told by `sandglass doctor --paths`. Any thread. */
#ifndef SANDBOX_COMMON_REMOTE_ORPHANS_H
#define SANDBOX_COMMON_REMOTE_ORPHANS_H

#include <stdbool.h>

#include "base/err.h"

/* @driver: its name, @where: for people, one line that they can go to
 * ("vm1:~/.cache/sandglass/boxes/fix-3a", "/run/docker.sock: sandglass-0a1b2c3d4e5f"). */
NODISCARD int remote_orphans_note(const char *state_dir, const char *driver, const char *where,
				  struct err *err);
void remote_orphans_gone(const char *state_dir); /* none is fine */
bool remote_orphans_left(const char *state_dir); /* there is such a note */

/* Calls @fn for each one recorded in a directory of @boxes (boxes/SESSION/BOX). @box: that path;
 * all borrowed. */
void remote_orphans_each(const char *boxes,
			 void (*fn)(void *self, const char *driver, const char *where,
				    const char *box),
			 void *self);

#endif
