/* SQLite's file layer with a few additions, for writers of session files: pages of the main file
 * get their checksums (read/page_checksum.h), the end of the newest frame of the write-ahead log
 * is known, the frames of a commit are written in one call, and a commit can do without its sync.
 *
 * Any thread; a connection opened with the name RECORD_VFS behaves as one without it. */
#ifndef RECORD_VFS_H
#define RECORD_VFS_H

#include <sqlite3.h>

#include "base/err.h"

#define RECORD_VFS "sandglass"

/* Before the first open with that name; again does nothing. */
void vfs_register(void);
/* A new, still empty database: its pages keep room for sums. */
int vfs_keep_sums(sqlite3 *db);
/* The log of a connection in WAL mode: salt of this run, offset behind the newest frame (0 =
 * nothing since it was emptied). */
void vfs_log_end(sqlite3 *db, uint32_t *salt_out, uint64_t *end_out);
/* Whether commits from now on may be left to the kernel to write (as PRAGMA synchronous=NORMAL has
 * it), which also the last moment before a commit can say. What keeps the log itself readable is
 * synced all the same. */
void vfs_relax(sqlite3 *db, bool relaxed);
/* Does the work that a commit leaves for later, when nobody waits. */
void vfs_catch_up(sqlite3 *db);
/* A sync of overwritten bytes takes half the time of one of a file that grows. So a log with hardly
 * any room after its newest frame is extended with zeros when nobody waits: in a transaction, since
 * nobody else may write meanwhile. Without disk space for that, the log stays as it is. */
bool vfs_log_is_short(sqlite3 *db);
void vfs_log_grow(sqlite3 *db);
/* Gives the pages that lack them their sums: for a file that another program may have written
 * to. */
NODISCARD int vfs_mend_sums(const char *path, struct err *err);

#endif
