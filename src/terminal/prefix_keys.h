/* Finds the prefix key in typed input, in the encodings in which terminals send a control key:
 * its byte, CSI u of the kitty protocol, or that of modifyOtherKeys. Pasted text is never
 * searched. All else passes unchanged. */
#ifndef TERMINAL_PREFIX_KEYS_H
#define TERMINAL_PREFIX_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct prefix_keys {
	int prefix; /* 1 to 31 */
	bool pasting;
	char begun[32]; /* of a sequence that could be the key; waits for the rest of it */
	size_t nr_begun;
};

/* Appends to @out what comes before the key, or all of it. Returns how many of @len bytes were
 * taken; true in *hit when the last of them were the key. */
size_t prefix_keys_scan(struct prefix_keys *k, const char *bytes, size_t len, struct buf *out,
			bool *hit);
/* The rest did not come in time: an incomplete sequence passes. */
void prefix_keys_flush(struct prefix_keys *k, struct buf *out);
/* "C-\\", "C-b", "^]": the byte; 0 when it is none. */
int prefix_keys_parse(const char *text);
/* "Ctrl-\\". */
void prefix_keys_name(int prefix, char out[16]);

#endif
