/* The file of a git object, and a commit in it: refused, or with a tree and without a line end behind its message. First
 * byte even: the rest is the file; odd: the rest is the text in it. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "sandbox/workspace/loose.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(buf_release) struct buf file = BUF_INIT, text = BUF_INIT;
	struct loose_commit c;
	enum loose_type type;
	if (size < 1 || size > 100000)
		return 0;
	if (data[0] & 1) {
		uLongf len = compressBound(size);
		CLEANUP(free_ptr) char *packed = mem_calloc(1, len);
		if (compress((Bytef *)packed, &len, data + 1, size - 1) != Z_OK)
			abort();
		buf_append(&file, packed, len);
	} else {
		buf_append(&file, data + 1, size - 1);
	}
	if (!loose_read(&file, 50000, &type, &text) || type != LOOSE_COMMIT ||
	    !loose_commit_read(&c, &text))
		return 0;
	if (object_is_null(&c.tree) || !c.message || (*c.message && c.message[strlen(c.message) - 1] == '\n'))
		abort();
	loose_commit_release(&c);
	return 0;
}
