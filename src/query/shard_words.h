/* The words of a shard: how a text is taken apart, for those who write postings and those who ask
 * them. */
#ifndef QUERY_SHARD_WORDS_H
#define QUERY_SHARD_WORDS_H

#include "base/buf.h"

enum { SHARD_WORD_MOST = 256 };

/* Words that are all different, and would fill the vocabulary, are kept under one of two names. */
#define SHARD_WORD_HEX	"#hex"	/* five or more of 0-9a-f with a digit */
#define SHARD_WORD_LONG "#long" /* more than SHARD_WORD_MOST bytes */

/* Moves *@at over the next run of letters, digits and bytes outside of ASCII of the folded text;
 * its length, 0 at the end. */
size_t shard_word_next(const char *text, size_t len, size_t *at);
bool shard_word_hex(const char *word, size_t len); /* only 0-9a-f */
/* Under which name it is kept instead; NULL: its own. */
const char *shard_word_instead(const char *word, size_t len);

#endif
