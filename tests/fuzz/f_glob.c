/* A rule's pattern against a word, a path, or a host. With a partly known text, it never says no if it says yes for
 * the full text. First byte: which of the three; then the pattern, a NUL, the text. */
#include <stdlib.h>
#include <string.h>

#include "action/glob.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = size > 1 ? memchr(data + 1, 0, size - 1) : NULL;
	if (!nul || size > 2000)
		return 0;
	enum glob_kind kind = (enum glob_kind)(data[0] % 3);
	const char *pattern = (const char *)data + 1;
	size_t len = size - (size_t)(nul - data) - 1;
	CLEANUP(free_ptr) char *text = mem_dup((const char *)nul + 1, len);
	bool yes = glob_match(kind, pattern, text, len);
	for (size_t cut = 0; cut <= len; cut += 1 + len / 7)
		for (size_t end = cut; end <= len; end += 1 + len / 5) {
			enum glob_answer a = glob_match_unknown(kind, pattern, text, cut, text + end, len - end);
			if ((a == GLOB_NO && yes) || (a == GLOB_YES && !yes))
				abort();
		}
	return 0;
}
