#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "launcher/launcher_priv.h"
#include "wire/groups.h"

/* What a hierarchy is used for. One directory of version 2 may serve as all of them; in hybrid
 * set-ups the controllers are version 1, and the unified hierarchy, which has none, freezes and
 * kills only where version 1 cannot: going into one of its groups waits for a grace period of the
 * kernel (10 ms), into one of version 1 it need not. */
enum role { ROLE_MEM, ROLE_PIDS, ROLE_CPU, ROLE_ACCT, ROLE_FREEZER, ROLE_UNIFIED, ROLES };
static const char *const cgroup_controller[ROLES] = { "memory",	 "pids",    "cpu",
						      "cpuacct", "freezer", "" };

enum { KEPT_BYTES = 512 << 20 };

struct cgroups {
	char *dir[ROLES]; /* ours in that hierarchy: .../sandglass-PID; NULL: not usable */
	int lock[ROLES];  /* held on it, -1 none */
	uint64_t made;	  /* boxes, for their names */
	bool v2;	  /* the controllers are in ROLE_UNIFIED */
	char why[200];
};
struct cgroup {
	const struct cgroups *cs; /* borrowed */
	char *dir[ROLES];
};

static int cgroup_put(const char *dir, const char *file, const char *text)
{
	CLEANUP(free_ptr) char *path = mem_printf("%s/%s", dir, file);
	CLEANUP(fd_close) int fd = open(path, O_WRONLY | O_CLOEXEC);
	size_t len = strlen(text);
	return fd >= 0 && write(fd, text, len) == (ssize_t)len ? 0 : -1;
}

static int cgroup_put_number(const char *dir, const char *file, int64_t n)
{
	char text[32];
	snprintf(text, sizeof(text), "%lld", (long long)n);
	return cgroup_put(dir, file, text);
}

static bool cgroup_get(const char *dir, const char *file, char *out, size_t cap)
{
	CLEANUP(free_ptr) char *path = mem_printf("%s/%s", dir, file);
	CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, cap - 1);
	if (n < 0)
		return false;
	out[n] = 0;
	return true;
}

/* The number after "KEY " at the start of a line (KEY NULL: the whole file); -1 if there is
 * none. */
static int64_t cgroup_get_number(const char *dir, const char *file, const char *key)
{
	char text[4096];
	if (!dir || !cgroup_get(dir, file, text, sizeof(text)))
		return -1;
	char *rest = text;
	for (char *line; (line = strsep(&rest, "\n"));) {
		size_t n = key ? strlen(key) : 0;
		if (!key || (strncmp(line, key, n) == 0 && line[n] == ' '))
			return strtoll(line + n, NULL, 10);
	}
	return -1;
}

/* --- finding the hierarchies --- */

/* Our own path in the hierarchy that has @name ("" = unified), from /proc/self/cgroup. */
static char *own_path(const char *name)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err ignored = ERR_INIT;
	if (file_read("/proc/self/cgroup", &text, 1 << 20, &ignored) < 0)
		return NULL;
	char *rest = text.data;
	for (char *line; (line = strsep(&rest, "\n"));) {
		strsep(&line, ":");
		char *names = line ? strsep(&line, ":") : NULL;
		if (!names || !line)
			continue;
		if (!*name && !*names)
			return mem_strdup(line);
		for (char *one; *name && (one = strsep(&names, ","));)
			if (strcmp(one, name) == 0)
				return mem_strdup(line);
	}
	return NULL;
}

static bool cgroup_has_word(const char *list, const char *word)
{
	size_t n = strlen(word);
	for (const char *p = list; (p = strstr(p, word)); p += n)
		if ((p == list || p[-1] == ',') && (p[n] == 0 || p[n] == ','))
			return true;
	return false;
}

/* Where the hierarchy of @name is mounted, from /proc/self/mountinfo. */
static char *mount_of(const char *name)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err ignored = ERR_INIT;
	if (file_read("/proc/self/mountinfo", &text, 4 << 20, &ignored) < 0)
		return NULL;
	char *rest = text.data, *found = NULL;
	for (char *line; (line = strsep(&rest, "\n"));) {
		char *tail = strstr(line, " - "), *at = NULL;
		for (int i = 0; tail && i < 5; i++)
			at = strsep(&line, " ");
		if (!tail || !at)
			continue;
		char *type = tail + 3, *more = strchr(type, ' ');
		if (!more)
			continue;
		*more++ = 0;
		char *super = strchr(more, ' ');
		bool fits = *name ? strcmp(type, "cgroup") == 0 && super &&
					    cgroup_has_word(super + 1, name)
				  : strcmp(type, "cgroup2") == 0;
		if (fits) {
			free_ptr(&found); /* the last one lies on top */
			found = mem_strdup(at);
		}
	}
	return found;
}

