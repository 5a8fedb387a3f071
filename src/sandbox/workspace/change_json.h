/* One changed path as a snapshot's body lists it (sandbox/events.def, snapshot.taken): recorded
 * entries and entries read again from trees are both made here, so that they agree. Pure. */
#ifndef SANDBOX_WORKSPACE_CHANGE_JSON_H
#define SANDBOX_WORKSPACE_CHANGE_JSON_H

#include "base/json.h"
#include "sandbox/workspace/state.h"

/* {"op", "path", "kind", "mode", "size"?, "oid"?, .., "was": {..}?}. @sizes: of files and links
 * they are known (no tree has them). Returns owned. */
json_t *ws_change_json(const char *path, size_t len, const struct ws_state *was,
		       const struct ws_state *now, bool sizes);

#endif
