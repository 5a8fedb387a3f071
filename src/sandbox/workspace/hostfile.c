#include "sandbox/workspace/hostfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/failpoint.h"
#include "base/fd.h"
#include "base/mem.h"
#include "sandbox/workspace/content.h"
#include "sandbox/workspace/hostplace.h"
#include "base/beneath.h"

static int hostfile_open_parent(int root, const char *path, size_t len, char **name_out)
{
	const char *slash = memrchr(path, '/', len);
	int fd = beneath_open(root, path, slash ? (size_t)(slash - path) : 0, O_PATH | O_DIRECTORY);
	if (fd >= 0)
		*name_out = slash ? mem_strndup(slash + 1, len - (size_t)(slash - path) - 1)
				  : mem_strndup(path, len);
	return fd;
}

void hostfile_read(struct hostfile *h, int root, const char *path, size_t len)
{
	hostfile_release(h);
	CLEANUP(free_ptr) char *name = NULL;
	CLEANUP(fd_close) int dir = hostfile_open_parent(root, path, len, &name);
	if (dir < 0) {
		h->blocked = errno == ENOENT	? NULL
			     : errno == ELOOP	? "a symbolic link is in the way"
			     : errno == ENOTDIR ? "a file or a link is in the way of a directory"
						: "can't be reached";
		return;
	}
	if (fstatat(dir, name, &h->st, AT_SYMLINK_NOFOLLOW) < 0) {
		memset(&h->st, 0, sizeof(h->st));
		return;
	}
	if (S_ISREG(h->st.st_mode)) {
		CLEANUP(fd_close)
		int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0)
			h->state = (struct ws_state){ .kind = WS_FILE, .flags = WS_UNREADABLE };
		else
			content_file(fd, (struct content_rule){ .keep_max = HOSTFILE_MAX },
				     &h->state, &h->bytes, &h->st);
		if (h->state.flags & (WS_UNREADABLE | WS_TORN))
			h->blocked =
				h->state.flags & WS_TORN ? "is being written" : "can't be read";
	} else if (S_ISLNK(h->st.st_mode)) {
		content_link(dir, name, &h->state, &h->bytes);
	} else {
		content_other(&h->st, &h->state);
	}
}

void hostfile_release(struct hostfile *h)
{
	buf_release(&h->bytes);
	*h = HOSTFILE_INIT;
}

