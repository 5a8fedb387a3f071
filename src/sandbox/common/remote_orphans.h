/* Remains of sandboxes beyond the host's own clean-up. An entry is written below the sandbox's
 * state directory before the object is made, and removed once the object is known to be gone. So
 * `sandglass doctor --paths` reports the remains of a killed supervisor. Any thread. */
#ifndef SANDBOX_COMMON_REMOTE_ORPHANS_H
#define SANDBOX_COMMON_REMOTE_ORPHANS_H

#include <stdbool.h>

#include "base/err.h"

/* @driver: its name, @where: for users, one line that they can go to
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
