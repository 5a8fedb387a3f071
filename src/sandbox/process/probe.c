#include "sandbox/process/probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <grp.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "loop/loop.h"

static json_t *probe_check(json_t *list, const char *name, bool ok, const char *value,
			   const char *why, const char *fix)
{
	json_t *c = json_object();
	json_put_str(c, "name", name);
	json_put_flag(c, "ok", ok);
	json_put_str(c, "value", value);
	if (!ok && why)
		json_put_str(c, "why", why);
	if (!ok && fix)
		json_put_str(c, "fix", fix);
	json_array_append_new(list, c);
	return c;
}

/* --- tried in a child, which tells the step and errno --- */

struct tried {
	int step, sys;
};

static struct tried try_in_child(struct tried (*fn)(void))
{
	int ends[2];
	struct tried t = { .step = -1, .sys = EIO };
	if (pipe2(ends, O_CLOEXEC) < 0)
		return t;
	pid_t pid = fork();
	if (pid == 0) {
		struct tried mine = fn();
		_exit(write(ends[1], &mine, sizeof(mine)) == (ssize_t)sizeof(mine) ? 0 : 1);
	}
	close(ends[1]);
	if (pid > 0) {
		while (read(ends[0], &t, sizeof(t)) < 0 && errno == EINTR)
			continue;
		waitpid(pid, NULL, 0);
	}
	close(ends[0]);
	return t;
}

enum {
	TRY_UID = 524288,
	STEP_CLONE = 1,
	STEP_DROP,
	STEP_UNSHARE,
	STEP_MAP,
	STEP_TMPFS,
	STEP_OVERLAY
};
static struct tried failed_at(int step)
{
	return (struct tried){ .step = step, .sys = errno };
}

