/* Would a process of a sandbox find a program of that name? From outside, /proc answers for the
 * caller and not for the process, so the name is walked as the kernel walks it for the process, one
 * directory at a time; a path through a /proc counts as found. Only names are opened. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <linux/magic.h>

#include "base/fd.h"
#include "base/mem.h"
#include "sandbox/trace.h"

enum { STEPS_MAX = 256, LINKS_MAX = 40, FOLDER = O_PATH | O_DIRECTORY | O_CLOEXEC };

enum found { MISSING, THERE, ON };

struct walk {
	int root, at;
	char *rest; /* of the name */
	int links;
};

static int trace_there_folder_of(int pid, const char *what)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/%s", pid, what);
	return open(path, FOLDER);
}

static enum found trace_there_move(struct walk *w, int to)
{
	if (to < 0)
		/* or it cannot be asked */
		return errno == ENOENT || errno == ENOTDIR ? MISSING : THERE;
	fd_close(&w->at);
	w->at = to;
	return ON;
}

/* No process leaves its root by "..": -1, if that cannot be known. */
static int at_root(const struct walk *w)
{
	struct statx a, b;
	const unsigned want = STATX_INO | STATX_MNT_ID;
	if (statx(w->at, "", AT_EMPTY_PATH, want, &a) < 0 ||
	    statx(w->root, "", AT_EMPTY_PATH, want, &b) < 0 ||
	    (a.stx_mask & b.stx_mask & want) != want)
		return -1;
	return a.stx_ino == b.stx_ino && a.stx_mnt_id == b.stx_mnt_id &&
	       a.stx_dev_major == b.stx_dev_major && a.stx_dev_minor == b.stx_dev_minor;
}

static enum found trace_there_up(struct walk *w)
{
	int top = at_root(w);
	return top < 0 ? THERE : top ? ON : trace_there_move(w, openat(w->at, "..", FOLDER));
}

/* The link's target comes before the rest. */
static enum found trace_there_follow(struct walk *w, int link)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(link, "", target, sizeof target - 1);
	if (n <= 0 || n == sizeof target - 1 || w->links++ == LINKS_MAX)
		return THERE;
	target[n] = 0;
	char *rest = mem_printf("%s/%s", target, w->rest);
	free(w->rest);
	w->rest = rest;
	return *target == '/' ? trace_there_move(w, openat(w->root, ".", FOLDER)) : ON;
}

static enum found trace_there_down(struct walk *w, const char *name)
{
	struct stat st;
	int fd = openat(w->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || (fstat(fd, &st) == 0 && !S_ISLNK(st.st_mode)))
		return trace_there_move(w, fd);
	enum found f = trace_there_follow(w, fd);
	fd_close(&fd);
	return f;
}

static enum found trace_there_step(struct walk *w)
{
	struct statfs fs;
	if (fstatfs(w->at, &fs) < 0 || fs.f_type == PROC_SUPER_MAGIC)
		return THERE;
	size_t slashes = strspn(w->rest, "/"), len = strcspn(w->rest + slashes, "/");
	if (!len)
		return THERE;
	CLEANUP(free_ptr) char *name = mem_strndup(w->rest + slashes, len);
	memmove(w->rest, w->rest + slashes + len, strlen(w->rest + slashes + len) + 1);
	if (!strcmp(name, "."))
		return ON;
	return strcmp(name, "..") ? trace_there_down(w, name) : trace_there_up(w);
}

bool trace_there(int pid, const char *path)
{
	struct walk w = { .root = trace_there_folder_of(pid, "root") };
	w.at = *path == '/' ? openat(w.root, ".", FOLDER) : trace_there_folder_of(pid, "cwd");
	w.rest = mem_strdup(path);
	enum found f = w.root < 0 || w.at < 0 ? THERE : ON;
	for (int i = 0; f == ON && i < STEPS_MAX; i++)
		f = trace_there_step(&w);
	fd_close(&w.root);
	fd_close(&w.at);
	free(w.rest);
	return f != MISSING;
}
