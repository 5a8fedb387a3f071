/* Does an event of a model's stream differ from the one before only in its text? Such a stream is
 * thousands of events that differ in one string (with some providers also in a number and in
 * padding); parsing each of them would be most of the proxy's work. No I/O.
 *
 *  1. An event may be learned once it has been parsed and its only effect was text (@words). The
 *     places of that text, and of the values of "sequence_number" and "obfuscation", are holes; the
 *     rest is kept byte for byte.
 *  2. An event is alike if it has the same bytes around the holes, and in them a number or a string
 *     of valid UTF-8 (the text also with escapes of one letter): parsing it would give the same
 *     except for those values.
 *  3. Uncertain events (an escape anywhere, text that occurs twice) are not learned. */
#ifndef PROXY_SSE_TEMPLATE_H
#define PROXY_SSE_TEMPLATE_H

#include "base/buf.h"

struct alike {
	struct buf event; /* the learned one; empty: none */
	struct alike_hole {
		size_t at, len; /* of a string: without its quotes */
		bool words;
	} hole[3]; /* in their order */
	size_t nr;
	struct buf plain; /* words without their escapes */
};

void sse_template_release(struct alike *k);
void sse_template_forget(struct alike *k);
/* Learns the event @raw, or forgets what it knew if rule 3 forbids it. */
void sse_template_learn(struct alike *k, const char *raw, size_t len, const char *words,
			size_t nr_words);
/* Is @raw alike? *@words then is what it says, until the next call. */
bool sse_template_words(struct alike *k, const char *raw, size_t len, const char **words,
			size_t *nr_words);

#endif