static bool probe_put(const char *path, const char *text)
{
	CLEANUP(fd_close) int fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* The way of a launcher and its keeper in short: root hands over mounts, then an ordinary uid, a
 * user and a mount namespace, a tmpfs, an overlay on it. */
static struct tried try_namespaces(void)
{
	char map[64];
	if (geteuid() == 0 &&
	    syscall(SYS_open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC) < 0)
		return failed_at(STEP_CLONE);
	if (geteuid() == 0 &&
	    (setgroups(0, NULL) < 0 || setresgid(TRY_UID, TRY_UID, TRY_UID) < 0 ||
	     setresuid(TRY_UID, TRY_UID, TRY_UID) < 0 || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0))
		return failed_at(STEP_DROP);
	uid_t uid = getuid();
	gid_t gid = getgid();
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return failed_at(STEP_UNSHARE);
	snprintf(map, sizeof(map), "%u %u 1", (unsigned)uid, (unsigned)uid);
	if (!probe_put("/proc/self/uid_map", map) || !probe_put("/proc/self/setgroups", "deny"))
		return failed_at(STEP_MAP);
	snprintf(map, sizeof(map), "%u %u 1", (unsigned)gid, (unsigned)gid);
	if (!probe_put("/proc/self/gid_map", map))
		return failed_at(STEP_MAP);
	if (mount("tmpfs", "/sys", "tmpfs", MS_NOSUID | MS_NODEV, NULL) < 0)
		return failed_at(STEP_TMPFS);
	if (mkdir("/sys/l", 0755) < 0 || mkdir("/sys/u", 0755) < 0 || mkdir("/sys/w", 0755) < 0 ||
	    mkdir("/sys/m", 0755) < 0 ||
	    mount("overlay", "/sys/m", "overlay", 0,
		  "lowerdir=/sys/l,upperdir=/sys/u,workdir=/sys/w,userxattr") < 0)
		return failed_at(STEP_OVERLAY);
	return (struct tried){ 0 };
}

static bool check_namespaces(json_t *list)
{
	static const char *const what[] = { "",
					    "cloning a mount as root",
					    "changing uid",
					    "making a user namespace",
					    "mapping a uid",
					    "mounting a tmpfs",
					    "mounting an overlay" };
	struct tried t = try_in_child(try_namespaces);
	char why[200], clone[16] = "";
	size_t step = t.step > 0 && (size_t)t.step < ARRAY_LEN(what) ? (size_t)t.step : 0;
	CLEANUP(buf_release) struct buf knob = BUF_INIT;
	struct err ignored = ERR_INIT;
	const char *fix = "in a container: start it with --security-opt seccomp=unconfined and "
			  "apparmor=unconfined, or use --accept reduced";
	if (t.step == STEP_UNSHARE &&
	    file_read("/proc/sys/kernel/unprivileged_userns_clone", &knob, 16, &ignored) == 0 &&
	    *buf_cstr(&knob) == '0')
		fix = "sysctl kernel.unprivileged_userns_clone=1";
	else if (t.step == STEP_CLONE)
		fix = "run it as an ordinary user; or start the container with --cap-add SYS_ADMIN and "
		      "seccomp=unconfined; or use --accept reduced";
	else if (t.step == STEP_MAP || t.step == STEP_TMPFS)
		fix = "an AppArmor profile with 'userns,' for sandglass and bwrap (src/sandbox/README.md has one), or for all "
		      "programs: sysctl kernel.apparmor_restrict_unprivileged_userns=0";
	else if (t.step == STEP_OVERLAY)
		fix = "a kernel of 5.11 or later with the overlay module is needed";
	snprintf(clone, sizeof(clone), "%s", t.step == 0 ? "yes, overlay" : "no");
	snprintf(why, sizeof(why), "%s: %s", what[step], strerror(t.sys));
	probe_check(list, "namespaces", t.step == 0, clone, why, fix);
	return t.step == 0;
}

/* --- looked at --- */

static int landlock_abi(void)
{
#ifdef SYS_landlock_create_ruleset
	return (int)syscall(SYS_landlock_create_ruleset, NULL, 0, 1U);
#else
	return (int)syscall(444, NULL, 0, 1U);
#endif
}

static bool check_bwrap(json_t *list)
{
	static const char *const places[] = { "/usr/bin/bwrap", "/usr/local/bin/bwrap",
					      "/bin/bwrap" };
	const char *path = NULL;
	for (size_t i = 0; i < ARRAY_LEN(places) && !path; i++)
		path = access(places[i], X_OK) == 0 ? places[i] : NULL;
	char text[64] = "";
	int out[2], pid, pidfd, status;
	struct err err = ERR_INIT;
	if (path && pipe2(out, O_CLOEXEC) == 0) {
		char name[] = "bwrap", flag[] = "--version", *argv[] = { name, flag, NULL },
		     *env[] = { NULL };
		int fds[] = { -1, out[1], -1 };
		int rc = proc_spawn(path, argv, env, fds, ARRAY_LEN(fds), &pid, &pidfd, &err);
		close(out[1]);
		ssize_t n = rc == 0 ? read(out[0], text, sizeof(text) - 1) : 0;
		text[n > 0 ? n : 0] = 0;
		text[strcspn(text, "\n")] = 0;
		if (rc == 0 && proc_reap(pidfd, &status, &err) == 0)
			close(pidfd);
		close(out[0]);
	}
	int major = 0, minor = 0;
	bool ok =
		sscanf(text, "bubblewrap %d.%d", &major, &minor) == 2 && (major > 0 || minor >= 8);
	struct stat st;
	if (ok && stat(path, &st) == 0 && (st.st_mode & S_ISUID))
		probe_check(list, "bubblewrap set-uid", false, path,
			    "a set-uid bubblewrap adds privileges that sandboxes don't need",
			    "chmod u-s");
	probe_check(list, "bubblewrap", ok, *text ? text : "not found",
		    "version 0.8 or later is needed", "apt install bubblewrap");
	return ok;
}

static void check_landlock(json_t *list)
{
	int abi = landlock_abi();
	char text[32];
	snprintf(text, sizeof(text), "ABI %d", abi > 0 ? abi : 0);
	probe_check(list, "landlock", abi >= 1, text,
		    "the kernel has no landlock: the mounts are the only isolation of files",
		    "boot with lsm=landlock,...");
}

static void check_trace(json_t *list)
{
	uint32_t notify = SECCOMP_RET_USER_NOTIF;
	bool can = syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &notify) == 0;
	probe_check(
		list, "tracing", can,
		can ? "programs and connections of a sandbox, by seccomp" : "no",
		"the kernel hands over no calls (seccomp user notification): with trace = \"exec\" nothing is seen, hold_exec refuses",
		"Linux 5.9 or later; in a container: --security-opt seccomp=unconfined");
}

