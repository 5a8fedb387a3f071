/* What an action is aimed at that has no command, no path and no host: words for lists and lines,
 * not the exact bytes. */
#ifndef QUERY_AIM_H
#define QUERY_AIM_H

#include "base/buf.h"
#include "base/json.h"

/* @requested: the body of action.requested. false: nothing is known, @out is as it was. */
bool action_aim(const json_t *requested, struct buf *out);

#endif
