/* How many processes the memory limit of the box has killed. The kernel counts it where the limit
 * is: for the whole of a virtual machine, or for the control group that a container is. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "guest/guest_priv.h"

enum { TEXT_MAX = 4096 };
#define GROUPS	 "/sys/fs/cgroup"
#define NO_LIMIT (1ULL << 60) /* version 1 writes a number of pages near the largest */

static bool oom_read_text(int fd, char text[TEXT_MAX])
{
	ssize_t n = fd < 0 ? -1 : pread(fd, text, TEXT_MAX - 1, 0);
	text[n < 0 ? 0 : n] = 0;
	return n > 0;
}

static int oom_open_in(const char *root, const char *path, const char *name)
{
	CLEANUP(free_ptr) char *file = mem_printf("%s%s/%s", root, path, name);
	return open(file, O_RDONLY | O_CLOEXEC);
}

static bool oom_limited(const char *root, const char *path)
{
	char text[TEXT_MAX];
	CLEANUP(fd_close) int fd = oom_open_in(root, path, "memory.limit_in_bytes");
	return oom_read_text(fd, text) && strtoull(text, NULL, 10) < NO_LIMIT;
}

/* @line: "0::/path", or "4:memory:/path" of version 1; the group is often mounted as if it were the
 * root. */
static int open_group(const char *line)
{
	const char *name = strchr(line, ':'), *path = name ? strchr(name + 1, ':') : NULL;
	if (!path)
		return -1;
	const char *const places[] = { path[2] ? path + 1 : "", "" };
	bool unified = name + 1 == path, memory = !strncmp(name, ":memory:", 8);
	int fd = -1;
	for (size_t i = 0; fd < 0 && i < ARRAY_LEN(places); i++)
		if (unified)
			fd = oom_open_in(GROUPS, places[i], "memory.events");
		else if (memory && oom_limited(GROUPS "/memory", places[i]))
			fd = oom_open_in(GROUPS "/memory", places[i], "memory.oom_control");
	return fd;
}

int inner_oom_open(bool machine)
{
	char text[TEXT_MAX];
	int fd = -1;
	if (machine)
		return open("/proc/vmstat", O_RDONLY | O_CLOEXEC);
	CLEANUP(fd_close) int own = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
	if (!oom_read_text(own, text))
		return -1;
	for (char *rest = text, *line; fd < 0 && (line = strsep(&rest, "\n"));)
		fd = open_group(line);
	return fd;
}

uint32_t inner_oom_killed(const struct inner *g)
{
	CLEANUP(buf_release) struct buf all = BUF_INIT;
	ssize_t n;
	char text[TEXT_MAX];
	while (g->oom_fd >= 0 && (n = pread(g->oom_fd, text, sizeof(text), (off_t)all.len)) > 0)
		buf_append(&all, text, (size_t)n);
	for (const char *p = buf_cstr(&all); p; p = strchr(p, '\n'), p = p ? p + 1 : p)
		if (!strncmp(p, "oom_kill ", 9))
			return (uint32_t)strtoul(p + 9, NULL, 10);
	return GUEST_OOM_UNKNOWN;
}