static bool cgroup_writable(const char *dir)
{
	CLEANUP(free_ptr) char *path = mem_printf("%s/sandglass-probe-%d", dir, (int)getpid());
	bool ok = mkdir(path, 0755) == 0;
	if (ok)
		rmdir(path);
	return ok;
}

static bool check_cgroups(json_t *list)
{
	bool v1 = cgroup_writable("/sys/fs/cgroup/memory") &&
		  cgroup_writable("/sys/fs/cgroup/pids"),
	     v2 = false;
	char text[256] = "";
	CLEANUP(fd_close) int fd = open("/sys/fs/cgroup/cgroup.controllers", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = 0;
	v2 = strstr(text, "memory") && strstr(text, "pids") && cgroup_writable("/sys/fs/cgroup");
	probe_check(
		list, "cgroups", v1 || v2,
		v1   ? "v1"
		: v2 ? "v2"
		     : "no writable cgroup",
		"the memory limit holds for each process, not for the whole sandbox (isolation level "
		"best effort)",
		"systemd-run --user --scope -p Delegate=yes sandglass ...");
	return v1 || v2;
}

/* An idmapped clone of the directory for temporary files; only root needs it. */
static struct tried try_idmap(void)
{
	int ready[2];
	char path[64], c;
	if (pipe(ready) < 0)
		return failed_at(1);
	pid_t holder = fork();
	if (holder == 0) {
		if (unshare(CLONE_NEWUSER) == 0 && write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	bool held = holder > 0 && read(ready[0], &c, 1) == 1;
	snprintf(path, sizeof(path), "/proc/%d/uid_map", (int)holder);
	held = held && probe_put(path, "0 524288 1");
	snprintf(path, sizeof(path), "/proc/%d/gid_map", (int)holder);
	held = held && probe_put(path, "0 524288 1");
	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)holder);
	int ns = held ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (holder > 0) {
		kill(holder, SIGKILL);
		waitpid(holder, NULL, 0);
	}
	int tree = ns < 0 ? -1
			  : (int)syscall(SYS_open_tree, AT_FDCWD, "/tmp",
					 OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	struct mount_attr at = { .attr_set = MOUNT_ATTR_IDMAP,
				 .userns_fd = (unsigned long long)(unsigned)ns };
	if (tree < 0 || syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &at, sizeof(at)) < 0)
		return failed_at(2);
	return (struct tried){ 0 };
}

static void check_root(json_t *list)
{
	if (geteuid() != 0) {
		probe_check(list, "runs as", true,
			    "an ordinary user: sandboxes have your uid, mapped", NULL, NULL);
		return;
	}
	struct tried t = try_in_child(try_idmap);
	probe_check(list, "runs as", true, "root: each sandbox has a uid of its own", NULL, NULL);
	probe_check(list, "idmapped mounts", t.step == 0, t.step == 0 ? "yes" : "no",
		    "a repository of another owner is read only in the sandbox",
		    "a kernel of 5.19 or later and a file system that can");
}

static void check_fanotify(json_t *list)
{
	int fd = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_REPORT_DFID_NAME, O_RDONLY);
	probe_check(list, "change hint", true,
		    fd >= 0 ? "fanotify" : "inotify on the sandbox's own directories", NULL, NULL);
	fd_close(&fd);
}

static void size_words(uint64_t bytes, char out[24])
{
	uint64_t tenths = bytes * 10 >> 20;
	const char *unit = tenths < 10240 ? "MiB" : "GiB";
	tenths = tenths < 10240 ? tenths : tenths / 1024;
	snprintf(out, 24, "%" PRIu64 ".%" PRIu64 " %s", tenths / 10, tenths % 10, unit);
}

