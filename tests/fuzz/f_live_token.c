/* Live tokens in output and files: each is within the text, and whatever piece of it has come waits for the rest. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "record/live_token.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_pieces(const char *text, const struct live_token *t)
{
	for (size_t cut = t->off + 1; cut < t->off + t->len; cut++)
		if (live_token_pending(text, cut, 1) < cut - t->off)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct live_token t;
	size_t from = 0;
	if (size > 1 << 13)
		return 0;
	while (live_token_find(text, size, from, &t)) {
		if (!t.shape || !t.len || t.len > LIVE_TOKEN_MAX || t.off < from || t.off + t.len > size)
			abort();
		size_t whole = live_token_whole(text, size, &t);
		if (whole && (whole < t.len || t.off + whole > size))
			abort();
		check_pieces(text, &t);
		from = t.off + t.len;
	}
	if (live_token_pending(text, size, 1) > size || live_token_pending(text, size, 3) > live_token_pending(text, size, 1))
		abort();
	return 0;
}
