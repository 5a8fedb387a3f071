/* Whether an archive (sessions/archive_places.h) can be looked at now. */
#ifndef RECORD_ARCHIVE_REACH_H
#define RECORD_ARCHIVE_REACH_H

#include "base/err.h"

/* 0: the archive is there. ERR_NOENT, or the system's error: it is not, and its contents are
 * unknown. An empty directory is one on which nothing is mounted: an archive in use has a file
 * used-by. @err names @place. */
NODISCARD int archive_reach(const char *place, struct err *err);

#endif
