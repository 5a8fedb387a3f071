/* Starting keepers; and the spare, which has its namespaces, its cgroups and a loaded bubblewrap
 * and waits for a box. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "launcher/launcher_priv.h"
#include "wire/keeper.h"

static int make_pair(int *ours, int *theirs, struct err *err)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return err_sys(err, "can't create a socket for the sandbox");
	*ours = ends[0];
	*theirs = ends[1];
	return 0;
}

static int keepers_run(int exe, const struct keeper_want *w, const int *theirs,
		       struct keeper_made *m, bool drop, struct err *err)
{
	int fds[KEEPER_FD_FILTERS + KEEPER_FILTERS_MAX + CGROUP_FDS_MAX] = { -1, -1, 2 },
							 doors[CGROUP_FDS_MAX];
	size_t nr = 3, nr_doors = cgroup_doors(m->cgroup, doors);
	for (int i = 0; i < KEEPER_CHANNELS; i++)
		fds[nr++] = theirs[i];
	for (size_t i = 0; i < w->nr_filters; i++)
		fds[nr++] = w->filter[i];
	for (size_t i = 0; i < nr_doors; i++)
		fds[nr++] = doors[i];
	CLEANUP(free_ptr) char *uid = mem_printf("%u", (unsigned)w->uid);
	CLEANUP(free_ptr) char *gid = mem_printf("%u", (unsigned)w->gid);
	CLEANUP(free_ptr) char *filters = mem_printf("%zu", w->nr_filters);
	CLEANUP(free_ptr) char *doors_nr = mem_printf("%zu", nr_doors);
	char name[] = "sandglass-keeper", *env[] = { NULL },
	     *argv[] = { name, uid, gid, filters, doors_nr, NULL };
	const struct child c = { .exe = exe,
				 .argv = argv,
				 .env = env,
				 .fds = fds,
				 .nr_fds = nr,
				 .drop = drop,
				 .uid = w->uid,
				 .gid = w->gid };
	int rc = launcher_child_start(&c, &m->pid, &m->pidfd, err);
	for (size_t i = 0; i < nr_doors; i++)
		fd_close(&doors[i]);
	return rc;
}

int keeper_make(struct cgroups *cs, int exe, bool drop, const struct keeper_want *w,
		struct keeper_made *out, struct err *err)
{
	struct keeper_made m = { .pidfd = -1, .channel = { -1, -1, -1 } };
	int theirs[KEEPER_CHANNELS] = { -1, -1, -1 }, rc = 0;
	for (int i = 0; i < KEEPER_CHANNELS && rc == 0; i++)
		rc = make_pair(&m.channel[i], &theirs[i], err);
	m.cgroup = rc == 0 ? cgroup_new(cs, err) : NULL;
	if (m.cgroup)
		rc = keepers_run(exe, w, theirs, &m, drop, err);
	for (int i = 0; i < KEEPER_CHANNELS; i++)
		fd_close(&theirs[i]);
	if (!m.cgroup || rc < 0) {
		if (m.cgroup)
			cgroup_remove(m.cgroup);
		cgroup_free(&m.cgroup);
		keeper_close(&m);
		return -1;
	}
	*out = m;
	return 0;
}

void keeper_close(struct keeper_made *m)
{
	fd_close(&m->pidfd);
	for (int i = 0; i < KEEPER_CHANNELS; i++)
		fd_close(&m->channel[i]);
}

/* --- requests --- */

/* bubblewrap reads a filter from where the descriptor stands: each that shares it would begin at
 * the other's end. */
static int keepers_again(int fd)
{
	char path[32];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

struct keeper_want keeper_want_copy(const struct keeper_want *w)
{
	struct keeper_want copy = *w;
	for (size_t i = 0; i < w->nr_filters; i++)
		copy.filter[i] = keepers_again(w->filter[i]);
	return copy;
}

void keeper_want_release(struct keeper_want *w)
{
	for (size_t i = 0; i < w->nr_filters; i++)
		fd_close(&w->filter[i]);
	w->nr_filters = 0;
}

static bool same_bytes(int a, int b)
{
	char x[4096], y[4096];
	for (off_t at = 0;;) {
		ssize_t n = pread(a, x, sizeof(x), at);
		if (n < 0 || n != pread(b, y, sizeof(y), at) || memcmp(x, y, (size_t)n) != 0)
			return false;
		if (n == 0)
			return true;
		at += n;
	}
}

bool keeper_want_equal(const struct keeper_want *a, const struct keeper_want *b)
{
	if (a->uid != b->uid || a->gid != b->gid || a->nr_filters != b->nr_filters)
		return false;
	for (size_t i = 0; i < a->nr_filters; i++)
		if (!same_bytes(a->filter[i], b->filter[i]))
			return false;
	return true;
}
