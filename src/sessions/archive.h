/* Moving a finished session into an archive (archive_places.h) and back. The copy is read back and
 * verified before the original is removed, and has its name only then; so at each moment one of
 * both is intact, and the one in the sessions directory counts if both are there. */
#ifndef SESSIONS_ARCHIVE_H
#define SESSIONS_ARCHIVE_H

#include "base/buf.h"
#include "base/err.h"

struct archive_log {
	struct buf text; /* of anchor.log */
	bool read;
};
#define ARCHIVE_LOG_INIT ((struct archive_log){ .text = BUF_INIT })
void archive_log_release(struct archive_log *log);

/* ARCHIVE/YEAR/MONTH/DAY/NAME of the session file @path; owned. */
char *archive_path(const char *archive, const char *path) NODISCARD;
/* ARCHIVE of such a path; owned. */
char *archive_top(const char *path) NODISCARD;
/* Moves the session file @path to @to, whose directory is made. The caller holds its lease.
 * @log: filled when it is first needed. ERR_DAMAGED: the copy doesn't verify; the original
 * stays. */
NODISCARD int archive_move(const char *path, const char *to, struct archive_log *log,
			   struct err *err);
/* Copies the library's texts (luahost/library_kept.h) that @to lacks. */
NODISCARD int archive_library(const char *from, const char *to, struct err *err);

#endif
