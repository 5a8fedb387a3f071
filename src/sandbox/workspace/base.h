/* The base: the user's files below a box, as they were when it was opened. Worker thread, one at a
 * time per base.
 *
 * A listing (path, device, inode, size, times, mode) is taken at open: it costs one stat per file
 * and says later, by the same stat, which files the user has changed meanwhile (drift): those are
 * marked, recorded and a three-way case at merge. Contents are hashed in the background through a
 * per-user cache. */
#ifndef SANDBOX_WORKSPACE_BASE_H
#define SANDBOX_WORKSPACE_BASE_H

#include <sys/types.h>

#include "base/json.h"
#include "sandbox/workspace/state.h"

struct base;
enum { BASE_FILES_MAX = 2000000, BASE_DEPTH_MAX = 4096 };

/* Lists everything below @lower (borrowed for the call), the .git of the repository included. @uid:
 * whose files are the user's own; others are counted as foreign. */
NODISCARD int base_list(struct base **out, int lower, uid_t uid, struct err *err);
void base_free(struct base **b);
size_t base_count(const struct base *b); /* entries */
/* The body of base.listed as far as it is known here (repo, dir and git are the caller's). Owned by
 * the caller. */
json_t *base_body(const struct base *b);

/* Compares with the current files. 1: *body_out is the body of base.drift (paths that have changed
 * since the last call; owned), 0: nothing new, -1 failure. @touched returns whether the sandbox has
 * changed a path as well; may be NULL. Files under .git are not drift (the user's git works there
 * all the time). */
NODISCARD int base_drift(struct base *b, int lower,
			 bool (*touched)(void *self, const char *path, size_t len), void *self,
			 json_t **body_out, struct err *err);
/* Has @path drifted as far as is known (asked at the last base_drift)? */
bool base_drifted(const struct base *b, const char *path, size_t len);

/* Hashes the contents of all files as listed and adds the trees (not the blobs) to @st: the git
 * tree of the base without its .git. @cache: path of the cache file (paths_cache("oids")); NULL:
 * none. @stop is polled. Fills the body of base.hashed. Entries that a tree cannot say are left
 * out. */
NODISCARD int base_hash(struct base *b, int lower, const struct ws_store *st, const char *cache,
			bool (*stop)(void *self), void *self, json_t **body_out, struct err *err);

/* --- the cache of names: (device, inode, size, mtime, ctime) -> git's name; append-only, private
 * to base_hash --- */
struct oid_cache;
struct oid_key {
	uint64_t dev, ino, size;
	int64_t mtime_ns, ctime_ns;
};
/* A damaged or foreign file is begun anew; one that cannot be written serves from memory. Never
 * fails. */
struct oid_cache *oid_cache_open(const char *path);
void oid_cache_close(struct oid_cache **c);
bool oid_cache_get(const struct oid_cache *c, const struct oid_key *k, struct object_id *out);
void oid_cache_put(struct oid_cache *c, const struct oid_key *k, const struct object_id *id);
size_t oid_cache_count(const struct oid_cache *c);

#endif
