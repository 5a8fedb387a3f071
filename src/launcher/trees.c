#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "launcher/launcher_priv.h"

/* A user namespace that says "owner on disk -> uid of the box"; mounts keep it alive, we keep it
 * for the next tree. */
struct idmap {
	uid_t from_uid, to_uid;
	gid_t from_gid, to_gid;
	int ns;
};
struct trees {
	const struct who *who; /* borrowed */
	struct idmap *item;
	size_t nr, cap;
};

struct trees *launcher_trees_new(const struct who *w)
{
	struct trees *t = NEW(struct trees);
	t->who = w;
	return t;
}

void launcher_trees_free(struct trees **t)
{
	if (!*t)
		return;
	for (size_t i = 0; i < (*t)->nr; i++)
		fd_close(&(*t)->item[i].ns);
	free_ptr(&(*t)->item);
	free_ptr(t);
}

static int write_map(pid_t pid, const char *file, unsigned from, unsigned to, struct err *err)
{
	char path[64], text[64];
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	int len = snprintf(text, sizeof(text), "%u %u 1\n", from, to);
	CLEANUP(fd_close) int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, (size_t)len) != len)
		return err_sys(err, "can't write '%s'", path);
	return 0;
}

/* A child that holds a new user namespace until it is killed. */
static int namespace_holder(pid_t *pid_out, struct err *err)
{
	int ready[2];
	char c;
	if (pipe2(ready, O_CLOEXEC) < 0)
		return err_sys(err, "can't create a pipe");
	pid_t pid = fork();
	if (pid == 0) {
		if (unshare(CLONE_NEWUSER) < 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	ssize_t n = pid < 0 ? -1 : read(ready[0], &c, 1);
	close(ready[0]);
	if (pid < 0)
		return err_sys(err, "can't fork");
	if (n != 1) {
		waitpid(pid, NULL, 0);
		return err_set(err, ERR_UNSUPPORTED, "can't create a user namespace");
	}
	*pid_out = pid;
	return 0;
}

static int idmap_make(struct idmap *m, struct err *err)
{
	pid_t pid = 0;
	if (namespace_holder(&pid, err) < 0)
		return -1;
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	int rc = write_map(pid, "uid_map", m->from_uid, m->to_uid, err);
	if (rc == 0)
		rc = write_map(pid, "gid_map", m->from_gid, m->to_gid, err);
	if (rc == 0 && (m->ns = open(path, O_RDONLY | O_CLOEXEC)) < 0)
		rc = err_sys(err, "can't open '%s'", path);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return rc;
}

static int idmap_find(struct trees *t, const struct stat *owner, uid_t uid, gid_t gid,
		      struct err *err)
{
	struct idmap m = { .from_uid = owner->st_uid,
			   .to_uid = uid,
			   .from_gid = owner->st_gid,
			   .to_gid = gid,
			   .ns = -1 };
	for (size_t i = 0; i < t->nr; i++)
		if (t->item[i].from_uid == m.from_uid && t->item[i].to_uid == uid &&
		    t->item[i].from_gid == m.from_gid && t->item[i].to_gid == gid)
			return t->item[i].ns;
	if (idmap_make(&m, err) < 0)
		return -1;
	GROW(t->item, t->nr, t->cap);
	t->item[t->nr++] = m;
	return m.ns;
}

static int make_own(const char *path, uid_t uid, gid_t gid, struct err *err)
{
	/* not its parent, which may just have been removed */
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_sys(err, "can't create '%s'", path);
	CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fchown(fd, uid, gid) < 0 || fchmod(fd, 0700) < 0)
		return err_sys(err, "can't change the owner of '%s'", path);
	return 0;
}

struct tree {
	const char *path, *kind;
	uid_t uid;
	gid_t gid;
	struct stat st;
	int fd;
	bool idmap;
};

static int clone_tree(struct trees *t, struct tree *tree, struct err *err)
{
	bool own = strcmp(tree->kind, "own") == 0, repo = strcmp(tree->kind, "repo") == 0;
	tree->fd = (int)syscall(SYS_open_tree, AT_FDCWD, tree->path,
				OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree->fd < 0)
		return err_sys(err, "can't clone the mount of '%s'", tree->path);
	struct mount_attr at = { .attr_set = MOUNT_ATTR_NOSUID | (own ? 0 : MOUNT_ATTR_RDONLY) |
					     (own || repo ? MOUNT_ATTR_NODEV : 0) };
	if (syscall(SYS_mount_setattr, tree->fd, "", AT_EMPTY_PATH, &at, sizeof(at)) < 0)
		return err_sys(err, "can't make the mount of '%s' read-only", tree->path);
	if (!repo || (tree->st.st_uid == tree->uid && tree->st.st_gid == tree->gid))
		return 0;
	int ns = idmap_find(t, &tree->st, tree->uid, tree->gid, err);
	if (ns < 0)
		return -1;
	struct mount_attr id = { .attr_set = MOUNT_ATTR_IDMAP,
				 .userns_fd = (unsigned long long)(unsigned)ns };
	tree->idmap = syscall(SYS_mount_setattr, tree->fd, "", AT_EMPTY_PATH, &id, sizeof(id)) == 0;
	/* without idmapped mounts the owner's files are foreign to the sandbox; the answer reports
	 * it */
	return 0;
}

static int open_one(struct trees *t, struct tree *tree, struct err *err)
{
	if (strcmp(tree->kind, "own") == 0 && make_own(tree->path, tree->uid, tree->gid, err) < 0)
		return -1;
	if (stat(tree->path, &tree->st) < 0)
		return err_sys(err, "can't read the status of '%s'", tree->path);
	return t->who->root ? clone_tree(t, tree, err) : 0;
}

json_t *trees_open(struct trees *t, const json_t *request, int *fds, size_t *nr_fds,
		   struct err *err)
{
	const json_t *list = json_object_get(request, "trees");
	int64_t uid = json_int(request, "uid", -1), gid = json_int(request, "gid", -1);
	if (!json_is_array(list) || json_array_size(list) > FD_PASS_MAX || uid <= 0 || gid <= 0) {
		err_set(err, ERR_INVALID, "trees: invalid request");
		return NULL;
	}
	json_t *out = json_array();
	*nr_fds = 0;
	for (size_t i = 0; i < json_array_size(list); i++) {
		CLEANUP(buf_release) struct buf path = BUF_INIT;
		struct tree tree = { .kind = json_str(json_array_get(list, i), "kind", "plain"),
				     .uid = (uid_t)uid,
				     .gid = (gid_t)gid,
				     .fd = -1 };
		if (strcmp(tree.kind, "guest") == 0) { /* ours, wherever we are installed */
			CLEANUP(free_ptr) char *guest = paths_libexec("sandglass-guest");
			buf_puts(&path, guest);
		} else if (!json_get_bytes(json_object_get(json_array_get(list, i), "path"),
					   &path) ||
			   path.len == 0) {
			err_set(err, ERR_INVALID, "trees: missing path");
			goto fail;
		}
		tree.path = path.data;
		int rc = open_one(t, &tree, err);
		if (tree.fd >= 0)
			fds[(*nr_fds)++] = tree.fd;
		if (rc < 0)
			goto fail;
		json_t *one = json_object();
		json_put_bytes(one, "path", path.data, path.len);
		json_put_flag(one, "fd", tree.fd >= 0);
		json_put_int(one, "uid", tree.st.st_uid);
		json_put_int(one, "gid", tree.st.st_gid);
		json_put_flag(one, "idmap", tree.idmap);
		json_array_append_new(out, one);
	}
	json_t *body = json_object();
	json_put(body, "trees", out);
	return body;
fail:
	for (size_t i = 0; i < *nr_fds; i++)
		fd_close(&fds[i]);
	*nr_fds = 0;
	json_decref(out);
	return NULL;
}
