/* Files in the .git of a foreign repository that are read before a sandbox is opened. Its index: a read past the end
 * would call a secret tracked. Its configuration: no credential is left after cleaning. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "sandbox/view/masks.h"
#include "sandbox/view/masks_git.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char dir[] = "/tmp/sandglass-fuzz-XXXXXX";

static void gone(void)
{
	CLEANUP(free_ptr) char *index = mem_printf("%s/.git/index", dir), *git = mem_printf("%s/.git", dir);
	unlink(index);
	rmdir(git);
	rmdir(dir);
}

static int folder(void)
{
	static int fd = -1;
	if (fd >= 0)
		return fd;
	fd = mkdtemp(dir) ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (fd < 0 || mkdirat(fd, ".git", 0700) < 0)
		abort();
	atexit(gone);
	return fd;
}

static void as_index(const uint8_t *data, size_t size)
{
	struct err err = ERR_INIT;
	int fd = openat(folder(), ".git/index", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || fd_write_all(fd, data, size, &err) < 0)
		abort();
	fd_close(&fd);
	struct tracked *t = tracked_read(folder());
	if (tracked_has(t, "a/b") && !tracked_below(t, "a"))
		abort();
	tracked_free(&t);
}

static void as_config(const char *text, size_t len)
{
	CLEANUP(buf_release) struct buf once = BUF_INIT, twice = BUF_INIT;
	bool changed = masks_clean_config(text, len, &once);
	if (!changed && (once.len != len || (len && memcmp(once.data, text, len) != 0)))
		abort();
	if (once.len > len || masks_clean_config(buf_cstr(&once), once.len, &twice))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 1 << 16)
		return 0;
	CLEANUP(free_ptr) char *copy = mem_dup(size ? (const char *)data : "", size);
	as_config(copy, size);
	if (size >= 4 && memcmp(data, "DIRC", 4) == 0)
		as_index(data, size);
	return 0;
}
