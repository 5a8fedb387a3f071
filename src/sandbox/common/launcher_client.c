#include "sandbox/common/launcher_client.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/paths.h"
#include "wire/frame.h"
#include "wire/launch.h"

enum { HELLO_MS = 10000, RESTARTS_MAX = 5, RESTART_SPAN_US = 60 * 1000000 };

struct host {
	struct host *next;
	struct launcher *launcher;
	const struct launcher_host_ops *ops;
	launcher_exit_fn *on_exit;
	void *self; /* ops and on_exit NULL: forgotten */
	int pid;
};

struct launcher {
	struct loop *loop;
	char *program;
	unsigned box_uid;
	launcher_death_fn *on_death;
	void *self;
	struct launcher_info info;
	struct rpc *rpc; /* NULL: dead and could not be started again */
	int pidfd;
	struct host *hosts;
	uint64_t last_box;
	int64_t restarts[RESTARTS_MAX]; /* when */
};

static struct launcher *launcher_client_current;

static int read_hello(struct launcher *l, int sock, struct err *err)
{
	CLEANUP(buf_release) struct buf in = BUF_INIT;
	struct frame f;
	int fds[FD_PASS_MAX];
	size_t nr = 0;
	struct pollfd p = { .fd = sock, .events = POLLIN };
	if (poll(&p, 1, HELLO_MS) != 1)
		return err_set(err, ERR_TIMEOUT, "sandglass-launcher doesn't answer");
	if (frame_recv(sock, LAUNCH_MAX_BODY, &f, &in, fds, &nr, err) < 0)
		return err_wrap(err, "can't start sandglass-launcher");
	CLEANUP(json_release) json_t *j = json_parse(f.body, f.len, "launcher's hello", err);
	if (!j)
		return -1;
	if (f.type != LAUNCH_HELLO || json_int(j, "v", 0) != LAUNCH_VERSION)
		return err_set(
			err, ERR_UNSUPPORTED,
			"sandglass-launcher has another version than this program; reinstall sandglass");
	l->info.root = json_flag(j, "root", false);
	l->info.uid = (unsigned)json_int(j, "uid", 0);
	l->info.gid = (unsigned)json_int(j, "gid", 0);
	l->info.spare = (unsigned)json_int(j, "spare", 0);
	l->info.freezer = json_flag(j, "freezer", false);
	snprintf(l->info.cgroup, sizeof(l->info.cgroup), "%s", json_str(j, "cgroup", "none"));
	snprintf(l->info.cgroup_why, sizeof(l->info.cgroup_why), "%s", json_str(j, "why", ""));
	return l->info.uid == 0
		       ? err_set(err, ERR_DENIED, "sandglass-launcher would run sandboxes as root")
		       : 0;
}

static void on_other(void *self, unsigned type, json_t *body)
{
	struct launcher *l = self;
	int pid = (int)json_int(body, "pid", -1);
	if (type != LAUNCH_EXITED)
		return;
	for (struct host **at = &l->hosts; *at; at = &(*at)->next) {
		struct host *h = *at;
		if (h->pid != pid)
			continue;
		*at = h->next;
		if (h->on_exit)
			h->on_exit(h->self, (int)json_int(body, "code", 0),
				   (int)json_int(body, "signal", 0));
		free(h);
		return;
	}
}

static int launcher_client_spawn(struct launcher *l, struct err *err);

/* A launcher that repeatedly dies at once is not started endlessly. */
static bool may_restart(struct launcher *l)
{
	int64_t now = clock_mono_us();
	for (size_t i = 0; i < RESTARTS_MAX; i++)
		if (l->restarts[i] == 0 || now - l->restarts[i] > RESTART_SPAN_US) {
			l->restarts[i] = now;
			return true;
		}
	return false;
}

