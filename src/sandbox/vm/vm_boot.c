#include "sandbox/vm/vm_boot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "loop/loop.h"
#include "sandbox/vm/cpio.h"
#include "wire/machine.h"

enum { KERNEL_MAX = 256 << 20, FILE_MAX = 16 << 20, SKELETON_MAX = 64 << 20, DEPTH_MAX = 16 };

void vm_boot_release(struct vm_boot *b)
{
	fd_close(&b->kernel_fd);
	fd_close(&b->initrd_fd);
	fd_close(&b->disk_fd);
	if (b->disk)
		unlink(b->disk);
	free(b->kernel);
	free(b->modules);
	free(b->image);
	free(b->disk);
}

/* --- which kernel --- */

static const char *vm_boot_version_of(const char *kernel)
{
	const char *name = strrchr(kernel, '/'), *dash;
	name = name ? name + 1 : kernel;
	dash = strchr(name, '-');
	return dash ? dash + 1 : name;
}

/* The newest in /boot; NULL: there is none. Returns owned. */
static char *vm_boot_newest(void)
{
	DIR *d = opendir("/boot");
	char *best = NULL;
	for (const struct dirent *e; d && (e = readdir(d));)
		if (strncmp(e->d_name, "vmlinuz-", 8) == 0 &&
		    (!best || strverscmp(e->d_name, best) > 0)) {
			free(best);
			best = mem_strdup(e->d_name);
		}
	if (d)
		closedir(d);
	char *path = best ? path_join("/boot", best) : NULL;
	free(best);
	return path;
}

static char *vm_boot_installed(void)
{
	struct utsname here;
	char *running = uname(&here) == 0 ? mem_printf("/boot/vmlinuz-%s", here.release) : NULL;
	if (running && access(running, R_OK) == 0)
		return running;
	free(running);
	return vm_boot_newest();
}

int vm_boot_find(struct vm_boot *b, struct err *err)
{
	struct stat st;
	if (!b->kernel)
		b->kernel = vm_boot_installed();
	if (!b->kernel)
		return err_set(
			err, ERR_NOENT,
			"no kernel for a virtual machine in /boot; install linux-image-amd64, or name a "
			"kernel with kernel=");
	if (access(b->kernel, R_OK) < 0)
		return err_sys(err, "can't read the kernel '%s'", b->kernel);
	if (!b->modules)
		b->modules = mem_printf("/lib/modules/%s", vm_boot_version_of(b->kernel));
	if (access(b->modules, R_OK | X_OK) < 0)
		return err_sys(
			err,
			"can't read the kernel's modules '%s' (name their directory with modules=)",
			b->modules);
	if (b->image && (stat(b->image, &st) < 0 || !S_ISDIR(st.st_mode)))
		return err_set(err, ERR_INVALID,
			       "the image '%s' is not a directory with a root file system",
			       b->image);
	return 0;
}

/* --- modules --- */

/* Modules for the machine; a missing one may be built into the kernel. */
static const char *const vm_boot_wanted[] = {
	"virtio",
	"virtio_ring",
	"virtio_pci_legacy_dev",
	"virtio_pci_modern_dev",
	"virtio_pci",
	"virtio_mmio",
	"virtio_console",
	"virtio_blk",
	"netfs",
	"fscache",
	"9pnet",
	"9pnet_virtio",
	"9p",
	"overlay",
	"crc16",
	"crc32c_generic",
	"libcrc32c",
	"mbcache",
	"jbd2",
	"ext4",
	"virtio_rng",
};

struct gather {
	struct buf *out;
	struct err *err;
	size_t nr;
};

static _Thread_local struct gather *vm_boot_gathering; /* nftw has no room for one */

static bool is_wanted(const char *name)
{
	size_t len = strcspn(name, ".");
	if (strncmp(name + len, ".ko", 3) != 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(vm_boot_wanted); i++)
		if (strlen(vm_boot_wanted[i]) == len && strncmp(vm_boot_wanted[i], name, len) == 0)
			return true;
	return false;
}

