/* What stays of a session that was removed: one line of JSON in removed.jsonl of the sessions
 * folder, written before its file goes.
 * {"session","name","file","removed","by","uid","why","size_bytes","events","uuid","chain"}: uuid
 * and the chain after the last event (hexadecimal) are those of the file, so that a copy kept
 * elsewhere can be told for what it is. Of a file that could not be read: "unreadable" instead of
 * them. */
#ifndef SESSIONS_TOMBSTONE_H
#define SESSIONS_TOMBSTONE_H

#include "cli/lib/cmd.h"
#include "sessions/sessions.h"

/* On the disk when it returns. @why may be NULL. */
NODISCARD int tombstone_write(const char *dir, const struct session_file *f, const char *why,
			      struct err *err);
/* The session that @text means (an id, a beginning of one, a name) was removed from @dir: says so
 * in @err (ERR_NOENT), of several the last one. False, and @err as it was: there is none such. */
bool tombstone_find(const char *dir, const char *text, struct err *err);
/* Prints those of @dir: lines for people, or as they are. */
NODISCARD int tombstone_list(struct cmd_ctx *ctx, const char *dir, struct err *err);

#endif
