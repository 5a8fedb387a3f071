/* The supervisor: one session = one run of a script = one of these = one session file.
 *
 * It composes what the directories below offer: loop, recorder, gate, boxes, launcher, Lua host,
 * control socket. It has no terminal and no Lua. It alone decides and it alone writes the record.
 * Loop thread only. */
#ifndef SUPERVISOR_SUPER_H
#define SUPERVISOR_SUPER_H

#include "supervisor/core/super_opts.h"

/* Runs the session to its end. Returns the exit status of ux 4.2. */
int super_run(const struct super_opts *o);

#endif
