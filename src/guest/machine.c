#include "guest/machine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "wire/machine.h"

#define ROOT "/new" /* the machine_root to be */
enum {
	COMPRESSED = 4 /* MODULE_INIT_COMPRESSED_FILE */,
	LATE_MS = 20000,
	STEP_MS = 10,
	PROGRAM_MAX = 64 << 20
};

static int machine_cannot(const char *what, const char *which)
{
	fprintf(stderr, "sandglass: can't %s '%s': %s\n", what, which, strerror(errno));
	return -1;
}

static int machine_make_dir(const char *path, mode_t mode)
{
	return mkdir(path, mode) < 0 && errno != EEXIST ? machine_cannot("make", path) : 0;
}

static int machine_put(const char *source, const char *at, const char *type, unsigned long flags,
		       const char *how)
{
	if (machine_make_dir(at, 0755) < 0)
		return -1;
	return mount(source, at, type, flags, how) < 0 ? machine_cannot("mount", at) : 0;
}

static int machine_system_folders(void)
{
	static const struct {
		const char *type, *at;
		unsigned long flags;
		const char *how;
	} table[] = {
		{ "devtmpfs", "/dev", MS_NOSUID, "mode=0755" },
		{ "proc", "/proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL },
		{ "sysfs", "/sys", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL },
		{ "devpts", "/dev/pts", MS_NOSUID | MS_NOEXEC, "mode=0620,ptmxmode=0666" },
		{ "tmpfs", "/dev/shm", MS_NOSUID | MS_NODEV, "mode=1777" },
	};
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (machine_put(table[i].type, table[i].at, table[i].type, table[i].flags,
				table[i].how) < 0)
			return -1;
	return 0;
}

/* --- modules --- */

/* A driver that is built in, or already loaded by another module, is not an error. */
static bool machine_load(const char *name)
{
	CLEANUP(free_ptr) char *path = mem_printf("/" MACHINE_MODULES "/%s", name);
	CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	const char *end = strrchr(path, '.');
	return fd >= 0 && (syscall(SYS_finit_module, fd, "",
				   end && strcmp(end, ".ko") != 0 ? COMPRESSED : 0) == 0 ||
			   errno == EEXIST);
}

/* One that needs another is refused until that is there: as long as one more could be loaded, the
 * rest is tried again. What cannot be loaded at all shows at the next mount. */
static void machine_modules(void)
{
	struct dirent **all;
	int nr = scandir("/" MACHINE_MODULES, &all, NULL, alphasort), loaded, left;
	do {
		loaded = left = 0;
		for (int i = 0; i < nr; i++) {
			if (!all[i])
				continue;
			if (all[i]->d_name[0] != '.' && !machine_load(all[i]->d_name)) {
				left++;
				continue;
			}
			loaded++;
			free(all[i]);
			all[i] = NULL;
		}
	} while (loaded && left);
	for (int i = 0; i < nr; i++)
		if (all[i]) {
			(void)machine_cannot("load the module", all[i]->d_name);
			free(all[i]);
		}
	if (nr >= 0)
		free(all);
}

/* --- the root --- */

static bool machine_appears(const char *path)
{
	const struct timespec step = { .tv_nsec = STEP_MS * 1000000L };
	for (int ms = 0; access(path, F_OK) < 0; ms += STEP_MS) {
		if (ms >= LATE_MS)
			return false;
		nanosleep(&step, NULL);
	}
	return true;
}

static int machine_share(const char *tag, const char *at)
{
	return machine_put(tag, at, "9p", MS_RDONLY | MS_NODEV | MS_NOSUID,
			   "trans=virtio,version=9p2000.L,msize=512000,cache=loose");
}

static int machine_root(void)
{
	const char *kind = getenv(MACHINE_ROOT);
	bool image = kind && strcmp(kind, "image") == 0;
	CLEANUP(free_ptr)
	char *how = mem_printf("lowerdir=%s,upperdir=/disk/up,workdir=/disk/work",
			       image ? "/lower" : "/" MACHINE_SKELETON);
	if (!machine_appears("/dev/vda"))
		return machine_cannot("find", "/dev/vda");
	if (machine_put("/dev/vda", "/disk", "ext4", MS_NODEV, NULL) < 0 ||
	    machine_make_dir("/disk/up", 0755) < 0 || machine_make_dir("/disk/work", 0700) < 0)
		return -1;
	if (image && machine_share("image", "/lower") < 0)
		return -1;
	if (machine_put("overlay", ROOT, "overlay", MS_NODEV, how) < 0)
		return -1;
	return image ? 0 : machine_share("usr", ROOT "/usr");
}

static int own_folders(void)
{
	static const struct {
		const char *at;
		mode_t mode;
	} table[] = { { ROOT "/dev", 0755 },	  { ROOT "/proc", 0755 },
		      { ROOT "/sys", 0755 },	  { ROOT "/tmp", 01777 },
		      { ROOT "/var", 0755 },	  { ROOT "/var/tmp", 01777 },
		      { ROOT "/home", 0755 },	  { ROOT "/home/agent", 0755 },
		      { ROOT "/workspace", 0755 } };
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (machine_make_dir(table[i].at, table[i].mode) < 0 ||
		    chmod(table[i].at, table[i].mode) < 0)
			return machine_cannot("make", table[i].at);
	return 0;
}

/* Our own program, for its verbs as a tool. */
static int machine_tool(void)
{
	CLEANUP(buf_release) struct buf program = BUF_INIT;
	struct err err = ERR_INIT;
	if (machine_put("tmpfs", ROOT "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") < 0 ||
	    machine_make_dir(ROOT "/run/sandglass", 0755) < 0)
		return -1;
	CLEANUP(fd_close)
	int to = open(ROOT MACHINE_TOOL, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	if (to < 0)
		return machine_cannot("make", MACHINE_TOOL);
	if (file_read("/init", &program, PROGRAM_MAX, &err) < 0 ||
	    fd_write_all(to, program.data, program.len, &err) < 0) {
		fprintf(stderr, "sandglass: %s\n", err.text);
		return -1;
	}
	return 0;
}

static int machine_enter(void)
{
	static const char *const moved[] = { "/dev", "/proc", "/sys" };
	for (size_t i = 0; i < ARRAY_LEN(moved); i++) {
		CLEANUP(free_ptr) char *to = mem_printf(ROOT "%s", moved[i]);
		if (mount(moved[i], to, NULL, MS_MOVE, NULL) < 0)
			return machine_cannot("move", moved[i]);
	}
	if (chdir(ROOT) < 0 || mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0 ||
	    chdir("/") < 0)
		return machine_cannot("enter", ROOT);
	return 0;
}

int machine_up(void)
{
	static const char port[] = "/dev/vport0p1";
	umask(0);
	if (machine_system_folders() < 0)
		return -1;
	machine_modules();
	if (machine_root() < 0 || own_folders() < 0 || machine_tool() < 0 || machine_enter() < 0)
		return -1;
	umask(022);
	if (sethostname("sandbox", 7) < 0)
		(void)machine_cannot("name", "sandbox");
	if (!machine_appears(port))
		return machine_cannot("find", port);
	int fd = open(port, O_RDWR | O_CLOEXEC);
	return fd < 0 ? machine_cannot("open", port) : fd;
}

void machine_down(void)
{
	sync();
	reboot(RB_POWER_OFF);
	_exit(1);
}
