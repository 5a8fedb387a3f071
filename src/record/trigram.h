/* The search index's tokenizer, faster: each trigram of a text is given once.
 *
 * The index keeps which texts hold a trigram, not where or how often; SQLite's own tokenizer's
 * tokens without their repetitions make the same index in a fraction of the time. The table still
 * names `trigram`, so that any SQLite reads it. */
#ifndef RECORD_TRIGRAM_H
#define RECORD_TRIGRAM_H

#include <sqlite3.h>

/* For a connection that has not looked at the index yet. An SQLite code. */
int trigram_register(sqlite3 *db);

#endif
