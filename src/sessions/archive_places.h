/* Archives: directories that hold finished sessions by date, ARCHIVE/YEAR/MONTH/DAY/FILE.glass,
 * each with the lines of anchor.log about it in FILE.glass-anchor. The sessions of a directory
 * include those of its archives, which are DIR/archive, the directories that DIR/archives names (a
 * path a line), and DIR itself. An archive that isn't there (record/archive_reach.h) holds none.
 *
 * ARCHIVE/used-by names the directories that use it, because their catalogs hold its sessions: a
 * redaction takes them out there (record/catalog_forget.h). */
#ifndef SESSIONS_ARCHIVE_PLACES_H
#define SESSIONS_ARCHIVE_PLACES_H

#include "base/err.h"
#include "base/buf.h"

/* Owned: those of @dir, except DIR itself. */
void archive_places(const char *dir, struct strv *out);
/* @dir uses @archive (made if it isn't there) from now on. Again does nothing. ERR_NOENT, or the
 * system's error: @dir uses it, but it is away. */
NODISCARD int archive_use(const char *dir, const char *archive, struct err *err);
/* @dir no longer uses @archive, a path of its list: also one that is away. Drops the catalog of
 * @dir, which may hold words of it. ERR_NOENT: it isn't in the list. */
NODISCARD int archive_unuse(const char *dir, const char *archive, struct err *err);
/* Keeps other processes from moving sessions of @dir into an archive or back. Returns a descriptor
 * to close; -1 with ERR_BUSY: another process does, and !@wait. */
NODISCARD int archive_lock(const char *dir, bool wait, struct err *err);
/* Calls with each directory of @archive that has the form YEAR/MONTH/DAY; borrowed. */
typedef int archive_day_fn(void *self, const char *day, struct err *err);
NODISCARD int archive_days(const char *archive, archive_day_fn *fn, void *self, struct err *err);

#endif