static void launcher_client_on_close(void *self, const struct err *err)
{
	struct launcher *l = self;
	struct err why = ERR_INIT, again = ERR_INIT;
	err_set(&why, ERR_CLOSED,
		"sandglass-launcher has died (%s); its sandboxes and agents have ended", err->text);
	rpc_free(&l->rpc);
	syscall(SYS_pidfd_send_signal, l->pidfd, SIGKILL, NULL, 0);
	int status;
	if (proc_reap(l->pidfd, &status, &again) == 0)
		log_debug("launcher ended with %d", status);
	fd_close(&l->pidfd);
	while (l->hosts) {
		struct host *h = l->hosts;
		l->hosts = h->next;
		if (h->pid && h->on_exit)
			h->on_exit(h->self, 0, SIGKILL);
		free(h);
	}
	if (may_restart(l) && launcher_client_spawn(l, &again) < 0)
		log_error("%s", again.text);
	if (l->on_death)
		l->on_death(l->self, &why);
}

static int launcher_client_spawn(struct launcher *l, struct err *err)
{
	static const struct rpc_ops ops = { .ok = LAUNCH_OK,
					    .failed = LAUNCH_ERR,
					    .on_other = on_other,
					    .on_close = launcher_client_on_close };
	char uid[16], name[] = "sandglass-launcher", flag[] = "--uid";
	char *argv[] = { name, l->box_uid ? flag : NULL, uid, NULL };
	char *log = getenv("SANDGLASS_LOG"),
	     *env_log = log ? mem_printf("SANDGLASS_LOG=%s", log) : NULL;
	CLEANUP(free_ptr) UNUSED char *owned = env_log;
	char *env[] = { env_log, NULL };
	int ends[2];
	snprintf(uid, sizeof(uid), "%u", l->box_uid);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return err_sys(err, "can't create a socket for the launcher");
	int fds[] = { -1, 2, 2, ends[1] };
	int rc = proc_spawn(l->program, argv, env, fds, ARRAY_LEN(fds), &l->info.pid, &l->pidfd,
			    err);
	close(ends[1]);
	if (rc == 0 && (read_hello(l, ends[0], err) < 0 || fd_nonblock(ends[0], err) < 0)) {
		int status;
		struct err ignored = ERR_INIT;
		syscall(SYS_pidfd_send_signal, l->pidfd, SIGKILL, NULL, 0);
		if (proc_reap(l->pidfd, &status, &ignored) < 0)
			log_debug("%s", ignored.text);
		fd_close(&l->pidfd);
		rc = -1;
	}
	if (rc < 0) {
		close(ends[0]);
		return -1;
	}
	l->rpc = rpc_new(l->loop, ends[0], LAUNCH_MAX_BODY, &ops, l);
	return 0;
}

struct launcher *launcher_start(struct loop *loop, const struct launcher_opts *o,
				launcher_death_fn *on_death, void *self, struct err *err)
{
	struct launcher *l = NEW(struct launcher);
	l->loop = loop;
	l->program = o && o->program ? mem_strdup(o->program) : paths_libexec("sandglass-launcher");
	l->box_uid = o ? o->box_uid : 0;
	l->on_death = on_death;
	l->self = self;
	l->pidfd = -1;
	if (launcher_client_spawn(l, err) < 0) {
		free_ptr(&l->program);
		free(l);
		return NULL;
	}
	launcher_client_current = l;
	return l;
}

void launcher_stop(struct launcher **lp)
{
	struct launcher *l = take(lp);
	if (!l)
		return;
	rpc_free(&l->rpc); /* the end of the channel ends it */
	struct pollfd p = { .fd = l->pidfd, .events = POLLIN };
	if (l->pidfd >= 0) {
		struct err ignored = ERR_INIT;
		int status;
		if (poll(&p, 1, HELLO_MS) != 1)
			syscall(SYS_pidfd_send_signal, l->pidfd, SIGKILL, NULL, 0);
		if (proc_reap(l->pidfd, &status, &ignored) < 0)
			log_debug("%s", ignored.text);
		fd_close(&l->pidfd);
	}
	while (l->hosts) {
		struct host *h = l->hosts;
		l->hosts = h->next;
		free(h);
	}
	if (launcher_client_current == l)
		launcher_client_current = NULL;
	free_ptr(&l->program);
	free(l);
}

