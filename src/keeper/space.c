#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "keeper/keeper_priv.h"

int space_write(const char *path, const char *text, struct err *err)
{
	size_t len = strlen(text);
	CLEANUP(fd_close) int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, len) != (ssize_t)len)
		return err_sys(err, "can't write '%s'", path);
	return 0;
}

static int write_maps(const struct keeper *k, struct err *err)
{
	char text[64];
	snprintf(text, sizeof(text), "%u %u 1", (unsigned)k->uid, (unsigned)k->uid);
	if (space_write("/proc/self/uid_map", text, err) < 0 ||
	    space_write("/proc/self/setgroups", "deny", err) < 0)
		return -1;
	snprintf(text, sizeof(text), "%u %u 1", (unsigned)k->gid, (unsigned)k->gid);
	return space_write("/proc/self/gid_map", text, err);
}

int space_enter(const struct keeper *k, struct err *err)
{
	umask(022);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return err_sys(err, "can't create a user namespace");
	if (write_maps(k, err) < 0)
		return -1;
	if (mount(NULL, "/", NULL, MS_PRIVATE | MS_REC, NULL) < 0 ||
	    mount("tmpfs", SPACE, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=64m") < 0)
		return err_sys(err, "can't mount a tmpfs in the mount namespace of the sandbox");
	if (mkdir(SPACE "/layer", 0755) < 0)
		return err_sys(err,
			       "can't create a directory in the mount namespace of the sandbox");
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return 0;
}

/* A path is opened by ourselves where the launcher is an ordinary user: it has the same uid as
 * we. */
static int bind_path(const char *path, const char *target, bool read_only, struct err *err)
{
	unsigned at = 0;
	if (mount(path, target, NULL, MS_BIND, NULL) < 0) {
		/* without rights over it, a mount below that came from outside cannot be left
		 * out */
		if (errno != EINVAL || mount(path, target, NULL, MS_BIND | MS_REC, NULL) < 0)
			return err_sys(err, "can't mount '%s'", path);
		at = AT_RECURSIVE;
	}
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_NOSUID |
					       (read_only ? MOUNT_ATTR_RDONLY : 0) };
	if (syscall(SYS_mount_setattr, AT_FDCWD, target, at, &attr, sizeof(attr)) < 0)
		return err_sys(err, "can't make the mount of '%s' read-only", path);
	return 0;
}

int space_place(struct keeper *k, const json_t *tree, const char *target, bool is_file,
		bool read_only, struct err *err)
{
	if (is_file ? space_write(target, "", err) < 0 : mkdir(target, 0755) < 0 && errno != EEXIST)
		return err_sys(err, "can't create '%s'", target);
	int64_t n = json_int(tree, "fd", -1);
	if (n < 0) {
		CLEANUP(buf_release) struct buf path = BUF_INIT;
		if (!json_get_bytes(json_object_get(tree, "path"), &path) || path.len == 0)
			return err_set(err, ERR_INVALID, "tree: missing descriptor and path");
		return bind_path(path.data, target, read_only, err);
	}
	if ((size_t)n >= k->in->nr)
		return err_set(err, ERR_INVALID, "descriptor %lld was not sent", (long long)n);
	if (syscall(SYS_move_mount, k->in->fd[n], "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH) <
	    0)
		return err_sys(err, "can't attach '%s'", target);
	return 0;
}
