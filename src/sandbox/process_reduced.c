#include "sandbox/process_reduced.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/copy.h"
#include "sandbox/process_inner.h"
#include "sandbox/profile.h"
#include "sandbox/seccomp.h"
#include "sandbox/workspace/apply.h"
#include "wire/keeper.h"
#include "wire/launch.h"

struct reduced {
	struct process_box *p; /* borrowed */
	struct launcher *launcher;
	struct err why, failed;
	unsigned uid;
	uint64_t box;
	char *root;	   /* holds workspace, home and tmp; every uid may pass through it */
	bool root_is_ours; /* not the state folder: removed at the end */
	int pid, pidfd;
	struct guest *guest;
	bool ended;
	int landlock;
	box_done_fn *done, *closed;
	void *self, *closed_self;
};

struct reduced *reduced_new(struct process_box *p, const struct err *why)
{
	static unsigned turn;
	struct reduced *r = NEW(struct reduced);
	*r = (struct reduced){ .p = p, .why = *why, .pidfd = -1, .launcher = launcher_current() };
	r->uid = launcher_info(r->launcher)->spare + turn++ % 16;
	r->box = launcher_next_box(r->launcher);
	return r;
}

void reduced_free(struct reduced **rp)
{
	struct reduced *r = take(rp);
	if (!r)
		return;
	struct err ignored = ERR_INIT;
	launcher_forget(launcher_current(), r);
	guest_free(&r->guest);
	fd_close(&r->pidfd);
	if (r->root_is_ours && dir_remove(r->root, &ignored) < 0)
		log_warn("%s", ignored.text);
	free(r->root);
	free(r);
}

struct guest *reduced_guest(struct reduced *r)
{
	return r->guest;
}

uint64_t reduced_box(const struct reduced *r)
{
	return r->box;
}

/* --- the copy --- */

/* Without mounts the box's uid walks the machine's own path to its workspace: every folder on it must let it pass. */
static bool reachable(const char *path)
{
	CLEANUP(free_ptr) char *p = xstrdup(path);
	for (;;) {
		char *slash = strrchr(p, '/');
		struct stat st;
		if (!slash || slash == p)
			return true;
		*slash = 0;
		if (stat(p, &st) < 0 || !(st.st_mode & S_IXOTH))
			return false;
	}
}

static int make_root(struct reduced *r, struct err *err)
{
	if (reachable(r->p->state_dir)) {
		r->root = path_join(r->p->state_dir, "reduced");
		if (chmod(r->p->state_dir, 0711) < 0 || (mkdir(r->root, 0711) < 0 && errno != EEXIST))
			return err_sys(err, "cannot make '%s'", r->root);
	} else {
		r->root = xstrdup("/var/tmp/sandglass-XXXXXX");
		if (!mkdtemp(r->root)) {
			free(r->root);
			r->root = xstrdup("/tmp/sandglass-XXXXXX");
			if (!mkdtemp(r->root))
				return err_sys(err, "cannot make a folder for the box");
		}
		r->root_is_ours = true;
	}
	return chmod(r->root, 0711) < 0 ? err_sys(err, "cannot open '%s' for the box", r->root) : 0;
}

static char *layer_path(const struct reduced *r, const struct layer_want *w)
{
	if (strcmp(w->name, ":home") == 0)
		return path_join(r->root, "home");
	return *w->name ? xasprintf("%s/workspace/%s", r->root, w->name) : path_join(r->root, "workspace");
}

/* What the workspace was at the beginning, for what compares with it; nobody but root may look inside. */
static char *base_path(const struct reduced *r, size_t layer)
{
	return xasprintf("%s/base/%zu", r->root, layer);
}

/* Taken from the copy, not from the folder itself: what is masked has no bytes here either. */
static int keep_base(const struct reduced *r, size_t layer, const char *copy, struct err *err)
{
	const struct copy_owner owner = { .uid = geteuid(), .gid = getegid() };
	const struct masks none = { 0 };
	CLEANUP(free_ptr) char *above = path_join(r->root, "base"), *to = base_path(r, layer);
	return dir_make(above, 0700, err) < 0 ? -1 : copy_tree(copy, to, &none, &owner, err);
}

