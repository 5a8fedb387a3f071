#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "keeper/keeper_priv.h"
#include "wire/clone.h"

/* The sandbox's root is assembled here and passed to bubblewrap in one piece: each bind of
 * bubblewrap's own makes it read all mounts. */

enum { COPY_MAX = 1 << 20, BYTES_PER_INODE = 4096, PTYS_MAX = 64 };

static int make_dirs(const char *const *dirs, struct err *err)
{
	for (; *dirs; dirs++)
		if (mkdir(*dirs, 0755) < 0)
			return err_sys(err, "can't create '%s'", *dirs);
	return 0;
}

static int make_stage(const char *path, mode_t mode, struct err *err)
{
	if ((mkdir(path, mode) < 0 && errno != EEXIST) || chmod(path, mode) < 0 ||
	    mount(path, path, NULL, MS_BIND, NULL) < 0 ||
	    mount(NULL, path, NULL, MS_SHARED, NULL) < 0)
		return err_sys(err, "can't create the shared mount '%s'", path);
	return 0;
}

/* Later mounts on its directories appear in the sandbox, too. Only we write there, by the other
 * path. */
static int make_git_stage(struct err *err)
{
	static const char at[] = SPACE_BOX "/run/sandglass/git";
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
					       MOUNT_ATTR_NODEV };
	if (mkdir(SPACE_GIT, 0755) < 0 || mkdir(at, 0755) < 0 ||
	    mount(SPACE_GIT, at, NULL, MS_BIND, NULL) < 0 ||
	    mount(NULL, at, NULL, MS_SHARED, NULL) < 0 ||
	    syscall(SYS_mount_setattr, AT_FDCWD, at, 0, &attr, sizeof(attr)) < 0)
		return err_sys(err, "can't create the shared mount '%s'", at);
	return 0;
}

/* git links the objects of a local clone, and ends at a link whose inode is not that of the file
 * before, as in an overlay. Between two mounts, and over file://, it copies. So the workspace is
 * mounted a second time, and git takes paths below the workspace from there: bundles can't be
 * reached over file://, which is for the workspace itself. The mount is a peer of the
 * first, so layers mounted on one show on the other. Its directory can be searched, but not listed,
 * so that searches from / find no file twice. */
#define ETC_GIT_MORE                                                                               \
	"[url \"file:///workspace\"]\n\tinsteadOf = /workspace\n"                                  \
	"[url \"file:///workspace/.\"]\n\tinsteadOf = /workspace/.\n"                              \
	"[url \"" CLONE_FROM "/workspace/\"]\n\tinsteadOf = /workspace/\n"                         \
	"\tinsteadOf = /workspace/./\n"

static int second_stage(struct err *err)
{
	static const char dir[] = SPACE_BOX CLONE_FROM, at[] = SPACE_BOX CLONE_FROM "/workspace";
	if (mkdir(dir, 0755) < 0 || mkdir(at, 0755) < 0 || chmod(dir, 0311) < 0 ||
	    mount(SPACE_STAGE, at, NULL, MS_BIND, NULL) < 0)
		return err_sys(err, "can't create the shared mount '%s'", at);
	return 0;
}

static int bind_host(struct keeper *k, const char *path, struct err *err)
{
	CLEANUP(json_release) json_t *tree = json_object();
	CLEANUP(free_ptr) char *target = mem_printf(SPACE_BOX "%s", path);
	json_put_str(tree, "path", path);
	return space_place(k, tree, target, false, true, err);
}

