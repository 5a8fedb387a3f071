/* Fields of gRPC messages: the first line is a path, the rest a body. A found field is inside the body. Overwriting
 * it changes nothing else, and finds the same fields again. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "http/grpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct found {
	uint8_t *body;
	size_t len, bytes;
	unsigned nr;
};

static void on_field(void *self, uint8_t *bytes, size_t len)
{
	struct found *f = self;
	if (bytes < f->body || bytes + len > f->body + f->len)
		abort();
	memset(bytes, ' ', len);
	f->nr++;
	f->bytes += len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nl = size ? memchr(data, '\n', size) : NULL;
	if (!nl || size > 20000)
		return 0;
	CLEANUP(free_ptr) char *path = mem_strndup((const char *)data, (size_t)(nl - data));
	struct found a = { .len = size - (size_t)(nl - data) - 1 }, b;
	CLEANUP(free_ptr) uint8_t *body = mem_alloc(a.len + 1);
	memcpy(body, nl + 1, a.len);
	a.body = body;
	b = a;
	bool good = grpc_each_field(body, a.len, path, on_field, &a);
	if (grpc_each_field(body, b.len, path, on_field, &b) != good || a.nr != b.nr || a.bytes != b.bytes)
		abort();
	return 0;
}
