/* Between the files of the catalog. */
#ifndef CATALOG_PRIV_H
#define CATALOG_PRIV_H

#include "catalog/catalog.h"
#include "record/catalog_forget.h"

struct catalog_shard {
	struct shard *shard; /* owned */
	char *path;	     /* owned */
};
struct catalog_entry {
	const char *file; /* borrowed of the shard */
	size_t shard, at;
};
struct catalog {
	struct catalog_shard *shard;
	size_t nr, cap;
	struct strv odd;	     /* paths of shards that can't be read */
	size_t damaged;		     /* of these; the others are of older versions */
	struct catalog_entry *entry; /* by file */
	size_t entries, entry_cap;
};

/* The name of a session file without its directory; borrowed. */
const char *catalog_name(const char *path);
/* Could @f be in the catalog? Not one that runs, or was written a moment ago. */
bool catalog_settled(const struct session_file *f);
/* As catalog_find, also where only the file tells; @shard_out (may be NULL): which shard. */
const struct shard_session *catalog_known(const struct catalog *c, const struct session_file *f,
					  size_t *shard_out);

/* Reads the session into @m. On failure, or if it has no end, it is left out. */
NODISCARD int catalog_add_session(struct shard_maker *m, const struct session_file *f,
				  struct err *err);

#endif
