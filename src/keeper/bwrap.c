#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <linux/close_range.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "keeper/keeper_priv.h"

/* NUL-separated words for bwrap --args: what stood in argv could be read in the box. */
static void bwrap_word(struct buf *b, const char *s)
{
	buf_append(b, s, strlen(s) + 1);
}

static void bwrap_words(struct buf *b, const char *const *w)
{
	for (; *w; w++)
		bwrap_word(b, *w);
}

/* The arguments of bubblewrap beyond the root of root.c. A test must fail without each of these
 * lines. */
static int bwrap_arguments(const json_t *request, struct buf *b, struct err *err)
{
	static const char *const hide[] = { "kcore",	     "keys", "timer_list",   "sched_debug",
					    "latency_stats", "kmsg", "sysrq-trigger" };
	static const char *const head[] = { "--unshare-ipc",
					    "--unshare-pid",
					    "--unshare-net",
					    "--unshare-uts",
					    "--unshare-cgroup-try",
					    "--cap-drop",
					    "ALL",
					    "--uid",
					    "1000",
					    "--gid",
					    "1000",
					    "--die-with-parent",
					    "--new-session",
					    "--as-pid-1",
					    "--clearenv",
					    "--bind",
					    SPACE_BOX,
					    "/",
					    "--proc",
					    "/proc",
					    "--ro-bind",
					    "/proc/sys",
					    "/proc/sys",
					    "--dev",
					    "/dev",
					    "--chdir",
					    "/",
					    NULL };
	const json_t *env = json_object_get(request, "env");
	bwrap_words(b, head);
	bwrap_words(b,
		    (const char *const[]){ "--hostname", json_str(request, "hostname", "sandbox"),
					   "--bind", SPACE_SHM, "/dev/shm", "--dev-bind", SPACE_PTS,
					   "/dev/pts", "--remount-ro", "/dev", NULL });
	for (size_t i = 0; i < ARRAY_LEN(hide); i++) {
		CLEANUP(free_ptr) char *path = mem_printf("/proc/%s", hide[i]);
		/* bubblewrap cannot bind over what the kernel does not have */
		if (access(path, F_OK) == 0)
			bwrap_words(b,
				    (const char *const[]){ "--ro-bind", "/dev/null", path, NULL });
	}
	for (size_t i = 0; i < json_array_size(env); i++) {
		CLEANUP(buf_release) struct buf one = BUF_INIT;
		char *eq =
			json_get_bytes(json_array_get(env, i), &one) ? strchr(one.data, '=') : NULL;
		if (!eq)
			return err_set(err, ERR_INVALID, "an environment entry without '='");
		*eq = 0;
		bwrap_words(b, (const char *const[]){ "--setenv", one.data, eq + 1, NULL });
	}
	bwrap_word(b, "--unshare-user"); /* the last: see child_run */
	return 0;
}

/* --- starting it --- */

enum { CHILD_SOCK = 3, CHILD_ARGS, CHILD_INFO, CHILD_FILTERS };

/* The child's ends, and ours. */
struct launch {
	int args, info, log;
};

static NORETURN void child_run(const struct keeper *k, const struct launch *l)
{
	static const char *const places[] = { "/usr/bin/bwrap", "/usr/local/bin/bwrap",
					      "/bin/bwrap" };
	int high[CHILD_FILTERS + 4],
		nr = 0, want[] = { -1, l->log, l->log, k->guest_sock, l->args, l->info };
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	/* the files of an undumpable process are root's; executing bubblewrap would make it
	 * dumpable anyway */
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	CLEANUP(fd_close) int oom = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (oom < 0 || write(oom, "700", 3) != 3) {
		dprintf(l->log, "can't set its oom_score_adj: errno %d", errno);
		_exit(125);
	}
	for (size_t i = 0; i < k->nr_doors; i++)
		if (write(k->doors[i], "0", 1) != 1) {
			dprintf(l->log, "can't enter the cgroup of the sandbox: errno %d", errno);
			_exit(125);
		}
	want[0] = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		high[nr++] = fcntl(want[i], F_DUPFD_CLOEXEC, 64);
	for (size_t i = 0; i < k->nr_filters; i++)
		high[nr++] = fcntl(k->filters[i], F_DUPFD_CLOEXEC, 64);
	char *argv[24] = { NULL }, text[12][24];
	int n = 0, t = 0;
	argv[n++] = (char *)(uintptr_t) "bwrap";
	for (size_t i = 0; i < k->nr_filters; i++) {
		snprintf(text[t], sizeof(text[t]), "%zu", CHILD_FILTERS + i);
		argv[n++] = (char *)(uintptr_t) "--add-seccomp-fd";
		argv[n++] = text[t++];
	}
	argv[n++] = (char *)(uintptr_t) "--info-fd";
	argv[n++] = (char *)(uintptr_t) "5";
	/* Refused without --unshare-user. When we die, the pipe of its arguments ends before it is
	 * killed, and with none, or some, of them it would make a child that nobody kills. */
	argv[n++] = (char *)(uintptr_t) "--disable-userns";
	argv[n++] = (char *)(uintptr_t) "--args";
	argv[n++] = (char *)(uintptr_t) "4";
	argv[n++] = (char *)(uintptr_t) "--";
	argv[n++] = (char *)(uintptr_t) "/run/sandglass/guest";
	for (int i = 0; i < nr; i++)
		if (dup2(high[i], i) < 0)
			_exit(125);
	syscall(SYS_close_range, (unsigned)nr, ~0U, CLOSE_RANGE_CLOEXEC);
	char *env[] = { NULL };
	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		execve(places[i], argv, env);
	dprintf(2, "can't execute bwrap (bubblewrap): errno %d", errno);
	_exit(125);
}