/* Worker. What is there already is a box that is opened again: it goes on where it was. */
static void make_copy(void *self)
{
	struct reduced *r = self;
	const struct copy_owner owner = { .uid = r->uid, .gid = r->uid };
	if (make_root(r, &r->failed) < 0)
		return;
	for (size_t i = 0; i < r->p->nr_layers; i++) {
		const struct layer_want *w = &r->p->layer[i];
		CLEANUP(free_ptr) char *to = layer_path(r, w);
		if (access(to, F_OK) == 0)
			continue;
		if ((w->host_dir ? copy_tree(w->host_dir, to, &w->masks, &owner, &r->failed)
				 : copy_empty(to, &owner, &r->failed)) < 0 ||
		    (w->host_dir && keep_base(r, i, to, &r->failed) < 0))
			return;
	}
	CLEANUP(free_ptr) char *tmp = path_join(r->root, "tmp");
	if (access(tmp, F_OK) < 0 && copy_empty(tmp, &owner, &r->failed) < 0)
		return;
}

/* --- starting --- */

static void finish(struct reduced *r, json_t *result, const struct err *err)
{
	box_done_fn *done = take(&r->done);
	if (done)
		done(r->self, result, err);
}

static void on_confined(void *self, json_t *body, const struct err *err)
{
	struct reduced *r = self;
	const struct launcher_info *info = launcher_info(r->launcher);
	if (!body) {
		finish(r, NULL, err);
		return;
	}
	CLEANUP(json_release) json_t *out = json_object();
	CLEANUP(free_ptr) char *workspace = path_join(r->root, "workspace");
	CLEANUP(free_ptr) char *home = path_join(r->root, "home");
	r->landlock = (int)json_int(body, "landlock", 0);
	json_t *lacks = profile_lacks(PROFILE_REDUCED, info, r->landlock);
	json_array_append_new(lacks, json_string(r->why.text));
	json_put(out, "lacks", lacks);
	json_put_int(out, "uid", r->uid);
	json_put_int(out, "uid_inside", r->uid);
	json_put_int(out, "landlock", r->landlock);
	json_put_str(out, "cgroup", info->cgroup);
	json_put_str(out, "workspace", workspace);
	json_put_str(out, "home", home);
	finish(r, out, NULL);
}

static void take_env(struct reduced *r)
{
	struct strv env = STRV_INIT;
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	buf_puts(&path, "PATH=");
	for (size_t i = 0; i < r->p->roots.nr; i++)
		buf_printf(&path, "%s/bin:", r->p->roots.item[i]);
	buf_puts(&path, "/usr/local/bin:/usr/bin:/bin");
	CLEANUP(free_ptr) char *home = xasprintf("HOME=%s/home", r->root);
	CLEANUP(free_ptr) char *tmp = xasprintf("TMPDIR=%s/tmp", r->root);
	CLEANUP(free_ptr) char *ws = xasprintf("SANDGLASS_WORKSPACE=%s/workspace", r->root);
	const char *const base[] = { path.data,
				     home,
				     tmp,
				     ws,
				     "USER=agent",
				     "LOGNAME=agent",
				     "SHELL=/bin/sh",
				     "TERM=dumb",
				     "LANG=C.UTF-8",
				     "GIT_CONFIG_COUNT=1",
				     "GIT_CONFIG_KEY_0=safe.directory",
				     "GIT_CONFIG_VALUE_0=*" };
	for (size_t i = 0; i < ARRAY_LEN(base); i++)
		strv_push(&env, base[i]);
	for (size_t i = 0; i < r->p->env.nr; i++)
		strv_push_bytes(&env, r->p->env.item[i], r->p->env.len[i]);
	strv_release(&r->p->env);
	r->p->env = env;
}

