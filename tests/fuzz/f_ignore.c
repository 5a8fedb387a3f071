/* Patterns of a .gitignore against paths: ends soon, reads nothing outside of both. First line: the pattern; the rest: the
 * path. */
#include <stdlib.h>
#include <string.h>

#include "sandbox/workspace/ignore.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nl = size ? memchr(data, '\n', size) : NULL;
	if (!nl || size > 400)
		return 0;
	/* copies of the exact lengths, so that one byte too far is seen */
	size_t p = (size_t)(nl - data), t = size - p - 1;
	char *pattern = malloc(p + 1), *text = malloc(t + 1);
	memcpy(pattern, data, p);
	memcpy(text, nl + 1, t);
	char *exact_p = realloc(pattern, p ? p : 1), *exact_t = realloc(text, t ? t : 1);
	(void)ignore_glob(exact_p, p, exact_t, t);
	const char *more[1];
	char *z = strndup(exact_p, p);
	more[0] = z;
	struct ignore *ig = ignore_new(-1, more, 1);
	if (t)
		(void)ignore_covers(ig, exact_t, t, false);
	ignore_free(&ig);
	free(z);
	free(exact_p);
	free(exact_t);
	return 0;
}
