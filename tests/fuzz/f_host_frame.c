/* Arbitrary frames to a Lua host: the input is a series of frames after a START. The host ends in order or
 * continues, without a crash. Lua code in a frame is a script, so module texts run, too. */
#include <stdlib.h>
#include <string.h>

#include "script/host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static NORETURN void exhausted(void *self, const struct buf *out)
{
	(void)self, (void)out;
	exit(0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char start[] = "{\"t\":1,\"mode\":\"script\",\"script\":\"f.lua\",\"text\":\"\",\"seed\":\"1\"}";
	/* A boot module that takes every frame and sends it back: the codec both ways without the library's own rules.
	 */
	static const char boot[] = "{\"t\":1,\"value\":{\"text\":\"local core = ... return function(kind, id, body) "
				   "pcall(core.send, 'tell', id, { kind = kind, body = body }) return 0 end\"}}";
	struct host *h = script_host_new(exhausted, NULL);
	struct buf out = BUF_INIT;
	struct err err = ERR_INIT;
	struct frame f = { .type = HOST_START, .body = start, .len = sizeof(start) - 1 };
	bool more = host_feed(h, &f, &out);
	f = (struct frame){ .type = HOST_ANSWER, .id = 1, .body = boot, .len = sizeof(boot) - 1 };
	more = more && host_feed(h, &f, &out);
	for (size_t at = 0, used = 0; more && at < size; at += used) {
		if (frame_parse((const char *)data + at, size - at, 1 << 20, &f, &used, &err) != 1)
			break;
		buf_reset(&out);
		more = host_feed(h, &f, &out);
	}
	buf_release(&out);
	script_host_free(&h);
	return 0;
}