static void on_ready(void *self, const struct guest_info *info)
{
	struct reduced *r = self;
	const unsigned rx = GUEST_READ | GUEST_EXEC, rw = GUEST_READ | GUEST_WRITE, all = rx | rw;
	CLEANUP(free_ptr) char *workspace = path_join(r->root, "workspace");
	CLEANUP(free_ptr) char *home = path_join(r->root, "home");
	CLEANUP(free_ptr) char *tmp = path_join(r->root, "tmp");
	const struct guest_rule fixed[] = {
		{ "/usr", rx },
		{ "/bin", rx },
		{ "/sbin", rx },
		{ "/lib", rx },
		{ "/lib32", rx },
		{ "/lib64", rx },
		{ "/etc", GUEST_READ },
		{ "/proc", GUEST_READ },
		{ workspace, all },
		{ home, all },
		{ tmp, all },
		{ "/dev/null", rw | GUEST_DEVICE },
		{ "/dev/zero", rw },
		{ "/dev/full", rw },
		{ "/dev/random", GUEST_READ },
		{ "/dev/urandom", GUEST_READ },
		{ "/dev/tty", rw | GUEST_DEVICE },
		{ "/dev/ptmx", rw | GUEST_DEVICE },
		{ "/dev/pts", rw | GUEST_DEVICE },
	};
	(void)info;
	take_env(r);
	struct guest_rule *extra = xcalloc(r->p->roots.nr + 1, sizeof(*extra));
	for (size_t i = 0; i < r->p->roots.nr; i++)
		extra[i] = (struct guest_rule){ .path = r->p->roots.item[i], .access = rx };
	struct guest_attach a = { .rules = fixed,
				  .nr_rules = ARRAY_LEN(fixed),
				  .extra = extra,
				  .nr_extra = r->p->roots.nr,
				  .scope = true,
				  .unconfined_ok = true,
				  .limits = profile_rlimits(PROFILE_REDUCED, &r->p->limits) };
	guest_attach(r->guest, &a, on_confined, r);
	free(extra);
}

static void on_gone(void *self, const struct err *err)
{
	struct reduced *r = self;
	struct err why = *err;
	guest_free(&r->guest);
	finish(r, NULL, &why);
}

static void on_exited(void *self, int code, int signal)
{
	struct reduced *r = self;
	(void)code;
	(void)signal;
	r->ended = true;
	if (r->closed) {
		CLEANUP(json_release) json_t *result = json_object();
		json_put_flag(result, "empty", true);
		take (&r->closed)(r->closed_self, result, NULL);
	}
}

static void on_guest(void *self, json_t *body, int *fds, size_t nr, const struct err *err)
{
	struct reduced *r = self;
	if (!body || nr != 1) {
		struct err why = ERR_INIT;
		if (err)
			why = *err;
		else
			err_set(&why, ERR_PARSE, "the launcher gave no pidfd");
		finish(r, NULL, &why);
		return;
	}
	r->pid = (int)json_int(body, "pid", 0);
	r->pidfd = fds[0];
	fds[0] = -1;
	launcher_watch(r->launcher, r->pid, on_exited, r);
}

static int launch(struct reduced *r, struct err *err)
{
	static const struct guest_ops ops = { .on_ready = on_ready, .on_gone = on_gone };
	CLEANUP(json_release) json_t *body = json_object();
	CLEANUP(free_ptr) char *workspace = path_join(r->root, "workspace");
	json_t *limits = json_object();
	int pair[2], fds[1 + SECCOMP_PROGRAMS];
	bool bounded = strcmp(launcher_info(r->launcher)->cgroup, "none") != 0;
	if (seccomp_memfds(SECCOMP_NO_INTERNET | (bounded ? 0u : (unsigned)SECCOMP_NO_SHARED_MEMORY), fds + 1, err) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, "cannot make a socket for the box");
	fds[0] = pair[1];
	if (fd_nonblock(pair[0], err) < 0)
		log_warn("%s", err->text);
	r->guest = guest_new(r->p->loop, pair[0], NULL, &ops, r);
	json_put_int(limits, "mem_bytes", r->p->limits.mem_bytes);
	json_put_int(limits, "cpu_milli", r->p->limits.cpu_milli);
	json_put_int(limits, "pids", r->p->limits.pids);
	json_put_int(body, "box", (int64_t)r->box);
	json_put_int(body, "uid", r->uid);
	json_put_int(body, "gid", r->uid);
	json_put(body, "limits", limits);
	json_put_bytes(body, "dir", workspace, strlen(workspace));
	launcher_call(r->launcher, LAUNCH_GUEST, body, fds, ARRAY_LEN(fds), on_guest, r);
	return 0;
}

static void copied(void *self)
{
	struct reduced *r = self;
	if (r->failed.code == ERR_NONE && launch(r, &r->failed) == 0)
		return;
	struct err why = r->failed;
	finish(r, NULL, &why);
}

void reduced_start(struct reduced *r, box_done_fn *done, void *self)
{
	r->done = done;
	r->self = self;
	loop_job_run(r->p->loop, make_copy, copied, r);
}

