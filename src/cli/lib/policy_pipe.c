#include "cli/lib/policy_pipe.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/paths.h"

enum { POLICY_MAX = 1 << 20, POLICY_US = 10 * 1000000, NAME_BYTES = 16 };

/* The descriptor that @path names; -1: none. */
static int policy_descriptor(const char *path)
{
	static const char *const before[] = { "/dev/fd/", "/proc/self/fd/" };
	if (!strcmp(path, "/dev/stdin"))
		return STDIN_FILENO;
	for (size_t i = 0; i < ARRAY_LEN(before); i++) {
		const char *nr = path + strlen(before[i]);
		if (!strncmp(path, before[i], strlen(before[i])) && *nr && strlen(nr) < 6 &&
		    strspn(nr, "0123456789") == strlen(nr))
			return atoi(nr);
	}
	return -1;
}

static int policy_pipe_read(int fd, struct buf *out, struct err *err)
{
	const int64_t end = clock_awake_us() + POLICY_US;
	struct stat st;
	if (fstat(fd, &st) < 0 || S_ISDIR(st.st_mode))
		return err_set(err, ERR_INVALID, "descriptor %d is not open for reading", fd);
	for (;;) {
		char bytes[16384];
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int64_t left = (end - clock_awake_us()) / 1000;
		int rc = left > 0 ? poll(&p, 1, (int)left) : 0;
		if (rc < 0 && errno == EINTR)
			continue;
		if (rc == 0)
			return err_set(err, ERR_TIMEOUT, "it didn't end within %d s",
				       POLICY_US / 1000000);
		ssize_t n = read(fd, bytes, sizeof(bytes));
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return err_sys(err, "can't read");
		if (n == 0)
			return out->len ? 0 : err_set(err, ERR_INVALID, "it is empty");
		buf_append(out, bytes, (size_t)n);
		if (out->len > POLICY_MAX)
			return err_set(err, ERR_FULL, "more than %d bytes", POLICY_MAX);
	}
}

int policy_pipe_keep(const char *path, char **out, struct err *err)
{
	int fd = policy_descriptor(path);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(buf_release) struct buf name = BUF_INIT;
	CLEANUP(free_ptr) char *dir = paths_state("policies");
	struct hash h;
	*out = NULL;
	if (fd < 0) {
		*out = mem_strdup(path);
		return 0;
	}
	if (policy_pipe_read(fd, &text, err) < 0)
		return err_wrap(err, "--policy: '%s'", path);
	hash_of(text.data, text.len, &h);
	hex_append(&name, h.b, NAME_BYTES);
	buf_puts(&name, ".lua");
	char *file = path_join(dir, buf_cstr(&name));
	if (dir_make(dir, 0700, err) < 0 ||
	    file_write_atomic(file, text.data, text.len, 0600, err) < 0) {
		free(file);
		return -1;
	}
	*out = file;
	return 0;
}
