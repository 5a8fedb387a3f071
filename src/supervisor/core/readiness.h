/* `run -d` prints an id when the session stands, not before: its rules are loaded and its script
 * has got as far as a first call that takes time (other than opening a box). What ends with an
 * error before that is told in its place, and nothing of it runs on. Whoever looks from the
 * beginning (console, line mode) is let in at once. Loop thread only. */
#ifndef SUPERVISOR_CORE_READINESS_H
#define SUPERVISOR_CORE_READINESS_H

#include "supervisor/core/super_opts.h"

struct super;

void super_tell_failed(const struct super_opts *o, const struct err *err, int status);
/* The session listens: tells it now, or (super_opts.stand) waits. */
void super_listens(struct super *s);
void super_idle(void *self); /* host_ops.on_idle of the script */
/* After the end: what was not told yet. */
void super_stood(struct super *s);

#endif
