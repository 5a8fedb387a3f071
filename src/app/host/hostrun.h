/* Commands on this machine outside any box (sg.host.exec, sg.host.push), as the effector of host actions. They run with
 * the supervisor's own rights; that is why no rule allows them by default. Not a sandbox driver: nothing is contained. */
#ifndef APP_HOSTRUN_H
#define APP_HOSTRUN_H

#include "action/gate.h"

/* @l is borrowed by every action that the effector starts. argv of the spec runs in spec.args "cwd" (default: where the
 * supervisor was started). Ends with code or signal. */
void hostrun_effector(struct loop *l, struct effector *out);

#endif
