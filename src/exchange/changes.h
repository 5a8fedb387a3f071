/* What a snapshot has changed, all of it. Its list ends after some thousand paths ("more":
 * sandbox/workspace/snapshot.h); the rest is what its trees and those of the snapshot before it
 * (body "prev") differ in. Reading only. */
#ifndef EXCHANGE_CHANGES_H
#define EXCHANGE_CHANGES_H

#include "base/json.h"
#include "record/read/session.h"

/* The body (owned) of the snapshot @ev as the history of its layer has it. A box that took
 * another's place (resume, fork of a session) lists at its opening all that differs from the base:
 * its history goes on with the files of that other ("prev"), and what the opening changed is only
 * what differs from those, to be read from the trees ("more"). */
json_t *snapshot_in_history(struct session *s, const struct event *ev, struct err *err);

/* An array (owned) of objects as in the body: op, path, kind, mode, oid, was, hash_only, ...; sizes
 * only where they were listed. Costs nothing for a list that is whole, else what the two views
 * hold. ERR_NOENT: the snapshot before it was redacted. */
NODISCARD int snapshot_changes(struct session *s, const json_t *body, json_t **out,
			       struct err *err);

/* Of a list that was cut: did the snapshot change @path? Looks up the one path in its trees and in
 * those before it, so that a long chain is not read. 1 and *mode, *oid (null: it is gone) of now;
 * 0: it did not; -1. */
NODISCARD int snapshot_changed(struct session *s, const json_t *body, const char *path,
			       unsigned *mode, struct object_id *oid, struct err *err);

#endif
