/* Objects held in memory, optionally above another store that is asked for missing ones. One thread
 * at a time. */
#ifndef SANDBOX_WORKSPACE_MEMSTORE_H
#define SANDBOX_WORKSPACE_MEMSTORE_H

#include "sandbox/workspace/state.h"

struct memstore;

struct memstore *memstore_new(const struct ws_store *below); /* copied; may be NULL */
void memstore_free(struct memstore **m);
struct ws_store memstore_store(struct memstore *m); /* borrows @m */
size_t memstore_count(const struct memstore *m);
uint64_t memstore_bytes(const struct memstore *m);
/* Every object held here, in order of arrival; the bytes are borrowed. */
typedef void memstore_fn(void *self, const struct object_id *id, enum object_type type,
			 const void *bytes, size_t len);
void memstore_each(const struct memstore *m, memstore_fn *fn, void *self);

#endif
