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
size_t live_token_shapes(void); /* how many shapes are known */

#endif
