/* UTF-8: valid text is written again byte for byte; no read past the end; progress at each step. */
#include <stdlib.h>
#include <string.h>

#include "base/text/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool good = true;
	size_t used;
	for (size_t i = 0; i < size; i += used) {
		uint32_t cp;
		char back[4];
		enum utf8_result r = utf8_next(data + i, size - i, &cp, &used);
		if (used == 0 || used > size - i)
			abort();
		good = good && r == UTF8_OK;
		if (r == UTF8_PARTIAL && i + used != size)
			abort();
		if (r != UTF8_OK)
			continue;
		if (cp > 0x10ffff || (cp >= 0xd800 && cp < 0xe000) || utf8_put(cp, back) != used ||
		    memcmp(back, data + i, used) != 0)
			abort();
	}
	if (good != utf8_valid(data, size))
		abort();
	return 0;
}