/* The directory below which we may make ours: our own cgroup, or the root of the hierarchy where
 * root needs it (a group of version 2 that has processes cannot hand controllers down). */
static char *base_of(const char *name, bool at_root)
{
	CLEANUP(free_ptr) char *mnt = mount_of(name);
	CLEANUP(free_ptr) char *own = own_path(name);
	if (!mnt)
		return NULL;
	char *below = mem_printf("%s%s", mnt, own && !at_root && strcmp(own, "/") != 0 ? own : "");
	if (access(below, W_OK) == 0)
		return below;
	free(below);
	return access(mnt, W_OK) == 0 ? mem_strdup(mnt) : NULL;
}

static char *make_ours(const char *name, bool at_root, int *lock_out)
{
	CLEANUP(free_ptr) char *base = base_of(name, at_root);
	if (!base)
		return NULL;
	if (!*name)
		/* what cannot be is seen below */
		cgroup_put(base, "cgroup.subtree_control", "+memory +pids +cpu");
	return groups_make(base, lock_out);
}

/* However many sandboxes a session has, and whatever their limits: some memory stays the host's.
 * Two sessions have a bound each. */
static void bound_all(struct cgroups *cs)
{
	struct sysinfo si;
	if (sysinfo(&si) < 0)
		return;
	int64_t all = (int64_t)((uint64_t)si.totalram * si.mem_unit), keep = all / 20;
	keep = keep < KEPT_BYTES ? KEPT_BYTES : keep;
	if (all <= 2 * keep)
		keep = all / 4;
	int rc = cs->v2 ? cgroup_put_number(cs->dir[ROLE_UNIFIED], "memory.max", all - keep)
			: cgroup_put_number(cs->dir[ROLE_MEM], "memory.limit_in_bytes", all - keep);
	if (rc < 0)
		snprintf(cs->why, sizeof(cs->why),
			 "memory is bounded for each sandbox, but not for all together");
}

struct cgroups *cgroups_new(void)
{
	struct cgroups *cs = NEW(struct cgroups);
	for (int r = 0; r < ROLES; r++)
		cs->lock[r] = -1;
	cs->dir[ROLE_UNIFIED] = make_ours("", geteuid() == 0, &cs->lock[ROLE_UNIFIED]);
	if (cs->dir[ROLE_UNIFIED]) {
		cgroup_put(cs->dir[ROLE_UNIFIED], "cgroup.subtree_control", "+memory +pids +cpu");
		char have[256] = "";
		cgroup_get(cs->dir[ROLE_UNIFIED], "cgroup.subtree_control", have, sizeof(have));
		cs->v2 = strstr(have, "memory") && strstr(have, "pids");
	}
	if (!cs->v2)
		for (int r = 0; r < ROLE_UNIFIED; r++)
			cs->dir[r] = make_ours(cgroup_controller[r], false, &cs->lock[r]);
	if (!cs->v2 && cs->dir[ROLE_FREEZER] && cs->dir[ROLE_UNIFIED]) {
		rmdir(cs->dir[ROLE_UNIFIED]);
		fd_close(&cs->lock[ROLE_UNIFIED]);
		free_ptr(&cs->dir[ROLE_UNIFIED]);
	}
	if (strcmp(cgroups_kind(cs), "none") != 0)
		bound_all(cs);
	else
		snprintf(cs->why, sizeof(cs->why),
			 "no cgroup that can be written bounds memory and processes%s",
			 geteuid() == 0
				 ? ""
				 : "; start it with 'systemd-run --user --scope -p Delegate=yes'");
	return cs;
}

void cgroups_free(struct cgroups **cs)
{
	if (!*cs)
		return;
	for (int r = 0; r < ROLES; r++) {
		if ((*cs)->dir[r])
			rmdir((*cs)->dir[r]);
		fd_close(&(*cs)->lock[r]);
		free_ptr(&(*cs)->dir[r]);
	}
	free_ptr(cs);
}

const char *cgroups_kind(const struct cgroups *cs)
{
	return cs->v2 ? "v2" : cs->dir[ROLE_MEM] && cs->dir[ROLE_PIDS] ? "v1" : "none";
}

const char *cgroups_why(const struct cgroups *cs)
{
	return cs->why;
}

bool cgroups_freezer(const struct cgroups *cs)
{
	return cs->dir[ROLE_UNIFIED] || cs->dir[ROLE_FREEZER];
}

/* --- one group --- */

static int limit_v2(const char *dir, const struct cgroup_limits *l)
{
	char cpu[48];
	snprintf(cpu, sizeof(cpu), "%lld 100000", (long long)l->cpu_milli * 100);
	if (l->mem_bytes && cgroup_put_number(dir, "memory.max", l->mem_bytes) < 0)
		return -1;
	if (l->mem_bytes && access(dir, F_OK) == 0)
		/* absent where the kernel accounts no swap */
		cgroup_put(dir, "memory.swap.max", "0");
	if (l->pids && cgroup_put_number(dir, "pids.max", l->pids) < 0)
		return -1;
	return l->cpu_milli ? cgroup_put(dir, "cpu.max", cpu) : 0;
}

