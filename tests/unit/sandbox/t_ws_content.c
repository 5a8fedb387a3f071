/* The name of a file's content is the same with holes and without. */
#include "tap.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/workspace/content.h"

enum { SIZE = 3 << 20 };

static struct ws_state look(int fd, bool hash_only)
{
	struct ws_state s;
	CLEANUP(buf_release) struct buf bytes = BUF_INIT;
	struct stat st;
	content_file(fd, (struct content_rule){ .keep_max = SIZE, .hash_only = hash_only }, &s, &bytes, &st);
	ok(bytes.len == (hash_only ? 0 : SIZE), "%zu bytes are kept", bytes.len);
	return s;
}

/* A file of holes but for the byte at each of @at. */
static void holes(const char *what, const off_t *at, size_t nr)
{
	char name[] = "/tmp/t_ws_content.XXXXXX";
	CLEANUP(fd_close) int fd = mkstemp(name);
	struct stat st;
	ok(fd >= 0 && unlink(name) == 0 && ftruncate(fd, SIZE) == 0, "a sparse file");
	for (size_t i = 0; i < nr; i++)
		ok(pwrite(fd, "x", 1, at[i]) == 1, "a byte at %lld", (long long)at[i]);
	ok(fstat(fd, &st) == 0 && st.st_blocks * 512 < SIZE, "%s: it takes %lld blocks", what, (long long)st.st_blocks);
	struct ws_state kept = look(fd, false), hashed = look(fd, true);
	ok(!(kept.flags & WS_UNREADABLE) && !memcmp(&kept.oid, &hashed.oid, sizeof(kept.oid)), "%s: one name", what);
	ok(hashed.size == SIZE && hashed.flags == WS_HASH_ONLY, "%s: %llu bytes", what, (unsigned long long)hashed.size);
}

int main(void)
{
	static const off_t some[] = { 1234567, 2000000, SIZE - 70001 };
	static const off_t ends[] = { 0, SIZE - 1 };
	holes("a hole at both ends", some, ARRAY_LEN(some));
	holes("a byte at both ends", ends, ARRAY_LEN(ends));
	holes("nothing but a hole", NULL, 0);
	return done_testing();
}