bool hostfile_same(const struct hostfile *h, int root, const char *path, size_t len)
{
	struct stat st;
	CLEANUP(free_ptr) char *name = NULL;
	CLEANUP(fd_close) int dir = hostfile_open_parent(root, path, len, &name);
	if (dir < 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return h->st.st_ino == 0;
	return hostplace_same(&st, &h->st);
}

static int hostfile_make_parents(int root, const char *path, size_t len, struct err *err)
{
	for (size_t i = 1; i < len; i++) {
		if (path[i] != '/')
			continue;
		CLEANUP(free_ptr) char *name = NULL;
		CLEANUP(fd_close) int dir = hostfile_open_parent(root, path, i, &name);
		if (dir < 0 || (mkdirat(dir, name, 0777) < 0 && errno != EEXIST))
			return err_sys(err, "can't create directory '%.*s'",
				       (int)(i < 300 ? i : 300), path);
	}
	return 0;
}

struct temp_names {
	char ready[HOSTPLACE_TEMP], fresh[HOSTPLACE_TEMP];
};

static struct temp_names names_beside(const char *path, size_t len)
{
	struct temp_names n;
	hostplace_temp(path, len, false, n.ready);
	hostplace_temp(path, len, true, n.fresh);
	return n;
}

static int write_link(int dir, const char *temp, const void *bytes, size_t nr, struct err *err)
{
	CLEANUP(free_ptr) char *target = mem_strndup(bytes, nr);
	return symlinkat(target, dir, temp) < 0 ? err_sys(err, "can't write the link") : 0;
}

static int write_file(int dir, const char *temp, const struct ws_state *s, const void *bytes,
		      size_t nr, struct stat *wrote, struct err *err)
{
	CLEANUP(fd_close)
	int fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(err, "can't write");
	int rc = fd_write_all(fd, bytes, nr, err);
	if (rc == 0 && wrote && fstat(fd, wrote) < 0)
		rc = err_sys(err, "can't look at what was written");
	if (rc == 0 && (fchmod(fd, s->mode & 0777) < 0 || fsync(fd) < 0))
		rc = err_sys(err, "can't write");
	if (rc < 0)
		unlinkat(dir, temp, 0);
	return rc;
}

/* A part of a file never has the name of one that was exchanged. */
static int write_bytes(int dir, const char *name, const struct temp_names *temp,
		       const struct ws_state *s, const void *bytes, size_t nr,
		       const struct stat *was, struct stat *wrote, struct err *err)
{
	int rc = s->kind == WS_LINK ? write_link(dir, temp->fresh, bytes, nr, err)
				    : write_file(dir, temp->fresh, s, bytes, nr, wrote, err);
	failpoint_hit("merge-fresh");
	if (rc == 0 && renameat(dir, temp->fresh, dir, temp->ready) < 0) {
		rc = err_sys(err, "can't write");
		unlinkat(dir, temp->fresh, 0);
	}
	return rc < 0 ? -1 : hostplace_put(dir, temp->ready, name, was, err);
}

static int hostfile_make_dir(int dir, const char *name, unsigned mode, struct err *err)
{
	if (mkdirat(dir, name, mode) < 0)
		return errno == EEXIST ? 0 : err_sys(err, "can't create the directory");
	return fchmodat(dir, name, mode, 0) < 0 ? err_sys(err, "can't create the directory") : 0;
}

int hostfile_write(int root, const char *path, size_t len, const struct ws_state *s,
		   const void *bytes, size_t nr, const struct stat *was, struct stat *wrote,
		   struct err *err)
{
	if (hostfile_make_parents(root, path, len, err) < 0)
		return -1;
	CLEANUP(free_ptr) char *name = NULL;
	CLEANUP(fd_close) int dir = hostfile_open_parent(root, path, len, &name);
	const struct temp_names temp = names_beside(path, len);
	int rc;
	if (dir < 0)
		return err_sys(err, "can't open the directory of '%.*s'",
			       (int)(len < 300 ? len : 300), path);
	if (s->kind == WS_DIR)
		rc = hostfile_make_dir(dir, name, s->mode & 0777, err);
	else
		rc = write_bytes(dir, name, &temp, s, bytes, nr, was, wrote, err);
	return rc < 0 ? err_wrap(err, "'%.*s'", (int)(len < 300 ? len : 300), path) : 0;
}

int hostfile_remove(int root, const char *path, size_t len, const struct stat *was, struct err *err)
{
	CLEANUP(free_ptr) char *name = NULL;
	CLEANUP(fd_close) int dir = hostfile_open_parent(root, path, len, &name);
	struct stat st;
	if (dir < 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT || errno == ENOTDIR
			       ? 0
			       : err_sys(err, "can't remove '%.*s'", (int)(len < 300 ? len : 300),
					 path);
	const struct temp_names temp = names_beside(path, len);
	if (!S_ISDIR(st.st_mode))
		return hostplace_remove(dir, temp.ready, name, was ? was : &st, err) < 0
			       ? err_wrap(err, "'%.*s'", (int)(len < 300 ? len : 300), path)
			       : 0;
	if (unlinkat(dir, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	bool full = errno == ENOTEMPTY || errno == EEXIST;
	err_sys(err, "can't remove '%.*s'", (int)(len < 300 ? len : 300), path);
	if (full)
		err->code = ERR_BUSY;
	return -1;
}

void hostfile_tidy(int root, const char *path, size_t len, size_t keep)
{
	struct err err = ERR_INIT;
	const char *slash;
	while ((slash = memrchr(path, '/', len))) {
		len = (size_t)(slash - path);
		if (len <= keep || hostfile_remove(root, path, len, NULL, &err) < 0)
			return;
	}
}

size_t hostfile_above(int root, const char *path, size_t len)
{
	const char *slash;
	while ((slash = memrchr(path, '/', len))) {
		len = (size_t)(slash - path);
		CLEANUP(fd_close) int fd = beneath_open(root, path, len, O_PATH | O_DIRECTORY);
		if (fd >= 0)
			return len;
	}
	return 0;
}

enum hostfile_left hostfile_settle(int root, const char *path, size_t len,
				   bool (*known)(void *self, const struct ws_state *s), void *self,
				   char out[HOSTPLACE_TEMP])
{
	CLEANUP(free_ptr) char *name = NULL;
	CLEANUP(fd_close) int dir = hostfile_open_parent(root, path, len, &name);
	const struct temp_names temp = names_beside(path, len);
	struct hostfile aside = HOSTFILE_INIT, here = HOSTFILE_INIT;
	if (dir < 0)
		return HOSTFILE_NOTHING;
	snprintf(out, HOSTPLACE_TEMP, "%s", temp.fresh);
	if (unlinkat(dir, temp.fresh, 0) == 0)
		return HOSTFILE_REMOVED;
	snprintf(out, HOSTPLACE_TEMP, "%s", temp.ready);
	hostfile_read(&aside, dir, temp.ready, strlen(temp.ready));
	hostfile_read(&here, dir, name, strlen(name));
	enum hostfile_left left = HOSTFILE_NOTHING;
	if (aside.st.st_ino && !aside.blocked && known(self, &aside.state))
		left = unlinkat(dir, temp.ready, 0) < 0 ? HOSTFILE_STAYS : HOSTFILE_REMOVED;
	else if (aside.st.st_ino && (here.blocked || !known(self, &here.state)))
		left = HOSTFILE_STAYS;
	else if (aside.st.st_ino)
		left = hostplace_return(dir, temp.ready, name, &here.st) < 0 ? HOSTFILE_STAYS
									     : HOSTFILE_BACK;
	hostfile_release(&aside);
	hostfile_release(&here);
	return left;
}