static int on_module(const char *path, const struct stat *st, int flag, struct FTW *at)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT;
	(void)st;
	if (flag != FTW_F || !is_wanted(path + at->base))
		return 0;
	if (file_read(path, &bytes, FILE_MAX, vm_boot_gathering->err) < 0)
		return -1;
	CLEANUP(free_ptr) char *name = mem_printf(MACHINE_MODULES "/%s", path + at->base);
	cpio_add(vm_boot_gathering->out, name, S_IFREG | 0644, bytes.data, bytes.len);
	vm_boot_gathering->nr++;
	return 0;
}

static int vm_boot_modules(const struct vm_boot *b, struct buf *out, struct err *err)
{
	struct gather g = { .out = out, .err = err };
	CLEANUP(free_ptr) char *from = path_join(b->modules, "kernel");
	vm_boot_gathering = &g;
	int rc = nftw(from, on_module, 16, FTW_PHYS);
	vm_boot_gathering = NULL;
	if (rc < 0 && !err->code)
		return err_sys(err, "can't read the kernel's modules '%s'", from);
	return rc < 0 ? -1 : 0;
}

/* --- the root that takes its programs from /usr --- */

static int vm_boot_add(struct buf *out, const char *from, const char *name, int depth,
		       struct err *err);

static int add_folder(struct buf *out, const char *from, const char *name, int depth,
		      struct err *err)
{
	struct dirent **all;
	int nr = depth < DEPTH_MAX ? scandir(from, &all, NULL, alphasort) : 0, rc = 0;
	cpio_add(out, name, S_IFDIR | 0755, "", 0);
	for (int i = 0; i < nr; i++) {
		CLEANUP(free_ptr)
		char *path = path_join(from, all[i]->d_name), *as = path_join(name, all[i]->d_name);
		if (rc == 0 && strcmp(all[i]->d_name, ".") != 0 &&
		    strcmp(all[i]->d_name, "..") != 0)
			rc = vm_boot_add(out, path, as, depth + 1, err);
		free(all[i]);
	}
	if (nr > 0)
		free(all);
	return rc;
}

/* Missing and private files are left out, as in a process sandbox. */
static int vm_boot_add(struct buf *out, const char *from, const char *name, int depth,
		       struct err *err)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT;
	struct err ignored = ERR_INIT;
	char target[4096];
	struct stat st;
	if (out->len > SKELETON_MAX)
		return err_set(err, ERR_FULL, "'%s' is too large for the root of a virtual machine",
			       from);
	if (lstat(from, &st) < 0)
		return 0;
	if (S_ISDIR(st.st_mode))
		return add_folder(out, from, name, depth, err);
	ssize_t n = S_ISLNK(st.st_mode) ? readlink(from, target, sizeof(target)) : -1;
	if (n > 0)
		cpio_add(out, name, S_IFLNK | 0777, target, (size_t)n);
	else if (S_ISREG(st.st_mode) && st.st_mode & S_IROTH &&
		 file_read(from, &bytes, FILE_MAX, &ignored) == 0)
		cpio_add(out, name, S_IFREG | 0644, bytes.data, bytes.len);
	return 0;
}

#define ETC_GIT_MORE ""

