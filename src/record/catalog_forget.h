/* Where the shards of the catalog are (catalog/catalog.h), and how they lose a session that
 * was redacted or removed. */
#ifndef RECORD_CATALOG_FORGET_H
#define RECORD_CATALOG_FORGET_H

#include "base/compat.h"
#include "base/err.h"

/* The shards of the sessions in @dir: in it, or in the cache if @dir can't be written. Owned. */
char *catalog_place(const char *dir) NODISCARD;
/* Keeps other processes from adding or removing shards there. Returns a descriptor to close; -1:
 * it can't, or no catalog exists. */
int catalog_lock(const char *place) NODISCARD;
/* Makes the shard @path anew without the session. -1: remove the shard. */
typedef int catalog_without_fn(const char *path, const char *file, const uint8_t *uuid,
			       struct err *err);
/* Set once, at the start of a program that has the catalog. Else shards are removed. */
void catalog_forget_with(catalog_without_fn *fn);
/* Takes the session (by its name or @uuid; NULL: by its name) out of every shard beside the session
 * file, and removes damaged shards and drafts. Sessions of a removed shard are read directly until
 * `sandglass index` enters them again. @err names a shard that can't be removed, or a
 * directory that uses the archive and isn't there: words of the session may still be in it. Any
 * thread. */
NODISCARD int catalog_forget(const char *session_path, const uint8_t *uuid, struct err *err);
/* Removes all shards of @dir, here and in the cache. */
NODISCARD int catalog_drop(const char *dir, struct err *err);

#endif
