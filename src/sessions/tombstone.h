/* The remains of a removed session: one line of JSON in removed.jsonl of the sessions directory,
 * written before its file goes.
 * {"session","name","file","removed","by","uid","why","size_bytes","events","uuid","chain"}:
 * uuid and the chain after the last event (hexadecimal) identify a copy of the file that is kept
 * elsewhere. For an unreadable file, "unreadable" replaces them. */
#ifndef SESSIONS_TOMBSTONE_H
#define SESSIONS_TOMBSTONE_H

#include "cli/lib/cmd.h"
#include "sessions/sessions.h"

/* On the disk when it returns. @why may be NULL. */
NODISCARD int tombstone_write(const char *dir, const struct session_file *f, const char *why,
			      struct err *err);
/* If the session that @text names (an id, a prefix of one, a name) was removed from @dir,
 * reports this in @err (ERR_NOENT), of several the last one. False, with @err unchanged: no such
 * session. */
bool tombstone_find(const char *dir, const char *text, struct err *err);
/* Prints those of @dir: lines for users, or as they are. */
NODISCARD int tombstone_list(struct cmd_ctx *ctx, const char *dir, struct err *err);

#endif