static int vm_boot_skeleton(struct buf *out, struct err *err)
{
	static const char *const links[] = {
		"/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32"
	};
	static const char *const dirs[] = { "", "/etc", "/etc/ssl", "/etc/pki", "/etc/pki/tls" };
	static const char *const theirs[] = {
#define THEIRS(path) path,
#define OURS(name, text)
#include "wire/etc.def"
	};
	static const char *const ours[][2] = {
#define THEIRS(path)
#define OURS(name, text) { name, text },
#include "wire/etc.def"
	};
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		CLEANUP(free_ptr) char *name = mem_printf(MACHINE_SKELETON "%s", dirs[i]);
		cpio_add(out, name, S_IFDIR | 0755, "", 0);
	}
	for (size_t i = 0; i < ARRAY_LEN(links) + ARRAY_LEN(theirs); i++) {
		const char *path = i < ARRAY_LEN(links) ? links[i] : theirs[i - ARRAY_LEN(links)];
		CLEANUP(free_ptr) char *name = mem_printf(MACHINE_SKELETON "%s", path);
		if (vm_boot_add(out, path, name, 0, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < ARRAY_LEN(ours); i++) {
		CLEANUP(free_ptr) char *name = mem_printf(MACHINE_SKELETON "/etc/%s", ours[i][0]);
		cpio_add(out, name, S_IFREG | 0644, ours[i][1], strlen(ours[i][1]));
	}
	return 0;
}

/* --- making it --- */

static int vm_boot_in_memory(const char *name, const struct buf *bytes, struct err *err)
{
	int fd = memfd_create(name, MFD_CLOEXEC);
	if (fd < 0)
		return err_sys(err, "can't keep %s in memory", name);
	if (fd_write_all(fd, bytes->data, bytes->len, err) < 0)
		fd_close(&fd);
	return fd;
}

static int vm_boot_initrd(const struct vm_boot *b, struct err *err)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT, guest = BUF_INIT;
	CLEANUP(free_ptr) char *path = paths_libexec("sandglass-guest");
	if (file_read(path, &guest, FILE_MAX, err) < 0)
		return err_wrap(err, "the guest program");
	cpio_add(&out, "init", S_IFREG | 0755, guest.data, guest.len);
	cpio_add(&out, MACHINE_MODULES, S_IFDIR | 0755, "", 0);
	if (vm_boot_modules(b, &out, err) < 0 || (!b->image && vm_boot_skeleton(&out, err) < 0))
		return -1;
	cpio_end(&out);
	return vm_boot_in_memory("the first files of the virtual machine", &out, err);
}

/* A file system without a journal: when the machine ends, so does the disk. */
static int vm_boot_format(const char *disk, struct err *err)
{
	static char *const env[] = { (char *)(uintptr_t) "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
				     NULL };
	const char *argv[] = { "env",	       "mke2fs", "-q",
			       "-F",	       "-t",	 "ext4",
			       "-m",	       "0",	 "-O",
			       "^has_journal", "-E",	 "lazy_itable_init=1,nodiscard",
			       disk,	       NULL };
	int pid, pidfd = -1, status = 0;
	if (proc_spawn("/usr/bin/env", (char *const *)(uintptr_t)argv, env, NULL, 0, &pid, &pidfd,
		       err) < 0)
		return -1;
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	while (poll(&p, 1, -1) < 0 && errno == EINTR)
		;
	int rc = proc_reap(pidfd, &status, err);
	fd_close(&pidfd);
	if (rc == 0 && status)
		return err_set(err, ERR_UNSUPPORTED,
			       status == 127
				       ? "program 'mke2fs' not found; install e2fsprogs"
				       : "mke2fs can't create the disk of the virtual machine");
	return rc;
}

static int vm_boot_disk(struct vm_boot *b, struct err *err)
{
	(void)unlink(b->disk);
	b->disk_fd = open(b->disk, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (b->disk_fd < 0 || ftruncate(b->disk_fd, b->disk_bytes) < 0 ||
	    (geteuid() == 0 && fchown(b->disk_fd, b->uid, b->gid) < 0))
		return err_sys(err, "can't create the disk '%s' of the virtual machine", b->disk);
	return vm_boot_format(b->disk, err);
}

int vm_boot_make(struct vm_boot *b, struct err *err)
{
	CLEANUP(buf_release) struct buf kernel = BUF_INIT;
	if (file_read(b->kernel, &kernel, KERNEL_MAX, err) < 0)
		return -1;
	b->kernel_fd = vm_boot_in_memory("the kernel", &kernel, err);
	if (b->kernel_fd < 0)
		return -1;
	b->initrd_fd = vm_boot_initrd(b, err);
	return b->initrd_fd < 0 ? -1 : vm_boot_disk(b, err);
}
