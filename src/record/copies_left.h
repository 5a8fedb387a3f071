/* Copies of a session that a move between a directory and an archive (sessions/archive.h) leaves
 * when it is killed: a redaction of the session does not reach them. */
#ifndef RECORD_COPIES_LEFT_H
#define RECORD_COPIES_LEFT_H

#include "base/err.h"

/* The file of the same name in each archive of the directory of @path, and, of an archived one, in
 * the directories that use its archive. Removes drafts of such a copy (FILE-pack). @err names all
 * that it finds: copies, which stay (ERR_EXISTS), drafts that can't be removed, lists that can't be
 * read, and archives that are away (archive_reach.h). @path itself may be removed already. The
 * caller holds its lease. Any thread. */
NODISCARD int copies_left(const char *path, struct err *err);
/* Removes the draft beside @path itself. */
NODISCARD int copies_draft_remove(const char *path, struct err *err);

#endif
