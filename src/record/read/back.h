/* Names the author and kind of a restore: text for a snapshot that no action made, from the
 * events recorded beside it. Your undo, rollback, or apply is your own act, so it is named as
 * such wherever the author of a change is shown. Reading only. */
#ifndef RECORD_READ_BACK_H
#define RECORD_READ_BACK_H

#include "base/buf.h"
#include "record/read/session.h"

/* Of the snapshot @seq, or of the event that says that it was done: @what "undo of #53", "rollback
 * to #12"; @who the name of the user, as he called himself, empty when it was no user's
 * command. Both are appended to. False, and nothing: no files were put back there, or the record
 * does not say. */
bool session_put_back(struct session *s, uint64_t seq, struct buf *what, struct buf *who);

#endif
