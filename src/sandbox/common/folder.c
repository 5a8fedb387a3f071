#include "sandbox/common/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/view/copy.h"
#include "sandbox/common/layers.h"
#include "sandbox/workspace/apply.h"
#include "wire/keeper.h"
#include "wire/plan.h"

struct folder {
	struct loop *loop;
	char *state_dir, *name, *root;
	unsigned uid, gid;
	bool walked;
	bool root_is_ours; /* outside the state directory, removed at the end */
};

struct folder *folder_new(const struct folder_opts *o)
{
	struct folder *f = NEW(struct folder);
	*f = (struct folder){ .loop = o->loop,
			      .uid = o->uid,
			      .gid = o->gid,
			      .walked = o->walked,
			      .state_dir = mem_strdup(o->state_dir),
			      .name = mem_strdup(o->name) };
	return f;
}

void folder_free(struct folder **fp)
{
	struct folder *f = take(fp);
	struct err ignored = ERR_INIT;
	if (!f)
		return;
	if (f->root_is_ours && dir_remove(f->root, &ignored) < 0)
		log_warn("%s", ignored.text);
	free(f->root);
	free(f->state_dir);
	free(f->name);
	free(f);
}

const char *folder_root(const struct folder *f)
{
	return f->root;
}

const char *folder_elsewhere(const struct folder *f)
{
	return f->root_is_ours ? f->root : NULL;
}

/* --- the copy --- */

/* Without mounts the box's uid walks the machine's own path to its workspace: every directory on it
 * must let it pass. */