static void close_bare(void *self)
{
	on_exited(self, 0, 0);
}

void reduced_close(struct reduced *r, box_done_fn *done, void *self)
{
	CLEANUP(json_release) json_t *body = json_object();
	r->closed = done;
	r->closed_self = self;
	guest_free(&r->guest);
	json_put_int(body, "box", (int64_t)r->box);
	json_put_str(body, "verb", "kill");
	if (r->pid && !r->ended)
		launcher_call(r->launcher, LAUNCH_CGROUP, body, NULL, 0, NULL,
			      NULL); /* the end follows as LAUNCH_EXITED */
	else
		loop_defer(r->p->loop, close_bare, r);
}

/* --- files: the supervisor is root here, so it goes nowhere but into the box's own folders --- */

char *reduced_path(const struct reduced *r, const char *path)
{
	static const char *const from[] = { "/workspace", "/home/agent", "/tmp" }, *const to[] = { "workspace", "home",
												   "tmp" };
	if (*path != '/')
		return xasprintf("%s/workspace/%s", r->root, path);
	for (size_t i = 0; i < ARRAY_LEN(from); i++) {
		size_t n = strlen(from[i]);
		if (strncmp(path, from[i], n) == 0 && (path[n] == 0 || path[n] == '/'))
			return xasprintf("%s/%s%s", r->root, to[i], path + n);
	}
	return xstrdup(path);
}

static int open_in(const struct reduced *r, const char *path, int flags, mode_t mode, struct err *err)
{
	CLEANUP(free_ptr) char *full = reduced_path(r, path);
	CLEANUP(fd_close) int root = open(r->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	size_t n = strlen(r->root);
	if (strncmp(full, r->root, n) != 0 || full[n] != '/')
		return err_set(err, ERR_DENIED, "'%s' is not in the workspace; use a command in the box", path);
	flags |= flags & O_PATH ? O_CLOEXEC : O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	struct open_how how = { .flags = (unsigned long long)(unsigned)flags,
				.mode = mode,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV };
	int fd = (int)syscall(SYS_openat2, root, full + n + 1, &how, sizeof(how));
	return fd < 0 ? err_sys(err, "cannot open '%s'", path) : fd;
}

struct work {
	struct reduced *r;
	char *path, *as;
	size_t max, len;
	int mode;
	char *data;
	json_t *result;
	struct err err;
	box_done_fn *done;
	void *self;
};

static void work_end(void *self)
{
	struct work *w = self;
	w->done(w->self, w->err.code ? NULL : w->result, w->err.code ? &w->err : NULL);
	json_release(&w->result);
	free(w->path);
	free(w->as);
	free(w->data);
	free(w);
}

static void do_look(void *self)
{
	struct work *w = self;
	bool file = strcmp(w->as, "file") == 0, dir = strcmp(w->as, "dir") == 0;
	struct stat st;
	CLEANUP(buf_release) struct buf data = BUF_INIT;
	CLEANUP(fd_close)
	int fd = open_in(w->r, w->path,
			 dir	? O_RDONLY | O_DIRECTORY
			 : file ? O_RDONLY
				: O_PATH | O_NOFOLLOW,
			 0, &w->err);
	if (fd < 0)
		return;
	w->result = json_object();
	if (fstat(fd, &st) < 0 || (file && !S_ISREG(st.st_mode))) {
		err_set(&w->err, ERR_INVALID, "'%s' is not a file", w->path);
		return;
	}
	keeper_put_stat(w->result, &st);
	if (dir) {
		int copy = fd;
		fd = -1;
		if (keeper_put_entries(w->result, copy, &w->err) < 0)
			return;
	}
	while (file && data.len < w->max) {
		size_t want = w->max - data.len < 1 << 20 ? w->max - data.len : 1 << 20;
		buf_reserve(&data, want);
		ssize_t n = pread(fd, data.data + data.len, want, (off_t)data.len);
		if (n <= 0)
			break;
		data.len += (size_t)n;
	}
	if (file)
		json_put_bytes(w->result, "data", buf_cstr(&data), data.len);
}

void reduced_look(struct reduced *r, const char *path, const char *as, size_t max, box_done_fn *done, void *self)
{
	struct work *w = NEW(struct work);
	*w = (struct work){ .r = r, .path = xstrdup(path), .as = xstrdup(as), .max = max, .done = done, .self = self };
	loop_job_run(r->p->loop, do_look, work_end, w);
}

static int make_parents(const struct reduced *r, const char *path, struct err *err)
{
	for (const char *slash = path; (slash = strchr(slash + 1, '/'));) {
		CLEANUP(free_ptr) char *parent = xstrndup(path, (size_t)(slash - path));
		struct err ignored = ERR_INIT;
		CLEANUP(fd_close) int there = open_in(r, parent, O_PATH | O_DIRECTORY, 0, &ignored);
		if (there >= 0 || ignored.code != ERR_NOENT)
			continue;
		char *name = strrchr(parent, '/');
		CLEANUP(free_ptr) char *above = name ? xstrndup(parent, (size_t)(name - parent)) : xstrdup(".");
		CLEANUP(fd_close) int dir = open_in(r, *above ? above : "/", O_RDONLY | O_DIRECTORY, 0, err);
		name = name ? name + 1 : parent;
		if (dir < 0)
			return -1;
		if (mkdirat(dir, name, 0755) < 0 || fchownat(dir, name, r->uid, r->uid, AT_SYMLINK_NOFOLLOW) < 0)
			return err_sys(err, "cannot make the folder of '%s'", path);
	}
	return 0;
}

static void do_write(void *self)
{
	struct work *w = self;
	struct err first = ERR_INIT;
	struct stat st;
	if (make_parents(w->r, w->path, &w->err) < 0)
		return;
	CLEANUP(fd_close) int fd = open_in(w->r, w->path, O_WRONLY, 0, &first);
	bool created = fd < 0 && first.code == ERR_NOENT;
	if (created)
		fd = open_in(w->r, w->path, O_WRONLY | O_CREAT | O_EXCL, 0644, &first);
	if (fd < 0) {
		w->err = first;
		return;
	}
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		err_set(&w->err, ERR_DENIED, "'%s' is not an ordinary file", w->path);
		return;
	}
	if (ftruncate(fd, 0) < 0 || (created && fchown(fd, w->r->uid, w->r->uid) < 0) ||
	    (w->mode >= 0 && fchmod(fd, (mode_t)w->mode & 01777) < 0)) {
		err_sys(&w->err, "cannot write '%s'", w->path);
		return;
	}
	if (fd_write_all(fd, w->data, w->len, &w->err) < 0)
		return;
	w->result = json_object();
	json_put_int(w->result, "size", (int64_t)w->len);
	json_put_flag(w->result, "created", created);
}

