/* Where the shards of the catalog are (catalog/catalog.h), and their removal when a session
 * has lost something that they may hold. */
#ifndef RECORD_CATALOG_FORGET_H
#define RECORD_CATALOG_FORGET_H

#include "base/compat.h"

/* The shards of the sessions in @dir: in it, or in the cache if @dir can't be written. Owned. */
char *catalog_place(const char *dir) NODISCARD;
/* Keeps everyone else from adding or removing shards there; -1: it can't, or there are none. Close
 * it. */
int catalog_lock(const char *place) NODISCARD;
/* Removes every shard beside the session file that holds the session (by its name or @uuid; NULL:
 * by its name), and every draft of one. Sessions that were in it are read directly until
 * `sandglass index` makes it anew. Any thread. */
void catalog_forget(const char *session_path, const uint8_t *uuid);

#endif
