/* A message parses to the same result twice, and survives being written and parsed again. */
#include "wire/jsonrpc.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rpc_msg m, again;
	struct err err = ERR_INIT;
	if (size > 1 << 16)
		return 0;
	int rc = rpc_parse(&m, (const char *)data, size, &err);
	if (rc < 0 && err.code != ERR_PARSE && err.code != ERR_INVALID)
		abort();
	if (rc == 0) {
		struct buf line = BUF_INIT;
		rpc_line(&line, json_incref(m.root));
		if (memchr(line.data, '\n', line.len - 1))
			abort();
		if (rpc_parse(&again, line.data, line.len, &err) < 0 || again.kind != m.kind || !json_equal(again.root, m.root))
			abort();
		rpc_msg_release(&again);
		buf_release(&line);
	}
	rpc_msg_release(&m);
	return 0;
}
