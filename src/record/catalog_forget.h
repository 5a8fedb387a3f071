/* Where the shards of the catalog are (catalog/catalog.h), and their removal when a session
 * has lost something that they may hold. */
#ifndef RECORD_CATALOG_FORGET_H
#define RECORD_CATALOG_FORGET_H

#include "base/compat.h"
#include "base/err.h"

/* The shards of the sessions in @dir: in it, or in the cache if @dir can't be written. Owned. */
char *catalog_place(const char *dir) NODISCARD;
/* Keeps other processes from adding or removing shards there. Returns a descriptor to close; -1:
 * it can't, or no catalog exists. */
int catalog_lock(const char *place) NODISCARD;
/* Removes every shard beside the session file that holds the session (by its name or @uuid; NULL:
 * by its name), and every draft of one. Sessions that were in it are read directly until
 * `sandglass index` makes it anew. @err names one that can't be removed: words of the session may
 * still be in it. Any thread. */
NODISCARD int catalog_forget(const char *session_path, const uint8_t *uuid, struct err *err);

#endif
