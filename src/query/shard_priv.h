/* Between the files of a shard. */
#ifndef QUERY_SHARD_PRIV_H
#define QUERY_SHARD_PRIV_H

#include <sqlite3.h>

#include "base/mem.h"
#include "query/shard.h"

enum { SHARD_FORMAT = 5 };

struct shard {
	sqlite3 *db;
	struct shard_session *session; /* strings are of the arena */
	size_t nr, cap;
	struct arena arena;
	uint32_t docs;
	struct buf words; /* the vocabulary, read when it is asked */
	uint64_t *may;	  /* bits of documents; NULL: not asked, or nothing is known */
	bool damaged;
};

/* A failure marks the shard as damaged. */
sqlite3_stmt *shard_select(struct shard *s, const char *sql);
int shard_step(struct shard *s, sqlite3_stmt *st); /* @st may be NULL */

struct posting {
	char *word; /* owned */
	size_t len;
	uint32_t *doc; /* owned; not in order */
	size_t nr, cap;
};
struct made_session {
	struct shard_session about; /* strings are owned */
	struct session_end end;
	char *details; /* owned */
	bool deeds_known;
	struct buf deeds; /* pairs of LEB128: distance of the action's number, deed */
};
struct shard_maker {
	struct posting *posting;
	size_t postings, posting_cap;
	uint32_t *slot; /* hash table: place in posting + 1 */
	size_t slots;
	struct made_session *session;
	size_t sessions, session_cap;
	uint32_t docs;
	json_t *deed;	  /* text of a deed -> its number */
	struct strv text; /* of deeds */
};

/* The postings of a word; new ones if it has none. */
struct posting *shard_make_posting(struct shard_maker *m, const char *word, size_t len);
void shard_make_document(struct posting *p, uint32_t doc);
/* A session without documents. */
struct made_session *shard_make_keep(struct shard_maker *m, const struct shard_session *about);
void shard_make_deed(struct shard_maker *m, struct made_session *one, uint64_t distance,
		     const char *text, size_t len);

#endif