/* /usr is shared; older layouts have real directories where newer ones have links into it. */
static int root_system_folders(struct keeper *k, struct err *err)
{
	static const char *const top[] = { "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32" };
	if (bind_host(k, "/usr", err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(top); i++) {
		CLEANUP(free_ptr) char *at = mem_printf(SPACE_BOX "%s", top[i]);
		char target[256];
		struct stat st;
		ssize_t n = readlink(top[i], target, sizeof(target) - 1);
		if (n > 0) {
			target[n] = 0;
			if (symlink(target, at) < 0)
				return err_sys(err, "can't create '%s'", at);
		} else if (stat(top[i], &st) == 0 && S_ISDIR(st.st_mode) &&
			   bind_host(k, top[i], err) < 0) {
			return -1;
		}
	}
	return 0;
}

/* --- /etc: little of the machine's, and what names the agent --- */

static int root_copy_file(const char *from, const char *to, struct err *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err ignored = ERR_INIT;
	if (file_read(from, &text, COPY_MAX, &ignored) < 0)
		return 0; /* not there, or not for everybody */
	CLEANUP(fd_close) int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return err_sys(err, "can't create '%s'", to);
	return fd_write_all(fd, buf_cstr(&text), text.len, err);
}

static int root_theirs(struct keeper *k, const char *path, struct err *err)
{
	CLEANUP(free_ptr) char *at = mem_printf(SPACE_BOX "%s", path);
	char target[512];
	struct stat st;
	ssize_t n = readlink(path, target, sizeof(target) - 1);
	if (n > 0) {
		target[n] = 0;
		return symlink(target, at) < 0 ? err_sys(err, "can't create '%s'", at) : 0;
	}
	if (stat(path, &st) < 0)
		return 0;
	return S_ISDIR(st.st_mode) ? bind_host(k, path, err) : root_copy_file(path, at, err);
}

static int etc_folder(struct keeper *k, struct err *err)
{
	static const char *const of_machine[] = {
#define THEIRS(path) path,
#define OURS(name, text)
#include "wire/etc.def"
	};
	static const char *const ours[][2] = {
#define THEIRS(path)
#define OURS(name, text) { name, text },
#include "wire/etc.def"
	};
	static const char *const dirs[] = { SPACE_BOX "/etc", SPACE_BOX "/etc/ssl",
					    SPACE_BOX "/etc/pki", SPACE_BOX "/etc/pki/tls", NULL };
	if (make_dirs(dirs, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(of_machine); i++)
		if (root_theirs(k, of_machine[i], err) < 0)
			return -1;
	for (size_t i = 0; i < ARRAY_LEN(ours); i++) {
		CLEANUP(free_ptr) char *at = mem_printf(SPACE_BOX "/etc/%s", ours[i][0]);
		if (space_write(at, ours[i][1], err) < 0)
			return -1;
	}
	return 0;
}

/* --- named roots: tools outside /usr --- */

#define HIDDEN_FILE SPACE "/hidden-file"
#define HIDDEN_DIR  SPACE "/hidden-dir"

static int make_hidden(struct err *err)
{
	if (space_write(HIDDEN_FILE, "", err) < 0)
		return -1;
	if (chmod(HIDDEN_FILE, 0444) < 0 || (mkdir(HIDDEN_DIR, 0555) < 0 && errno != EEXIST))
		return err_sys(err, "can't create the replacement of hidden files");
	return 0;
}

/* Opened once without following links, then covered: nothing that is renamed in between is covered
 * in its place. */
static int hide_one(int root, const struct buf *below, struct err *err)
{
	CLEANUP(fd_close) int fd = open_beneath(root, below->data, below->len, O_PATH, 0);
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
					       MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC };
	struct stat st;
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, "can't open '%s' to hide it", below->data);
	CLEANUP(fd_close)
	int cover = (int)syscall(SYS_open_tree, AT_FDCWD,
				 S_ISDIR(st.st_mode) ? HIDDEN_DIR : HIDDEN_FILE,
				 OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (cover < 0 ||
	    syscall(SYS_mount_setattr, cover, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0 ||
	    syscall(SYS_move_mount, cover, "", fd, "",
		    MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return err_sys(err, "can't hide '%s'", below->data);
	return 0;
}

static int hide_below(const char *root, const json_t *hide, struct err *err)
{
	if (json_array_size(hide) == 0)
		return 0;
	CLEANUP(fd_close) int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(err, "can't open '%s'", root);
	if (make_hidden(err) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(hide); i++) {
		CLEANUP(buf_release) struct buf below = BUF_INIT;
		if (json_get_bytes(json_array_get(hide, i), &below) &&
		    hide_one(fd, &below, err) < 0)
			return -1;
	}
	return 0;
}

static int root_roots(struct keeper *k, const json_t *list, struct err *err)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *root = json_array_get(list, i);
		const char *at = json_str(root, "at", "");
		CLEANUP(free_ptr) char *target = mem_printf(SPACE_BOX "%s", at);
		if (*at != '/' || strstr(at, "/../") || strncmp(at, "/workspace", 10) == 0 ||
		    strncmp(at, "/proc", 5) == 0 || strncmp(at, "/dev", 4) == 0 ||
		    strncmp(at, "/usr", 4) == 0)
			return err_set(err, ERR_INVALID,
				       "invalid root directory of a sandbox: '%s'", at);
		if (dir_make(target, 0755, err) < 0 ||
		    space_place(k, json_object_get(root, "tree"), target, false, true, err) < 0 ||
		    hide_below(target, json_object_get(root, "hide"), err) < 0)
			return -1;
	}
	return 0;
}

/* Bounds that bubblewrap's own /dev/shm and /dev/pts lack. */
static int device_mounts(const json_t *request, struct err *err)
{
	char shm[96], pts[64];
	long long bytes = (long long)json_int(request, "shm_bytes", 64 << 20);
	snprintf(shm, sizeof(shm), "mode=1777,size=%lld,nr_inodes=%lld", bytes,
		 bytes / BYTES_PER_INODE);
	snprintf(pts, sizeof(pts), "newinstance,ptmxmode=0666,mode=620,max=%d", PTYS_MAX);
	if (mkdir(SPACE_SHM, 0755) < 0 ||
	    mount("tmpfs", SPACE_SHM, "tmpfs", MS_NOSUID | MS_NODEV, shm) < 0)
		return err_sys(err, "can't create /dev/shm of the sandbox");
	if (mkdir(SPACE_PTS, 0755) < 0 ||
	    mount("devpts", SPACE_PTS, "devpts", MS_NOSUID | MS_NOEXEC, pts) < 0)
		return err_sys(err, "can't create /dev/pts of the sandbox");
	return 0;
}

int root_make(struct keeper *k, const json_t *request, struct err *err)
{
	static const char *const dirs[] = {
		SPACE_BOX "/usr",  SPACE_BOX "/proc", SPACE_BOX "/dev",
		SPACE_BOX "/tmp",  SPACE_BOX "/run",  SPACE_BOX "/run/sandglass",
		SPACE_BOX "/home", SPACE_BOX "/var",  NULL
	};
	char options[96];
	long long tmp = (long long)json_int(request, "tmp_bytes", 256 << 20);
	/* empty files take the kernel's memory, which the size does not count */
	snprintf(options, sizeof(options), "mode=1777,size=%lld,nr_inodes=%lld", tmp,
		 tmp / BYTES_PER_INODE);
	if (mkdir(SPACE_BOX, 0755) < 0 || mount(SPACE_BOX, SPACE_BOX, NULL, MS_BIND, NULL) < 0)
		return err_sys(err, "can't create the root of the sandbox");
	if (make_dirs(dirs, err) < 0 || root_system_folders(k, err) < 0 || etc_folder(k, err) < 0)
		return -1;
	if (mount("tmpfs", SPACE_BOX "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, options) < 0 ||
	    symlink("../tmp", SPACE_BOX "/var/tmp") < 0)
		return err_sys(err, "can't create /tmp of the sandbox");
	if (device_mounts(request, err) < 0)
		return -1;
	if (make_stage(SPACE_STAGE, 0755, err) < 0 || second_stage(err) < 0 ||
	    make_stage(SPACE_HOME, 0700, err) < 0 || make_git_stage(err) < 0 ||
	    space_place(k, json_object_get(request, "guest"), SPACE_BOX "/run/sandglass/guest",
			true, true, err) < 0 ||
	    root_roots(k, json_object_get(request, "roots"), err) < 0)
		return -1;
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };
	if (syscall(SYS_mount_setattr, AT_FDCWD, SPACE_BOX, 0, &attr, sizeof(attr)) < 0)
		return err_sys(err, "can't make the root of the sandbox read-only");
	return 0;
}
