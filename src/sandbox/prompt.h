/* The line that a program printed last: does it ask for a secret? For terminals whose echo cannot
 * be known. */
#ifndef SANDBOX_PROMPT_H
#define SANDBOX_PROMPT_H

#include <stdbool.h>
#include <stddef.h>

struct prompt {
	char tail[80]; /* its last bytes, lower case, without control characters */
	size_t len;
};

void prompt_feed(struct prompt *p, const void *bytes, size_t len);
/* "Password:", "Enter passphrase for key 'x': ", "PIN? " */
bool prompt_secret(const struct prompt *p);

#endif
