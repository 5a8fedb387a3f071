/* The catalog: what the finished sessions of a directory hold, in shards (query/shard.h) below
 * DIR/catalog, so that a command over thousands of sessions opens few of them. Where DIR can't be
 * written, the shards are in the reader's cache.
 *
 * It is never needed. A session that is not in it, or whose file has another size or time than it
 * knows, is read directly, so a missing or damaged shard only costs time. `sandglass index` writes
 * shards; reading commands start it in the background if CATALOG_DUE finished sessions are not in
 * the catalog, or a shard is damaged. Shards replace each other by renaming. A redaction and
 * `prune` make the shards that hold the session anew, without it, before they report done
 * (record/catalog_forget.h). */
#ifndef CATALOG_H
#define CATALOG_H

#include "sessions/sessions.h"
#include "query/shard.h"

enum { CATALOG_DUE = 64 };

struct catalog;
/* Never fails: without shards it holds nothing. */
struct catalog *catalog_open(const char *dir) NODISCARD;
void catalog_close(struct catalog **c);

/* The catalog's data of @f (borrowed); NULL: read the file. */
const struct shard_session *catalog_find(const struct catalog *c, const struct session_file *f);
/* {"traits", "summary", "held": [], "answers": []}; NULL: read the file. Returns owned. */
json_t *catalog_details(const struct catalog *c, const struct session_file *f) NODISCARD;

/* Asks all shards. Then false says that nothing in @f matches. */
void catalog_ask(struct catalog *c, const struct filter *f);
bool catalog_may_match(const struct catalog *c, const struct session_file *f);

/* Where the catalog has @f, for shard.h; false: read the file. */
bool catalog_place_of(const struct catalog *c, const struct session_file *f, size_t *shard_out,
		      size_t *at_out);
size_t catalog_shard_count(const struct catalog *c);
struct shard *catalog_shard(const struct catalog *c, size_t i,
			    const char **path_out); /* borrowed */

/* Damaged shards found so far; nothing in them was or is used. */
size_t catalog_damaged(const struct catalog *c);
/* Reads every shard's pages for damage. */
void catalog_doubt(struct catalog *c);

/* Starts `sandglass index --catalog` in the background if enough of @files are not in the catalog,
 * or a shard is damaged. */
void catalog_finish_later(const struct catalog *c, const struct session_files *files,
			  const char *dir);

/* Calls now and then with the sessions that are done; false ends the building. @left_out: why a
 * session isn't entered (@file: its name); NULL: no session was left out. */
typedef bool catalog_step_fn(void *self, size_t done, size_t all, const char *file,
			     const char *left_out);
/* Writes missing shards, on two cores, if at least @least sessions are not in the catalog, or a
 * shard is damaged. *added_out: sessions. Shards written before @fn ended the building stay. */
NODISCARD int catalog_build(const char *dir, size_t least, catalog_step_fn *fn, void *self,
			    size_t *added_out, struct err *err);
/* For catalog_forget_with. */
int catalog_without(const char *path, const char *file, const uint8_t *uuid, struct err *err);

#endif
