/* `run -d` prints an id only when the session is ready: its rules are loaded, and its script has
 * reached its first call that takes time (other than opening a sandbox). An earlier error is
 * reported instead, and nothing keeps running. A client that attaches from the start (console,
 * line mode) is let in at once. Loop thread only. */
#ifndef SUPERVISOR_CORE_READINESS_H
#define SUPERVISOR_CORE_READINESS_H

#include "supervisor/core/super_opts.h"

struct super;

void super_tell_failed(const struct super_opts *o, const struct err *err, int status);
/* The session listens: tells it now, or (super_opts.stand) waits. */
void super_listens(struct super *s);
void super_idle(void *self); /* host_ops.on_idle of the script */
/* Reports readiness after the end, if it is still unreported. */
void super_stood(struct super *s);

#endif