static int limit_v1(const struct cgroup *c, const struct cgroup_limits *l)
{
	if (l->mem_bytes && c->dir[ROLE_MEM]) {
		if (cgroup_put_number(c->dir[ROLE_MEM], "memory.limit_in_bytes", l->mem_bytes) < 0)
			return -1;
		cgroup_put_number(c->dir[ROLE_MEM], "memory.memsw.limit_in_bytes",
				  l->mem_bytes); /* absent without swap accounting */
	}
	if (l->pids && c->dir[ROLE_PIDS] &&
	    cgroup_put_number(c->dir[ROLE_PIDS], "pids.max", l->pids) < 0)
		return -1;
	if (l->cpu_milli && c->dir[ROLE_CPU])
		return cgroup_put_number(c->dir[ROLE_CPU], "cpu.cfs_quota_us", l->cpu_milli * 100);
	return 0;
}

struct cgroup *cgroup_new(struct cgroups *cs, struct err *err)
{
	struct cgroup *c = NEW(struct cgroup);
	c->cs = cs;
	cs->made++;
	for (int r = 0; r < ROLES; r++) {
		if (!cs->dir[r])
			continue;
		c->dir[r] = mem_printf("%s/b%llu", cs->dir[r], (unsigned long long)cs->made);
		if (mkdir(c->dir[r], 0755) < 0 && errno != EEXIST) {
			err_sys(err, "can't create cgroup '%s'", c->dir[r]);
			cgroup_remove(c);
			cgroup_free(&c);
			return NULL;
		}
	}
	return c;
}

int cgroup_limit(const struct cgroup *c, const struct cgroup_limits *l, struct err *err)
{
	if ((c->cs->v2 ? limit_v2(c->dir[ROLE_UNIFIED], l) : limit_v1(c, l)) < 0)
		return err_sys(err, "can't limit a sandbox by cgroup");
	return 0;
}

size_t cgroup_doors(const struct cgroup *c, int fds[CGROUP_FDS_MAX])
{
	size_t nr = 0;
	for (int r = 0; r < ROLES; r++) {
		if (!c->dir[r])
			continue;
		/* who goes in has one thread: "tasks" takes it without a lock over all processes of
		 * the machine */
		CLEANUP(free_ptr)
		char *path = mem_printf("%s/%s", c->dir[r],
					r == ROLE_UNIFIED ? "cgroup.procs" : "tasks");
		int fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd >= 0)
			fds[nr++] = fd;
	}
	return nr;
}

static int cgroup_put_state(const struct cgroup *c, bool frozen)
{
	if (c->dir[ROLE_UNIFIED])
		return cgroup_put(c->dir[ROLE_UNIFIED], "cgroup.freeze", frozen ? "1" : "0");
	return cgroup_put(c->dir[ROLE_FREEZER], "freezer.state", frozen ? "FROZEN" : "THAWED");
}

static bool in_state(const struct cgroup *c, bool frozen)
{
	char text[64] = "";
	if (c->dir[ROLE_UNIFIED])
		return cgroup_get_number(c->dir[ROLE_UNIFIED], "cgroup.events", "frozen") ==
		       (frozen ? 1 : 0);
	return cgroup_get(c->dir[ROLE_FREEZER], "freezer.state", text, sizeof(text)) &&
	       strcmp(text, frozen ? "FROZEN\n" : "THAWED\n") == 0;
}

/* Freezing takes as long as the slowest process needs to leave its system call: usually
 * microseconds. Version 1 asks each process once, and one that was on its way into a vfork has not
 * heard it: it is asked again. */
static int wait_state(const struct cgroup *c, bool frozen)
{
	for (int i = 0; i < 2000; i++) {
		if (in_state(c, frozen))
			return 0;
		if (i >= 20 && !c->dir[ROLE_UNIFIED])
			cgroup_put_state(c, frozen);
		struct timespec t = { .tv_nsec = i < 20 ? 20000 : 1000000 };
		nanosleep(&t, NULL);
	}
	return -1;
}

int cgroup_freeze(struct cgroup *c, bool frozen, struct err *err)
{
	const char *verb = frozen ? "freeze" : "thaw";
	if (!c->dir[ROLE_UNIFIED] && !c->dir[ROLE_FREEZER])
		return err_set(err, ERR_UNSUPPORTED, "no cgroup freezer that can be written");
	if (cgroup_put_state(c, frozen) < 0)
		return err_sys(err, "can't %s the sandbox", verb);
	if (wait_state(c, frozen) == 0)
		return 0;
	if (frozen) /* a caller with a failed freeze never thaws */
		cgroup_put_state(c, false);
	return err_set(err, ERR_TIMEOUT, "the sandbox doesn't %s", verb);
}

