/* A segment of a damaged or foreign session file: exactly as many bytes as it says, or ERR_DAMAGED; and what we pack is what
 * we get back. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "record/read/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = ERR_INIT;
	CLEANUP(buf_release) struct buf out = BUF_INIT, packed = BUF_INIT, again = BUF_INIT;
	if (size < 3 || size > 1 << 16)
		return 0;
	size_t says = (size_t)(data[1] | data[2] << 8);
	int rc = codec_unpack(data[0] & 1 ? CODEC_ZSTD : CODEC_RAW, data + 3, size - 3, says, &out, &err);
	if (rc == 0 ? out.len != says : err.code != ERR_DAMAGED)
		abort();
	enum codec how = codec_pack(NULL, data, size, &packed);
	if (codec_unpack(how, how == CODEC_RAW ? (const char *)data : packed.data, how == CODEC_RAW ? size : packed.len, size, &again, &err) < 0 ||
	    again.len != size || memcmp(again.data, data, size) != 0)
		abort();
	return 0;
}