static bool folder_reachable(const char *path)
{
	CLEANUP(free_ptr) char *p = mem_strdup(path);
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

static int make_root(struct folder *f, struct err *err)
{
	if (f->root)
		return 0;
	if (!f->walked || folder_reachable(f->state_dir)) {
		f->root = path_join(f->state_dir, f->name);
		if ((f->walked && chmod(f->state_dir, 0711) < 0) ||
		    (mkdir(f->root, 0711) < 0 && errno != EEXIST))
			return err_sys(err, "can't create '%s'", f->root);
	} else {
		f->root = mem_strdup("/var/tmp/sandglass-XXXXXX");
		if (!mkdtemp(f->root)) {
			free(f->root);
			f->root = mem_strdup("/tmp/sandglass-XXXXXX");
			if (!mkdtemp(f->root))
				return err_sys(err, "can't create a directory for the sandbox");
		}
		f->root_is_ours = true;
	}
	return chmod(f->root, 0711) < 0 ? err_sys(err, "can't open '%s' for the sandbox", f->root)
					: 0;
}

static char *layer_path(const struct folder *f, const char *name)
{
	if (strcmp(name, ":home") == 0)
		return path_join(f->root, "home");
	return *name ? mem_printf("%s/workspace/%s", f->root, name)
		     : path_join(f->root, "workspace");
}

/* The workspace at its start, for later comparisons; only root may look inside. */
static char *base_path(const struct folder *f, size_t layer)
{
	return mem_printf("%s/base/%zu", f->root, layer);
}

/* Taken from the copy, not from the repository itself: masked files have no bytes here either. */
static int keep_base(const struct folder *f, size_t layer, const char *copy, struct err *err)
{
	const struct copy_owner owner = { .uid = geteuid(), .gid = getegid() };
	const struct masks none = { 0 };
	CLEANUP(free_ptr) char *above = path_join(f->root, "base"), *to = base_path(f, layer);
	return dir_make(above, 0700, err) < 0 ? -1 : copy_tree(copy, to, &none, &owner, err);
}

static int fill_layer(const struct folder *f, const struct layers *l, size_t i, struct err *err)
{
	const struct layer *w = &l->item[i];
	const struct copy_owner owner = { .uid = f->uid, .gid = f->gid };
	const struct git_owner git_owner = { .uid = f->uid, .gid = f->gid };
	CLEANUP(free_ptr) char *to = layer_path(f, w->name);
	if (access(to, F_OK) == 0)
		return 0;
	if (!w->host_dir)
		return copy_empty(to, &owner, err);
	if (copy_tree(w->host_dir, to, &w->masks, &owner, err) < 0 ||
	    layers_git(l, i, to, &git_owner, err) < 0)
		return -1;
	return keep_base(f, i, to, err);
}

int folder_fill(struct folder *f, const struct layers *l, struct err *err)
{
	const struct copy_owner owner = { .uid = f->uid, .gid = f->gid };
	if (make_root(f, err) < 0)
		return -1;
	for (size_t i = 0; i < l->nr; i++)
		if (fill_layer(f, l, i, err) < 0)
			return -1;
	CLEANUP(free_ptr) char *tmp = path_join(f->root, "tmp");
	return access(tmp, F_OK) < 0 ? copy_empty(tmp, &owner, err) : 0;
}

/* --- files: a root user inside can only reach the sandbox's own directories --- */

static const struct {
	const char *box, *here;
} folder_tops[] = {
	{ "/workspace", "workspace" },
	{ "/home/agent", "home" },
	{ "/tmp", "tmp" },
};

/* The top directory of @path; @rest is the path below it, "." for itself. NULL: none. */
static const char *top_of(const char *path, const char **rest)
{
	*rest = path;
	if (*path && *path != '/')
		return folder_tops[0].here;
	for (size_t i = 0; i < ARRAY_LEN(folder_tops); i++) {
		size_t n = strlen(folder_tops[i].box);
		if (strncmp(path, folder_tops[i].box, n) == 0 && (path[n] == 0 || path[n] == '/')) {
			for (path += n; *path == '/'; path++)
				;
			*rest = *path ? path : ".";
			return folder_tops[i].here;
		}
	}
	return NULL;
}

char *folder_path(const struct folder *f, const char *path)
{
	const char *rest, *top = top_of(path, &rest);
	if (!top)
		return mem_strdup(path);
	return strcmp(rest, ".") ? mem_printf("%s/%s/%s", f->root, top, rest)
				 : mem_printf("%s/%s", f->root, top);
}

/* Beneath its top directory and not only beneath the root: a symbolic link of the box must not lead
 * into base/. */
static int folder_open_in(const struct folder *f, const char *path, int flags, mode_t mode,
			  struct err *err)
{
	const char *rest, *top = top_of(path, &rest);
	if (!top)
		return err_set(
			err, ERR_DENIED,
			"'%s' is outside the workspace; run a command in the sandbox instead",
			path);
	CLEANUP(free_ptr) char *dir = path_join(f->root, top);
	CLEANUP(fd_close) int root = open(dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	flags |= flags & O_PATH ? O_CLOEXEC : O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	struct open_how how = { .flags = (unsigned long long)(unsigned)flags,
				.mode = mode,
				.resolve =
					RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV };
	int fd = (int)syscall(SYS_openat2, root, rest, &how, sizeof(how));
	return fd < 0 ? err_sys(err, "can't open '%s'", path) : fd;
}

struct work {
	struct folder *f;
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
	int fd = folder_open_in(w->f, w->path,
				dir    ? O_RDONLY | O_DIRECTORY
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

void folder_look(struct folder *f, const char *path, const char *as, size_t max, box_done_fn *done,
		 void *self)
{
	struct work *w = NEW(struct work);
	*w = (struct work){ .f = f,
			    .path = mem_strdup(path),
			    .as = mem_strdup(as),
			    .max = max,
			    .done = done,
			    .self = self };
	loop_job_run(f->loop, do_look, work_end, w);
}

static int folder_make_parents(const struct folder *f, const char *path, struct err *err)
{
	for (const char *slash = path; (slash = strchr(slash + 1, '/'));) {
		CLEANUP(free_ptr) char *parent = mem_strndup(path, (size_t)(slash - path));
		struct err ignored = ERR_INIT;
		CLEANUP(fd_close)
		int there = folder_open_in(f, parent, O_PATH | O_DIRECTORY, 0, &ignored);
		if (there >= 0 || ignored.code != ERR_NOENT)
			continue;
		char *name = strrchr(parent, '/');
		CLEANUP(free_ptr)
		char *above = name ? mem_strndup(parent, (size_t)(name - parent)) : mem_strdup(".");
		CLEANUP(fd_close)
		int dir = folder_open_in(f, *above ? above : "/", O_RDONLY | O_DIRECTORY, 0, err);
		name = name ? name + 1 : parent;
		if (dir < 0)
			return -1;
		if (mkdirat(dir, name, 0755) < 0 ||
		    fchownat(dir, name, f->uid, f->gid, AT_SYMLINK_NOFOLLOW) < 0)
			return err_sys(err, "can't create the directory of '%s'", path);
	}
	return 0;
}

static void do_write(void *self)
{
	struct work *w = self;
	struct err first = ERR_INIT;
	struct stat st;
	if (folder_make_parents(w->f, w->path, &w->err) < 0)
		return;
	CLEANUP(fd_close) int fd = folder_open_in(w->f, w->path, O_WRONLY, 0, &first);
	bool created = fd < 0 && first.code == ERR_NOENT;
	if (created)
		fd = folder_open_in(w->f, w->path, O_WRONLY | O_CREAT | O_EXCL, 0644, &first);
	if (fd < 0) {
		w->err = first;
		return;
	}
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		err_set(&w->err, ERR_DENIED, "'%s' is not a regular file", w->path);
		return;
	}
	if (ftruncate(fd, 0) < 0 || (created && fchown(fd, w->f->uid, w->f->gid) < 0) ||
	    (w->mode >= 0 && fchmod(fd, (mode_t)w->mode & 01777) < 0)) {
		err_sys(&w->err, "can't write '%s'", w->path);
		return;
	}
	if (fd_write_all(fd, w->data, w->len, &w->err) < 0)
		return;
	w->result = json_object();
	json_put_int(w->result, "size", (int64_t)w->len);
	json_put_flag(w->result, "created", created);
}

void folder_write(struct folder *f, const char *path, const void *data, size_t len, int mode,
		  box_done_fn *done, void *self)
{
	struct work *w = NEW(struct work);
	*w = (struct work){ .f = f,
			    .path = mem_strdup(path),
			    .mode = mode,
			    .len = len,
			    .data = len ? mem_dup(data, len) : NULL,
			    .done = done,
			    .self = self };
	loop_job_run(f->loop, do_write, work_end, w);
}

int folder_tree(const struct folder *f, size_t layer, const char *name, const char *which,
		struct err *err)
{
	bool base = strcmp(which, "lower") == 0;
	CLEANUP(free_ptr) char *path = base ? base_path(f, layer) : layer_path(f, name);
	int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? err_sys(err, "can't open '%s'", path) : fd;
}

int folder_tree_open(const struct folder *f, size_t layer, const char *name, const char *which,
		     const char *path, struct err *err)
{
	CLEANUP(fd_close) int root = folder_tree(f, layer, name, which, err);
	if (root < 0)
		return -1;
	struct open_how how = { .flags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS |
					   RESOLVE_NO_SYMLINKS };
	int fd = (int)syscall(SYS_openat2, root, *path ? path : ".", &how, sizeof(how));
	return fd < 0 ? err_sys(err, "can't open '%s'", path) : fd;
}

int folder_plan(const struct folder *f, int root, const char *plan, size_t len, const int *fds,
		size_t nr_fds, struct err *err)
{
	size_t ran;
	/* of this thread alone; the file capabilities of root go with it and come back with it */
	int gid = setfsgid(f->gid), uid = setfsuid(f->uid);
	int rc = plan_run(root, plan, len, fds, nr_fds, &ran, err);
	setfsuid((uid_t)uid);
	setfsgid((gid_t)gid);
	return rc;
}

int folder_tree_apply(const struct folder *f, size_t layer, const char *name, const char *plan,
		      size_t len, const int *fds, size_t nr_fds, struct err *err)
{
	CLEANUP(fd_close) int root = folder_tree(f, layer, name, "merged", err);
	return root < 0 ? -1 : folder_plan(f, root, plan, len, fds, nr_fds, err);
}