/* bubblewrap says {"child-pid": N} once the box exists. */
static pid_t read_child_pid(int info)
{
	char text[512];
	size_t len = 0;
	ssize_t n;
	while (len < sizeof(text) - 1 &&
	       ((n = read(info, text + len, sizeof(text) - 1 - len)) > 0 ||
		(n < 0 && errno == EINTR)))
		len += n > 0 ? (size_t)n : 0;
	text[len] = 0;
	const char *at = strstr(text, "\"child-pid\"");
	at = at ? strchr(at, ':') : NULL;
	return at ? (pid_t)strtol(at + 1, NULL, 10) : 0;
}

static int fail_with_log(pid_t pid, int log, struct err *err)
{
	char text[300] = "";
	int status = 0;
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	ssize_t n = pread(log, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = 0;
	for (char *p = text; *p; p++)
		if (*p < ' ')
			*p = p[1] ? ' ' : 0;
	return err_set(err, ERR_UNSUPPORTED, "bubblewrap can't create the sandbox: %s",
		       *text ? text : "no output");
}

static int take_fd(int *fd)
{
	int got = *fd;
	*fd = -1;
	return got;
}

static void bwrap_give_away(struct keeper *k)
{
	fd_close(&k->guest_sock);
	for (size_t i = 0; i < k->nr_filters; i++)
		fd_close(&k->filters[i]);
	for (size_t i = 0; i < k->nr_doors; i++)
		fd_close(&k->doors[i]);
	k->nr_filters = k->nr_doors = 0;
}

int bwrap_wait(struct keeper *k, struct err *err)
{
	int args[2] = { -1, -1 }, info[2] = { -1, -1 };
	k->log = memfd_create("log", MFD_CLOEXEC);
	if (k->log < 0 || pipe2(args, O_CLOEXEC) < 0 || pipe2(info, O_CLOEXEC) < 0) {
		err_sys(err, "can't create descriptors for bubblewrap");
		fd_close(&args[0]);
		fd_close(&args[1]);
		return -1;
	}
	struct launch l = { .args = args[0], .info = info[1], .log = k->log };
	k->args = args[1];
	k->info = info[0];
	k->bwrap = fork();
	if (k->bwrap == 0)
		child_run(k, &l);
	if (k->bwrap < 0)
		err_sys(err, "can't fork");
	fd_close(&args[0]);
	fd_close(&info[1]);
	bwrap_give_away(k);
	return k->bwrap < 0 ? -1 : 0;
}

int bwrap_start(struct keeper *k, const json_t *request, struct reply *r, struct err *err)
{
	CLEANUP(buf_release) struct buf args = BUF_INIT;
	if (k->args < 0)
		return err_set(err, ERR_EXISTS, "the sandbox is already running");
	CLEANUP(fd_close) int args_in = take_fd(&k->args);
	CLEANUP(fd_close) int info = take_fd(&k->info);
	CLEANUP(fd_close) int log = take_fd(&k->log);
	struct err ignored = ERR_INIT;
	if (root_make(k, request, err) < 0 || bwrap_arguments(request, &args, err) < 0) {
		kill(k->bwrap, SIGKILL); /* it must not see the end of its arguments */
		return -1;
	}
	if (fd_write_all(args_in, args.data, args.len, &ignored) < 0)
		return fail_with_log(k->bwrap, log, err);
	fd_close(&args_in);
	pid_t guest = read_child_pid(info);
	if (guest <= 0)
		return fail_with_log(k->bwrap, log, err);
	k->guest = guest;
	k->bwrap_pidfd = (int)syscall(SYS_pidfd_open, k->bwrap, 0);
	k->guest_pidfd = (int)syscall(SYS_pidfd_open, guest, 0);
	if (k->bwrap_pidfd < 0 || k->guest_pidfd < 0)
		return fail_with_log(k->bwrap, log, err);
	r->body = json_object();
	json_put_int(r->body, "pid", guest);
	r->fd = fcntl(k->guest_pidfd, F_DUPFD_CLOEXEC, 3);
	return 0;
}
