#include "wire/groups.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"

#define PREFIX "sandglass-"
enum { DEPTH_MAX = 32 };

/* A descriptor with the lock on @dir, -1 if another process has it. */
static int groups_hold(const char *dir, int flags)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && flock(fd, LOCK_EX | flags) < 0)
		fd_close(&fd);
	return fd;
}

char *groups_make(const char *base, int *lock_out)
{
	CLEANUP(free_ptr) char *dir = mem_printf("%s/" PREFIX "%d", base, (int)getpid());
	/* before it is held another launcher may take it for an abandoned one */
	for (int tries = 0; tries < 3; tries++) {
		if (mkdir(dir, 0755) < 0 && errno != EEXIST)
			return NULL;
		int lock = groups_hold(dir, 0);
		if (lock >= 0 && access(dir, F_OK) == 0) {
			*lock_out = lock;
			return take(&dir);
		}
		fd_close(&lock);
	}
	return NULL;
}

bool groups_of_box(const char *path)
{
	for (const char *p = path; (p = strstr(p, "/" PREFIX)); p++) {
		const char *digits = p + strlen("/" PREFIX);
		size_t n = strspn(digits, "0123456789");
		if (n && strncmp(digits + n, "/b", 2) == 0 && digits[n + 2] >= '0' &&
		    digits[n + 2] <= '9')
			return true;
	}
	return false;
}

/* A launcher that was built before there was the lock. */
static bool older_launcher(int pid)
{
	char path[32], name[32] = "";
	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && read(fd, name, sizeof(name) - 1) > 0 &&
	       strncmp(name, "sandglass-launc", 15) == 0;
}

struct walk {
	groups_fn *fn;
	void *self;
};

static void groups_meet(const struct walk *w, const char *dir, const char *name)
{
	int pid = 0, end = 0;
	if (sscanf(name, PREFIX "%d%n", &pid, &end) != 1 || name[end])
		return;
	CLEANUP(fd_close) int lock = groups_hold(dir, LOCK_NB);
	w->fn(w->self, dir, lock < 0 || older_launcher(pid));
}

static void groups_look(const struct walk *w, const char *dir, int depth)
{
	DIR *d = depth < DEPTH_MAX ? opendir(dir) : NULL;
	const struct dirent *e;
	while (d && (e = readdir(d))) {
		if (e->d_type != DT_DIR || strcmp(e->d_name, ".") == 0 ||
		    strcmp(e->d_name, "..") == 0)
			continue;
		CLEANUP(free_ptr) char *below = path_join(dir, e->d_name);
		groups_look(w, below, depth + 1);
		groups_meet(w, below, e->d_name);
	}
	if (d)
		closedir(d);
}

void groups_each(groups_fn *fn, void *self)
{
	const struct walk w = { .fn = fn, .self = self };
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	char text[8192];
	for (struct mntent m; mounts && getmntent_r(mounts, &m, text, sizeof(text));)
		if (strcmp(m.mnt_type, "cgroup") == 0 || strcmp(m.mnt_type, "cgroup2") == 0)
			groups_look(&w, m.mnt_dir, 0);
	if (mounts)
		endmntent(mounts);
}
