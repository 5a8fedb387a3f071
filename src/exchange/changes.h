/* All changes of a snapshot. Its list ends after some thousand paths ("more":
 * sandbox/workspace/snapshot.h); the rest is the difference of its trees from those of the
 * snapshot before it (body "prev"). Reading only. */
#ifndef EXCHANGE_CHANGES_H
#define EXCHANGE_CHANGES_H

#include "base/json.h"
#include "record/read/session.h"

/* The body (owned) of the snapshot @ev in the history of its layer. A sandbox that replaced
 * another (resume, fork of a session) lists all differences from the base at its opening. Its
 * history continues the files of the other one ("prev"), so its real changes are the differences
 * from those, read from the trees ("more"). */
json_t *snapshot_in_history(struct session *s, const struct event *ev, struct err *err);

/* An array (owned) of objects as in the body: op, path, kind, mode, oid, was, hash_only, ...; sizes
 * only where they were listed. Costs nothing for a list that is whole, else what the two views
 * hold. ERR_NOENT: the snapshot before it was redacted. */
NODISCARD int snapshot_changes(struct session *s, const json_t *body, json_t **out,
			       struct err *err);

/* Of a truncated list: did the snapshot change @path? Looks up this path in its trees and in
 * those before it, so that a long chain is not read. Returns 1 with the current *mode and *oid
 * (null: removed), 0 if not, or -1. */
NODISCARD int snapshot_changed(struct session *s, const json_t *body, const char *path,
			       unsigned *mode, struct object_id *oid, struct err *err);

#endif