/* Signals every process of the group. In version 1 a process may have forked meanwhile, so the
 * group is frozen first if possible. */
static void signal_all(const char *dir)
{
	CLEANUP(free_ptr) char *path = mem_printf("%s/cgroup.procs", dir);
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err ignored = ERR_INIT;
	if (file_read(path, &text, 4 << 20, &ignored) < 0)
		return;
	char *rest = text.data;
	for (char *line; (line = strsep(&rest, "\n"));) {
		long pid = strtol(line, NULL, 10);
		if (pid > 1)
			kill((pid_t)pid, SIGKILL);
	}
}

/* For each kind of hierarchy of @dir; files that are missing in it can't be written. */
static void end_box(const char *dir)
{
	if (cgroup_put(dir, "cgroup.kill", "1") < 0)
		signal_all(dir);
	cgroup_put(dir, "cpu.cfs_quota_us", "-1");
	cgroup_put(dir, "freezer.state", "THAWED");
	cgroup_put(dir, "cgroup.freeze", "0");
}

/* Removes a group of a dead launcher, frozen sandboxes included. @left reports processes that
 * are still dying. */
static void sweep_one(void *left, const char *ours, bool held)
{
	DIR *d = held ? NULL : opendir(ours);
	const struct dirent *e;
	while (d && (e = readdir(d))) {
		if (e->d_type != DT_DIR || e->d_name[0] != 'b' ||
		    unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR) == 0)
			continue;
		CLEANUP(free_ptr) char *box = path_join(ours, e->d_name);
		end_box(box);
		*(bool *)left |= rmdir(box) < 0 && errno == EBUSY;
	}
	if (d)
		closedir(d);
	if (!held)
		rmdir(ours);
}

void cgroups_sweep(void)
{
	enum { TRIES = 10, PAUSE_MS = 5 };
	for (int i = 0; i < TRIES; i++) {
		bool left = false;
		groups_each(sweep_one, &left);
		if (!left)
			return;
		struct timespec t = { .tv_nsec = PAUSE_MS * 1000000 };
		nanosleep(&t, NULL);
	}
}

void cgroup_kill(struct cgroup *c)
{
	if (c->dir[ROLE_UNIFIED])
		cgroup_put(c->dir[ROLE_UNIFIED], "cgroup.kill", "1");
	else if (c->dir[ROLE_FREEZER])
		cgroup_put(c->dir[ROLE_FREEZER], "freezer.state", "FROZEN");
	const char *any = c->dir[ROLE_FREEZER] ? c->dir[ROLE_FREEZER] : c->dir[ROLE_PIDS];
	if (any)
		signal_all(any);
	if (c->dir[ROLE_CPU])
		/* dying takes processor time too */
		cgroup_put(c->dir[ROLE_CPU], "cpu.cfs_quota_us", "-1");
	if (c->dir[ROLE_FREEZER])
		/* version 1: the frozen die only when thawed */
		cgroup_put(c->dir[ROLE_FREEZER], "freezer.state", "THAWED");
}

bool cgroup_remove(struct cgroup *c)
{
	bool gone = true;
	for (int r = 0; r < ROLES; r++)
		if (c->dir[r] && rmdir(c->dir[r]) < 0 && errno != ENOENT)
			gone = false;
	return gone;
}

void cgroup_stats(const struct cgroup *c, struct cgroup_stats *out)
{
	const char *uni = c->cs->v2 ? c->dir[ROLE_UNIFIED] : NULL;
	if (uni) {
		*out = (struct cgroup_stats){
			.cpu_us = cgroup_get_number(uni, "cpu.stat", "usage_usec"),
			.mem_bytes = cgroup_get_number(uni, "memory.current", NULL),
			.pids = cgroup_get_number(uni, "pids.current", NULL),
			.oom = cgroup_get_number(uni, "memory.events", "oom_kill")
		};
		return;
	}
	int64_t ns = cgroup_get_number(c->dir[ROLE_ACCT], "cpuacct.usage", NULL);
	*out = (struct cgroup_stats){
		.cpu_us = ns < 0 ? -1 : ns / 1000,
		.mem_bytes = cgroup_get_number(c->dir[ROLE_MEM], "memory.usage_in_bytes", NULL),
		.pids = cgroup_get_number(c->dir[ROLE_PIDS], "pids.current", NULL),
		.oom = cgroup_get_number(c->dir[ROLE_MEM], "memory.oom_control", "oom_kill")
	};
}

void cgroup_free(struct cgroup **c)
{
	if (!*c)
		return;
	for (int r = 0; r < ROLES; r++)
		free_ptr(&(*c)->dir[r]);
	free_ptr(c);
}
