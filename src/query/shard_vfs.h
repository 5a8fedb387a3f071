/* SQLite's file layer for readers of shards: a page counts only if its checksum matches
 * (record/read/page_checksum.h). A page that doesn't match is an error of the statement that reads
 * it. Any thread. */
#ifndef QUERY_SHARD_VFS_H
#define QUERY_SHARD_VFS_H

#include <sqlite3.h>

#include "base/err.h"

#define SHARD_VFS "sandglass-shard"

/* Before the first open with that name; again does nothing. */
void shard_vfs_register(void);
/* A new, still empty database: its pages keep room for checksums. */
int shard_vfs_room(sqlite3 *db);
/* Writes the checksums of a finished file. */
NODISCARD int shard_vfs_seal(const char *path, struct err *err);

#endif
