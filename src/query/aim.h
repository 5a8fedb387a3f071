/* The target of an action without command, path, and host: text for lists and lines, not the
 * exact bytes. */
#ifndef QUERY_AIM_H
#define QUERY_AIM_H

#include "base/buf.h"
#include "base/json.h"

/* @requested: the body of action.requested. false: nothing is known, @out is as it was. */
bool action_aim(const json_t *requested, struct buf *out);

/* A call of a script's own tool (body of tool.call) as its name and arguments: "add {"a":1}". */
void tool_call_words(const json_t *call, struct buf *out);
/* The result of one (body of tool.end): "done: TEXT", "failed: TEXT"; at most @max bytes of it. */
void tool_end_words(const json_t *end, size_t max, struct buf *out);

#endif
