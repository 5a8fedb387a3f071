/* Tokens that open something, recognized by their shape: a fixed beginning, an alphabet, a length
 * and, where the vendor has one, check digits or a structure that must hold. Values with the look
 * of a placeholder (EXAMPLE, one letter again and again) are none. Pure: no I/O, no memory. */
#ifndef RECORD_LIVE_TOKEN_H
#define RECORD_LIVE_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

enum { LIVE_TOKEN_MAX = 2048 };

struct live_token {
	const char *shape; /* static: "github", "aws access key", ... */
	size_t off, len;
};

/* The first one in @text from @from on. Linear. */
bool live_token_find(const char *text, size_t len, size_t from, struct live_token *out);
/* The same for one that begins before @until. */
bool live_token_find_before(const char *text, size_t len, size_t from, size_t until,
			    struct live_token *out);
/* Bytes of a token with all that belongs to it: of a private key, all lines to its end. 0: the end
 * isn't in @text yet. */
size_t live_token_whole(const char *text, size_t len, const struct live_token *t);
/* Bytes at the end of @text that could be the beginning of a token, if at least @least of its
 * fixed beginning are there. */
size_t live_token_pending(const char *text, size_t len, size_t least);
size_t live_token_shapes(void); /* how many shapes are known */

#endif