void reduced_write(struct reduced *r, const char *path, const void *data, size_t len, int mode, box_done_fn *done,
		   void *self)
{
	struct work *w = NEW(struct work);
	*w = (struct work){ .r = r,
			    .path = xstrdup(path),
			    .mode = mode,
			    .len = len,
			    .data = len ? xmemdup(data, len) : NULL,
			    .done = done,
			    .self = self };
	loop_job_run(r->p->loop, do_write, work_end, w);
}

int reduced_tree(struct reduced *r, size_t layer, const char *which, struct err *err)
{
	bool base = strcmp(which, "lower") == 0;
	CLEANUP(free_ptr) char *path = base ? base_path(r, layer) : layer_path(r, &r->p->layer[layer]);
	int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? err_sys(err, "cannot open '%s'", path) : fd;
}

int reduced_tree_open(struct reduced *r, size_t layer, const char *which, const char *path, struct err *err)
{
	CLEANUP(fd_close) int root = reduced_tree(r, layer, which, err);
	if (root < 0)
		return -1;
	struct open_how how = { .flags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS };
	int fd = (int)syscall(SYS_openat2, root, *path ? path : ".", &how, sizeof(how));
	return fd < 0 ? err_sys(err, "cannot open '%s'", path) : fd;
}

int reduced_tree_apply(struct reduced *r, size_t layer, const char *plan, size_t len, const int *fds, size_t nr_fds,
		       struct err *err)
{
	CLEANUP(fd_close) int root = reduced_tree(r, layer, "merged", err);
	size_t ran;
	if (root < 0)
		return -1;
	/* of this thread alone; the file capabilities of root go with it and come back with it */
	int gid = setfsgid(r->uid), uid = setfsuid(r->uid);
	int rc = ws_plan_run(root, plan, len, fds, nr_fds, &ran, err);
	setfsuid((uid_t)uid);
	setfsgid((gid_t)gid);
	return rc;
}
