/* Output of terminal programs as words: no controls come out, and at most a few times the bytes. */
#include <assert.h>
#include <stdint.h>

#include "base/text/screen_words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf out = BUF_INIT;
	screen_words((const char *)data, size, &out);
	assert(out.len <= 3 * size + 256);
	for (size_t i = 0; i < out.len; i++)
		assert((unsigned char)out.data[i] >= ' ' || out.data[i] == '\n' ||
		       out.data[i] == '\t');
	buf_release(&out);
	return 0;
}
