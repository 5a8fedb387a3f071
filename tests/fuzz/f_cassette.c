/* A cassette from an untrusted repository: refused with a reason, or each of its requests has an answer whose chunks
 * can be played. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "models/cassette.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void play(const json_t *answer)
{
	const json_t *chunks = json_object_get(answer, "chunks"), *chunk;
	size_t i;
	json_array_foreach(chunks, i, chunk) {
		CLEANUP(buf_release) struct buf bytes = BUF_INIT;
		if (!json_is_integer(json_array_get(chunk, 0)))
			abort();
		if (!json_get_bytes(json_array_get(chunk, 1), &bytes))
			abort();
	}
}

static void ask_each(struct cassette *c, const char *at, const char *end)
{
	at = memchr(at, '\n', (size_t)(end - at));
	while (at && ++at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		struct err err = ERR_INIT;
		CLEANUP(json_release) json_t *line = json_parse(at, (size_t)((stop ? stop : end) - at), "line", &err);
		const json_t *request = json_object_get(line, "request");
		if (request) {
			CLEANUP(free_ptr) char *body = json_dump_str(request);
			const json_t *answer = cassette_find(c, json_str(line, "path", ""), body, strlen(body), &err);
			if (!answer)
				abort();
			play(answer);
		}
		at = stop;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cassette *c;
	struct err err = ERR_INIT;
	char path[64];
	hash_init();
	if (size > 1 << 15)
		return 0;
	CLEANUP(fd_close) int fd = memfd_create("cassette", MFD_CLOEXEC);
	if (fd < 0 || fd_write_all(fd, data, size, &err) < 0)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (cassette_open(&c, path, false, &err) < 0) {
		if (!err.text[0])
			abort();
		return 0;
	}
	ask_each(c, (const char *)data, (const char *)data + size);
	if (cassette_find(c, "/none such", "{}", 2, &err) || !err.text[0])
		abort();
	cassette_free(&c);
	return 0;
}
