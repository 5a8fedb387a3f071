/* The queries of the search index for a text: clauses of FTS5's language that all must hold, one
 * for each trigram of a word (or for all words with a prefix of one or two characters).
 *
 * Asking for all of them reads all their lists. The lists of the trigrams of one word are almost
 * the same, so that a few of them find little more than all do. A sample of the session chooses
 * them. */
#ifndef RECORD_READ_CLAUSES_H
#define RECORD_READ_CLAUSES_H

#include <sqlite3.h>
#include <stdint.h>

#include "base/buf.h"

struct clause {
	struct buf text;
	bool wide; /* many trigrams in one: a list for each of them */
};

struct clauses {
	struct clause *item; /* owned */
	size_t nr, cap;
};

/* Adds what holds wherever @term (lower case) stands; nothing where the index cannot tell. @db has
 * the table temp.search_terms (fts5vocab, rows) for terms of fewer than three characters. */
void clauses_add(struct clauses *c, sqlite3 *db, const struct buf *term);
void clauses_release(struct clauses *c);

/* The query of all clauses; empty without clauses. */
void clauses_all(const struct clauses *c, struct buf *out);
/* The query of a few, which the events behind @after (CLAUSES_SAMPLE of them) choose: it finds
 * whatever all of them do. Where these cannot be asked it is all. */
void clauses_few(const struct clauses *c, sqlite3 *db, uint64_t after, struct buf *out);

enum { CLAUSES_SAMPLE = 4096 };

#endif