struct launcher *launcher_current(void)
{
	return launcher_client_current;
}

const struct launcher_info *launcher_info(const struct launcher *l)
{
	return &l->info;
}

uint64_t launcher_next_box(struct launcher *l)
{
	return ++l->last_box;
}

/* --- calls --- */

struct dead_call {
	rpc_done_fn *done;
	void *self;
};

static void fail_dead(void *self)
{
	struct dead_call *d = self;
	struct err err = ERR_INIT;
	err_set(&err, ERR_CLOSED, "sandglass-launcher is not running");
	if (d->done)
		d->done(d->self, NULL, NULL, 0, &err);
	free(d);
}

void launcher_call(struct launcher *l, uint16_t type, const json_t *body, const int *fds,
		   size_t nr_fds, rpc_done_fn *done, void *self)
{
	if (l->rpc) {
		rpc_call(l->rpc, type, body, fds, nr_fds, done, self);
		return;
	}
	struct dead_call *d = NEW(struct dead_call);
	*d = (struct dead_call){ .done = done, .self = self };
	for (size_t i = 0; i < nr_fds; i++)
		close(fds[i]);
	loop_defer(l->loop, fail_dead, d);
}

static void host_started(void *self, json_t *body, int *fds, size_t nr, const struct err *err)
{
	struct host *h = self;
	if (body && nr == 1) {
		int pidfd = fds[0];
		fds[0] = -1;
		h->pid = (int)json_int(body, "pid", 0);
		if (h->ops)
			h->ops->on_started(h->self, h->pid, pidfd);
		else
			close(pidfd);
		return;
	}
	struct err odd = ERR_INIT;
	err_set(&odd, ERR_PARSE, "the launcher sent no process descriptor");
	for (struct host **at = &h->launcher->hosts; *at; at = &(*at)->next)
		if (*at == h) {
			*at = h->next;
			break;
		}
	if (h->ops && h->ops->on_failed)
		h->ops->on_failed(h->self, err ? err : &odd);
	free(h);
}

void launcher_spawn_host(struct launcher *l, const char *program, char *const *argv,
			 char *const *env, const int *fds, size_t nr_fds,
			 const struct launcher_host_ops *ops, void *self)
{
	struct host *h = NEW(struct host);
	CLEANUP(json_release) json_t *body = json_object();
	int copies[FD_PASS_MAX];
	size_t nr_argv = 0, nr_env = 0;
	assert(nr_fds <= FD_PASS_MAX);
	while (argv[nr_argv])
		nr_argv++;
	while (env && env[nr_env])
		nr_env++;
	*h = (struct host){
		.next = l->hosts, .launcher = l, .ops = ops, .on_exit = ops->on_exit, .self = self
	};
	l->hosts = h;
	json_put_bytes(body, "program", program, strlen(program));
	json_put(body, "argv", json_argv(argv, nr_argv));
	json_put(body, "env", json_argv(env, nr_env));
	for (size_t i = 0; i < nr_fds; i++)
		copies[i] = fds[i] < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC)
				       : fcntl(fds[i], F_DUPFD_CLOEXEC, 3);
	launcher_call(l, LAUNCH_HOST, body, copies, nr_fds, host_started, h);
}

void launcher_watch(struct launcher *l, int pid, launcher_exit_fn *on_exit, void *self)
{
	struct host *h = NEW(struct host);
	*h = (struct host){
		.next = l->hosts, .launcher = l, .on_exit = on_exit, .self = self, .pid = pid
	};
	l->hosts = h;
}

void launcher_forget(struct launcher *l, const void *self)
{
	if (!l)
		return;
	for (struct host *h = l->hosts; h; h = h->next)
		if (h->self == self)
			h->ops = NULL, h->on_exit = NULL;
	if (l->rpc)
		rpc_forget(l->rpc, self);
}
