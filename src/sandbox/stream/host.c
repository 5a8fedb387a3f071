#include "sandbox/stream/host.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/stream/stream_backend.h"
#include "sandbox/guest/guest_drive.h"
#include "sandbox/common/launcher_client.h"

enum { WAKE_MS = 500 };

struct host {
	struct far f; /* first */
	int pidfd;
	struct loop_timer *wake;
	bool started, ended, left;
};

static struct host *sandbox_host_of(struct far *f)
{
	return CONTAINER_OF(f, struct host, f);
}

static int sandbox_host_take_host(struct far *f, const struct box_opts *o, struct err *err)
{
	sandbox_host_of(f)->pidfd = -1;
	if (!launcher_current())
		return err_set(err, ERR_UNSUPPORTED, "the launcher is not running");
	(void)o;
	return 0;
}

static void sandbox_host_gone(void *self)
{
	stream_backend_gone(self);
}

/* Commands may stop their guest, since both belong to one user, at any time: also while it is asked
 * for a file, or ends. It is continued, so that each call has its answer. */
static void sandbox_host_continue(void *self)
{
	const struct host *h = self;
	if (h->pidfd >= 0 && !h->ended)
		syscall(SYS_pidfd_send_signal, h->pidfd, SIGCONT, NULL, 0);
}

static void sandbox_host_on_started(void *self, int pid, int pidfd)
{
	struct host *h = self;
	(void)pid;
	h->pidfd = pidfd;
	h->wake = loop_timer_new(h->f.loop, sandbox_host_continue, h);
	loop_timer_set(h->wake, WAKE_MS, WAKE_MS);
	if (h->left) /* its channel was closed before: it ends without a signal */
		syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

static void sandbox_host_on_exit_of(void *self, int code, int signal)
{
	struct host *h = self;
	(void)code;
	(void)signal;
	h->ended = true;
	if (h->left)
		stream_backend_gone(&h->f);
}

static void sandbox_host_on_failed(void *self, const struct err *err)
{
	struct host *h = self;
	h->ended = true;
	if (h->left)
		stream_backend_gone(&h->f);
	else
		stream_backend_fail(&h->f, err);
}

static void connect_host(struct far *f)
{
	static const struct launcher_host_ops ops = { .on_started = sandbox_host_on_started,
						      .on_exit = sandbox_host_on_exit_of,
						      .on_failed = sandbox_host_on_failed };
	static char *const env[] = { (char *)(uintptr_t) "PATH=/usr/local/bin:/usr/bin:/bin",
				     NULL };
	struct host *h = sandbox_host_of(f);
	struct err err = ERR_INIT;
	int pair[2];
	CLEANUP(free_ptr) char *guest = paths_libexec("sandglass-guest");
	char *const argv[] = { (char *)(uintptr_t) "sandglass-guest", (char *)(uintptr_t) "--fd",
			       (char *)(uintptr_t) "3", NULL };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		err_sys(&err, "can't create a socket for the sandbox");
		stream_backend_fail(f, &err);
		return;
	}
	const int fds[] = { -1, -1, -1, pair[1] };
	h->started = true;
	f->root = mem_strdup(folder_root(f->folder));
	launcher_spawn_host(launcher_current(), guest, argv, env, fds, ARRAY_LEN(fds), &ops, h);
	fd_close(&pair[1]);
	if (fd_nonblock(pair[0], &err) < 0) {
		fd_close(&pair[0]);
		stream_backend_fail(f, &err);
		return;
	}
	stream_backend_connected(f, pair[0]);
}

static void leave_host(struct far *f)
{
	struct host *h = sandbox_host_of(f);
	h->left = true;
	if (!h->started || h->ended)
		loop_defer(f->loop, sandbox_host_gone, f);
	/* else: its channel is closed, it kills what it started and ends; on_exit_of follows */
}

static void release_host(struct far *f)
{
	struct host *h = sandbox_host_of(f);
	if (launcher_current())
		launcher_forget(launcher_current(), h);
	loop_timer_free(&h->wake);
	fd_close(&h->pidfd);
}

static const struct far_kind sandbox_host_kind = {
	.driver = &driver_host,
	.folder = "host",
	.here = true,
	.wall = FAR_NONE,
	.profile = "none",
	.options = sandbox_host_take_host,
	.connect = connect_host,
	.leave = leave_host,
	.release = release_host,
};

static void host_wake(struct box *b)
{
	sandbox_host_continue(CONTAINER_OF(b, struct host, f.b));
}

static struct box *host_open(struct loop *l, const struct box_opts *o, box_done_fn *done,
			     void *self)
{
	return stream_backend_open(&sandbox_host_kind, sizeof(struct host), l, o, done, self);
}

static json_t *sandbox_host_probe(void)
{
	json_t *r = json_object();
	json_put_flag(r, "ok", true);
	json_put_str(r, "profile", "none");
	json_put_str(r, "value", "by name only");
	return r;
}

const struct driver driver_host = {
	.name = "host",
	.about = "no isolation: commands on the host as your user, in a copy of the repository",
	.caps = FAR_CAPS,
	.probe = sandbox_host_probe,
	.open = host_open,
	.wake = host_wake,
	FAR_VERBS,
};
