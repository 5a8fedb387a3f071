/* Inside of struct store, for store.c (writing) and store_file.c (opening, closing). */
#ifndef RECORD_STORE_PRIV_H
#define RECORD_STORE_PRIV_H

#include <sqlite3.h>

#include "record/store.h"

enum sql {
	SQL_BEGIN,
	SQL_COMMIT,
	SQL_ROLLBACK,
	SQL_EVENT,
	SQL_EVENTS,
	SQL_SEGMENT,
	SQL_OBJECT,
	SQL_MESSAGE,
	SQL_CHECKPOINT,
	SQL_MARK,
	SQL_KIND,
	SQL_REDACTION,
	SQL_ERASE_EVENT,
	SQL_ERASE_SEGMENT,
	SQL_ERASE_OBJECT,
	SQL_ERASE_MESSAGE,
	SQL_NR
};

/* The counts that a rolled back transaction must restore. */
struct store_count {
	struct hash chain;
	uint64_t seq, segment;
	uint64_t signed_seq;
	int64_t signed_us; /* on the boot clock */
};

enum { STORE_BUSY_MS = 250 }; /* how long a statement waits for another process's lock */

struct store {
	sqlite3 *db;
	sqlite3_stmt *stmt[SQL_NR];
	char *path;
	uint8_t uuid[UUID_LEN], seed[SIGN_SEED_LEN], key[SIGN_KEY_LEN];
	struct store_count now, before;
	int64_t changes;    /* of the connection when the transaction began */
	int frames;	    /* in the write-ahead log */
	bool indexed;	    /* nothing is left for the search index */
	bool index_pays;    /* the session is long enough for one */
	uint64_t blocks;    /* up to where blocks are made, or have failed */
	uint64_t kinds[16]; /* bits: those below 1,024 that table kind has */
	bool scrub;	    /* the index holds pages of redacted data */
	struct packer *packer;
	struct buf packed, body, anchor; /* anchor: lines that follow the commit */
	bool unanchored;		 /* they do not */
	uint8_t salts[4096];
	size_t salts_left;
	char why[200];
};

extern const char *const store_sql[SQL_NR];

enum store_rc store_commit_now(struct store *s, bool full); /* nothing but that */
int store_on_log(void *self, sqlite3 *db, const char *name, int frames);
/* Takes what sqlite said apart; keeps the text. */
enum store_rc store_failed(struct store *s, int rc);
/* store_kinds.c: before the events are inserted. */
enum store_rc store_kinds_note(struct store *s, const struct event *const *ev, size_t nr);
int store_kinds_again(struct store *s); /* returns SQLite's code */
/* index.c: takes the text of an event or segment out of the index, before it is erased. */
enum store_rc index_forget(struct store *s, uint64_t seq);
/* ... and, when it is erased, what the blocks of values said of it. */
enum store_rc index_again(struct store *s, uint64_t seq);

/* The number that @sql selects; 0: none. */
uint64_t store_number(struct store *s, const char *sql);

#endif
