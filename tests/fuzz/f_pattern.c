/* Pattern matching: the input is a pattern, a NUL, a text. Ends within its steps, stays within the text. */
#include <stdlib.h>
#include <string.h>

#include "script/pattern.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
	size_t len = nul ? (size_t)(nul - data) : size;
	if (len > PATTERN_MAX)
		return 0;
	struct item *items = calloc(len + 1, sizeof(*items));
	const char *text = nul ? (const char *)nul + 1 : "";
	size_t text_len = nul ? size - len - 1 : 0;
	if (!items)
		abort();
	if (!pattern_compile((const char *)data, len, items)) {
		struct match m = { .text = text, .text_end = text + text_len, .steps = 20000 };
		for (size_t at = 0; at <= text_len && !m.fault; at++) {
			m.nr_captures = 0;
			const char *end = pattern_match(&m, items, text + at);
			if (end && (end < text + at || end > text + text_len))
				abort();
			for (int i = 0; end && i < m.nr_captures; i++)
				if (m.capture[i].at < text ||
				    m.capture[i].at + (m.capture[i].len > 0 ? m.capture[i].len : 0) > text + text_len)
					abort();
		}
	}
	free(items);
	return 0;
}