static void check_sizes(json_t *list)
{
	struct sysinfo si;
	struct statvfs vfs;
	struct statfs fs;
	char text[128], size[24];
	CLEANUP(free_ptr) char *state = paths_state("");
	CLEANUP(free_ptr) char *at = mem_strdup(state);
	for (char *slash; access(at, F_OK) < 0 && (slash = strrchr(at, '/')) && slash != at;)
		*slash = 0;
	if (sysinfo(&si) == 0) {
		long cpus = sysconf(_SC_NPROCESSORS_ONLN);
		size_words((uint64_t)si.totalram * si.mem_unit, size);
		snprintf(text, sizeof(text), "%s, %ld %s", size, cpus,
			 cpus == 1 ? "processor" : "processors");
		probe_check(list, "memory", (uint64_t)si.totalram * si.mem_unit >> 20 >= 512, text,
			    "less than 512 MiB", NULL);
	}
	if (statvfs(at, &vfs) == 0 && statfs(at, &fs) == 0) {
		uint64_t mib = (uint64_t)vfs.f_bavail * vfs.f_frsize >> 20;
		bool overlay = fs.f_type == OVERLAYFS_SUPER_MAGIC,
		     nfs = fs.f_type == NFS_SUPER_MAGIC;
		size_words((uint64_t)vfs.f_bavail * vfs.f_frsize, size);
		snprintf(text, sizeof(text), "%.60s, %s free", at, size);
		probe_check(
			list, "state directory", !overlay && !nfs && mib >= 256, text,
			overlay ? "it is on an overlay, which can't be the upper layer of another"
			: nfs	? "it is on a network file system"
				: "less than 256 MiB",
			"set XDG_STATE_HOME to a directory on a local disk (in a container: a volume)");
	}
}

json_t *probe_process(void)
{
	json_t *out = json_object(), *list = json_array();
	struct utsname u;
	if (uname(&u) == 0)
		probe_check(list, "kernel", true, u.release, NULL, NULL);
	check_root(list);
	bool spaces = check_namespaces(list), bwrap = check_bwrap(list),
	     cgroups = check_cgroups(list);
	check_landlock(list);
	check_trace(list);
	check_fanotify(list);
	check_sizes(list);
	bool box = spaces && bwrap;
	json_put_flag(out, "ok", box || geteuid() == 0);
	json_put_str(out, "profile",
		     !box			      ? geteuid() == 0 ? "reduced" : "none"
		     : cgroups && landlock_abi() >= 1 ? "enforced"
						      : "best effort");
	json_put_str(out, "raise",
		     !box	? "see the check 'namespaces'"
		     : !cgroups ? "systemd-run --user --scope -p Delegate=yes sandglass ..."
		     : landlock_abi() < 1 ? "boot with lsm=landlock,..."
					  : "");
	if (!box) {
		json_put_str(out, "why",
			     spaces ? "bubblewrap is missing" : "this host permits no namespaces");
		json_put_str(out, "fix",
			     spaces ? "apt install bubblewrap"
				    : "see the check 'namespaces', or --accept reduced");
	}
	json_put(out, "checks", list);
	return out;
}

/* --- tools --- */

json_t *probe_tool_roots(void)
{
	static const struct {
		const char *pattern, *what;
	} places[] = {
		{ "~/.cargo", "cargo" },
		{ "~/.rustup", "rustup" },
		{ "~/.nvm", "nvm" },
		{ "~/.pyenv", "pyenv" },
		{ "~/go", "go" },
		{ "~/.bun", "bun" },
		{ "~/.deno", "deno" },
		{ "~/.volta", "volta" },
		{ "~/.rbenv", "rbenv" },
		{ "~/.sdkman", "sdkman" },
		{ "~/.asdf", "asdf" },
		{ "~/.local/share/mise", "mise" },
		{ "~/.local/pipx", "pipx" },
		{ "~/.local/share/uv", "uv" },
		{ "~/miniconda3", "conda" },
		{ "~/.ghcup", "ghcup" },
		{ "~/.opam", "opam" },
		{ "/opt/*", "opt" },
		{ "/nix", "nix" },
		{ "/home/linuxbrew/.linuxbrew", "brew" },
		{ "/snap", "snap" },
	};
	const char *home = getenv("HOME");
	json_t *list = json_array();
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		bool in_home = places[i].pattern[0] == '~';
		glob_t g;
		if (in_home && (!home || !*home))
			continue;
		CLEANUP(free_ptr)
		char *pattern =
			mem_printf("%s%s", in_home ? home : "", places[i].pattern + in_home);
		if (glob(pattern, GLOB_NOSORT, NULL, &g) != 0)
			continue;
		for (size_t n = 0; n < g.gl_pathc; n++) {
			struct stat st;
			if (stat(g.gl_pathv[n], &st) < 0 || !S_ISDIR(st.st_mode))
				continue;
			json_t *one = json_object();
			json_put_bytes(one, "path", g.gl_pathv[n], strlen(g.gl_pathv[n]));
			json_put_str(one, "what", places[i].what);
			json_array_append_new(list, one);
		}
		globfree(&g);
	}
	return list;
}
