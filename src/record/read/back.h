/* Who put files back, and how: the words for a snapshot that no action made, from what is recorded
 * beside it. A person's undo, rollback or promote is his own deed, so it is told as such wherever
 * the author of a change is named. Reading only. */
#ifndef RECORD_READ_BACK_H
#define RECORD_READ_BACK_H

#include "base/buf.h"
#include "record/read/session.h"

/* Of the snapshot @seq, or of the event that says that it was done: @what "undo of #53", "rollback
 * to #12"; @who the name of the person, as he called himself, empty when it was no person's
 * command. Both are appended to. False, and nothing: no files were put back there, or the record
 * does not say. */
bool session_put_back(struct session *s, uint64_t seq, struct buf *what, struct buf *who);

#endif
