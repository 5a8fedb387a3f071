#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/process/process_priv.h"
#include "sandbox/common/seccomp.h"
#include "wire/keeper.h"
#include "wire/launch.h"
#include "wire/machine.h"

enum { TMP_BYTES = 256 << 20, SHM_BYTES = 64 << 20, CLOSE_MS = 15000 };

char *cell_key(const struct cell_spec *s)
{
	struct buf b = BUF_INIT;
	buf_printf(&b, "mem=%lld cpu=%lld pids=%d net=%d", (long long)s->limits.mem_bytes,
		   (long long)s->limits.cpu_milli, s->limits.pids, s->net);
	for (size_t i = 0; i < s->nr_roots; i++)
		buf_printf(&b, " %s", s->roots[i]);
	if (s->nr_roots && s->hide)
		json_dump_buf(s->hide, &b);
	return buf_take(&b);
}

static void close_finish(struct cell *c);

/* It could not be started, or it has died. Said once, and only when nobody has asked for its
 * end. */
static void process_cell_fail(struct cell *c, const struct err *err)
{
	if (c->gone)
		return;
	c->gone = true;
	c->why = *err;
	if (c->ops && c->ops->on_gone)
		c->ops->on_gone(c->self, &c->why);
}

static void process_cell_maybe_ready(struct cell *c)
{
	if (c->gone || c->ready || !c->keeper_pid || !c->started || !c->guest ||
	    !guest_info(c->guest))
		return;
	c->ready = true;
	if (c->ops && c->ops->on_ready)
		c->ops->on_ready(c->self);
}

/* --- the ends of keeper and guest --- */

static void keeper_closed(void *self, const struct err *err)
{
	struct cell *c = self;
	struct err why = ERR_INIT;
	rpc_free(&c->keeper);
	(void)err;
	err_set(&why, ERR_CLOSED, "the keeper of the sandbox has died");
	process_cell_fail(c, &why);
}

static void keeper_other(void *self, unsigned type, json_t *body)
{
	struct cell *c = self;
	if (type == KEEPER_GONE)
		log_debug("sandbox %llu: bubblewrap ended with %d, signal %d",
			  (unsigned long long)c->box, (int)json_int(body, "code", 0),
			  (int)json_int(body, "signal", 0));
}

static void process_cell_ahead(void *self, json_t *result, const struct err *err)
{
	struct cell *c = self;
	c->warm = true;
	(void)result; /* if it fails, the attach that builds on it fails and reports it */
	if (err)
		log_debug("landlock rules ahead: %s", err->text);
}

/* Restrictions independent of the workspace are set ahead: the guest finds them when it starts. */
static void confine_ahead(struct cell *c)
{
	struct guest_rule *extra = mem_calloc(c->roots.nr + 1, sizeof(*extra));
	size_t nr = 0;
	for (; nr < c->roots.nr; nr++)
		extra[nr] = (struct guest_rule){ .path = c->roots.item[nr],
						 .access = GUEST_READ | GUEST_EXEC };
	if (c->net) /* ssh reaches the proxy through it (wire/tool.h 13) */
		extra[nr++] = (struct guest_rule){ .path = MACHINE_TOOL,
						   .access = GUEST_READ | GUEST_EXEC };
	struct guest_attach a = {
		.extra = extra, .nr_extra = nr, .unconfined_ok = true, .part = ATTACH_AHEAD
	};
	guest_attach(c->guest, &a, process_cell_ahead, c);
	free(extra);
}

static void guest_ready(void *self, const struct guest_info *info)
{
	struct cell *c = self;
	struct err why = ERR_INIT;
	if (!info->init) {
		err_set(&why, ERR_DENIED,
			"the guest is not the first process of its own process namespace");
		process_cell_fail(c, &why);
		return;
	}
	process_cell_maybe_ready(c);
}

static void guest_gone(void *self, const struct err *err)
{
	struct cell *c = self;
	struct err why = ERR_INIT;
	guest_free(&c->guest);
	if (c->start) /* bubblewrap has failed: the keeper's answer says why */
		return;
	err_set(&why, ERR_CLOSED, "the sandbox has died: %.300s", err->text);
	process_cell_fail(c, &why);
}

static void keeper_exited(void *self, int code, int signal)
{
	struct cell *c = self;
	(void)code;
	(void)signal;
	c->keeper_ended = true;
	if (c->closed || c->late)
		close_finish(c);
}

/* --- starting --- */

static void process_cell_on_started(void *self, json_t *body, int *fds, size_t nr,
				    const struct err *err)
{
	struct cell *c = self;
	json_release(&c->start);
	if (!body || nr != 1) {
		struct err odd = ERR_INIT;
		err_set(&odd, ERR_PARSE, "the keeper sent no process descriptor");
		process_cell_fail(c, err ? err : &odd);
		return;
	}
	c->guest_pidfd = fds[0];
	fds[0] = -1;
	c->started = true;
	json_put_int(c->info, "guest_pid", json_int(body, "pid", 0));
	process_cell_maybe_ready(c);
}

static void process_cell_put_env(json_t *start, const json_t *roots)
{
	static const char *const base[] = { "HOME=/home/agent", "USER=agent", "LOGNAME=agent",
					    "SHELL=/bin/sh",	"TERM=dumb",  "LANG=C.UTF-8",
					    "TMPDIR=/tmp" };
	json_t *env = json_array();
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	buf_puts(&path, "PATH=");
	for (size_t i = 0; i < json_array_size(roots); i++) {
		const char *at = json_str(json_array_get(roots, i), "at", "");
		CLEANUP(free_ptr) char *bin = path_join(at, "bin");
		buf_printf(&path, "%s:", access(bin, X_OK) == 0 ? bin : at);
	}
	buf_puts(&path, "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin");
	json_array_append_new(env, json_bytes_z(path.data));
	for (size_t i = 0; i < ARRAY_LEN(base); i++)
		json_array_append_new(env, json_string(base[i]));
	json_put(start, "env", env);
}

/* The launcher has opened guest and roots (or says that we may do it by path). */
static void process_cell_on_trees(void *self, json_t *body, int *fds, size_t nr,
				  const struct err *err)
{
	struct cell *c = self;
	json_t *roots = json_object_get(c->start, "roots");
	size_t used = 0;
	if (!body) {
		json_release(&c->start);
		process_cell_fail(c, err);
		return;
	}
	const json_t *trees = json_object_get(body, "trees");
	for (size_t i = 0; i < json_array_size(trees); i++) {
		json_t *tree = i == 0 ? json_object_get(c->start, "guest")
				      : json_object_get(json_array_get(roots, i - 1), "tree");
		if (tree && i == 0)
			json_put(tree, "path",
				 json_incref(json_object_get(json_array_get(trees, i), "path")));
		if (tree && json_flag(json_array_get(trees, i), "fd", false) && used < nr)
			json_put_int(tree, "fd", (int64_t)used++);
	}
	if (!c->keeper)
		return;
	rpc_call(c->keeper, KEEPER_START, c->start, fds, nr, process_cell_on_started, c);
	for (size_t i = 0; i < nr; i++)
		fds[i] = -1;
	c->sent = true;
	if (c->ops && c->ops->on_sent)
		c->ops->on_sent(c->self);
}

json_t *tree_want(const char *path, const char *kind)
{
	json_t *t = json_object();
	json_put_bytes(t, "path", path, strlen(path));
	json_put_str(t, "kind", kind);
	return t;
}

static void ask_for_trees(struct cell *c, const struct cell_spec *s)
{
	const struct launcher_info *info = launcher_info(c->launcher);
	CLEANUP(json_release) json_t *want = json_object();
	json_t *trees = json_array(), *roots = json_array();
	c->start = json_object();
	json_put(c->start, "guest", json_object());
	json_array_append_new(trees, tree_want("", "guest"));
	for (size_t i = 0; i < s->nr_roots && i < FD_PASS_MAX - 1; i++) {
		json_t *root = json_object(), *root_tree = json_object();
		json_put_str(root, "at", s->roots[i]);
		json_put_bytes(root_tree, "path", s->roots[i], strlen(s->roots[i]));
		json_put(root, "tree", root_tree);
		if (json_array_get(s->hide, i))
			json_put(root, "hide", json_incref(json_array_get(s->hide, i)));
		json_array_append_new(roots, root);
		json_array_append_new(trees, tree_want(s->roots[i], "plain"));
	}
	json_put(c->start, "roots", roots);
	json_put_str(c->start, "hostname", "sandbox");
	json_put_int(c->start, "tmp_bytes", TMP_BYTES);
	json_put_int(c->start, "shm_bytes", SHM_BYTES);
	process_cell_put_env(c->start, roots);
	json_put_int(want, "uid", info->uid);
	json_put_int(want, "gid", info->gid);
	json_put(want, "trees", trees);
	launcher_call(c->launcher, LAUNCH_TREES, want, NULL, 0, process_cell_on_trees, c);
}

static void on_keeper(void *self, json_t *body, int *fds, size_t nr, const struct err *err)
{
	static const struct rpc_ops keeper_ops = { .ok = KEEPER_OK,
						   .failed = KEEPER_ERR,
						   .on_other = keeper_other,
						   .on_close = keeper_closed };
	static const struct guest_ops guest_ops = { .on_ready = guest_ready,
						    .on_gone = guest_gone };
	struct cell *c = self;
	struct err odd = ERR_INIT;
	if (!body || nr != 4) {
		err_set(&odd, ERR_PARSE, "the launcher sent no channels to a keeper");
		process_cell_fail(c, err ? err : &odd);
		return;
	}
	c->keeper_pid = (int)json_int(body, "pid", 0);
	launcher_watch(c->launcher, c->keeper_pid, keeper_exited, c);
	if (fd_nonblock(fds[1], &odd) < 0 || fd_nonblock(fds[3], &odd) < 0)
		log_warn("%s", odd.text);
	c->keeper_pidfd = fds[0];
	c->keeper = rpc_new(c->loop, fds[1], KEEPER_MAX_BODY, &keeper_ops, c);
	c->worker = fds[2];
	c->guest = guest_new(c->loop, fds[3], NULL, &guest_ops, c);
	for (size_t i = 0; i < nr; i++)
		fds[i] = -1;
	confine_ahead(c);
}

static int process_cell_filters(const struct launcher_info *info, int fds[SECCOMP_PROGRAMS],
				struct err *err)
{
	bool bounded = strcmp(info->cgroup, "none") != 0;
	return seccomp_memfds(bounded ? 0 : SECCOMP_NO_SHARED_MEMORY, fds, err);
}

static json_t *process_cell_owner(const struct launcher_info *info)
{
	json_t *body = json_object();
	json_put_int(body, "uid", info->uid);
	json_put_int(body, "gid", info->gid);
	return body;
}

void cell_ahead(struct launcher *la)
{
	int fds[SECCOMP_PROGRAMS];
	struct err err = ERR_INIT;
	CLEANUP(json_release) json_t *body = process_cell_owner(launcher_info(la));
	if (process_cell_filters(launcher_info(la), fds, &err) == 0)
		launcher_call(la, LAUNCH_SPARE, body, fds, SECCOMP_PROGRAMS, NULL, NULL);
}

static int ask_for_keeper(struct cell *c, const struct cell_spec *s, struct err *err)
{
	const struct launcher_info *info = launcher_info(c->launcher);
	CLEANUP(json_release) json_t *body = process_cell_owner(info);
	json_t *limits = json_object();
	int fds[SECCOMP_PROGRAMS];
	if (process_cell_filters(info, fds, err) < 0)
		return -1;
	json_put_int(limits, "mem_bytes", s->limits.mem_bytes);
	json_put_int(limits, "cpu_milli", s->limits.cpu_milli);
	json_put_int(limits, "pids", s->limits.pids);
	json_put_int(body, "box", (int64_t)c->box);
	json_put(body, "limits", limits);
	launcher_call(c->launcher, LAUNCH_KEEPER, body, fds, SECCOMP_PROGRAMS, on_keeper, c);
	return 0;
}

static void process_cell_fail_deferred(void *self)
{
	struct cell *c = self;
	struct err why = c->why;
	c->gone = false;
	process_cell_fail(c, &why);
}

struct cell *cell_new(struct loop *l, struct launcher *la, const struct cell_spec *s,
		      const struct cell_ops *ops, void *self)
{
	struct cell *c = NEW(struct cell);
	*c = (struct cell){ .loop = l,
			    .launcher = la,
			    .ops = ops,
			    .self = self,
			    .keeper_pidfd = -1,
			    .guest_pidfd = -1,
			    .worker = -1 };
	pthread_mutex_init(&c->lock, NULL);
	c->key = cell_key(s);
	c->net = s->net;
	for (size_t i = 0; i < s->nr_roots; i++)
		strv_push(&c->roots, s->roots[i]);
	c->info = json_object();
	c->box = launcher_next_box(la);
	if (ask_for_keeper(c, s, &c->why) < 0) {
		c->gone = true;
		loop_defer(l, process_cell_fail_deferred, c);
		return c;
	}
	ask_for_trees(c, s);
	return c;
}

void cell_hand_over(struct cell *c, const struct cell_ops *ops, void *self)
{
	c->ops = ops;
	c->self = self;
}

/* --- the end --- */

static void cell_free(struct cell *c)
{
	launcher_forget(c->launcher, c);
	rpc_free(&c->keeper);
	guest_free(&c->guest);
	loop_fd_free(&c->watch);
	loop_timer_free(&c->late);
	fd_close(&c->keeper_pidfd);
	fd_close(&c->guest_pidfd);
	fd_close(&c->worker);
	json_release(&c->start);
	json_release(&c->info);
	pthread_mutex_destroy(&c->lock);
	strv_release(&c->roots);
	free(c->key);
	free(c);
}

static void close_end(struct cell *c, bool empty)
{
	box_done_fn *done = c->closed;
	void *self = c->closed_self;
	CLEANUP(json_release) json_t *result = json_object();
	json_put_flag(result, "empty", empty);
	cell_free(c);
	if (done)
		done(self, result, NULL);
}

/* Gone: the keeper has ended and its cgroup is empty (reported by the launcher), and the namespace
 * is empty (reported by its first process's descriptor). */
static void close_finish(struct cell *c)
{
	if (c->keeper_pid && !c->keeper_ended)
		return;
	if (c->watch)
		return;
	close_end(c, true);
}

static void namespace_empty(void *self, int fd, unsigned events)
{
	struct cell *c = self;
	(void)fd;
	(void)events;
	loop_fd_free(&c->watch);
	close_finish(c);
}

static void process_cell_close_late(void *self)
{
	struct cell *c = self;
	log_warn("sandbox %llu: some of its processes don't end", (unsigned long long)c->box);
	close_end(c, false);
}

static void close_deferred(void *self)
{
	close_finish(self);
}

void cell_close(struct cell *c, box_done_fn *done, void *self)
{
	c->ops = NULL;
	c->gone = true;
	c->closed = done;
	c->closed_self = self;
	stage_free(&c->stage); /* not later: its directory may go next */
	guest_free(&c->guest); /* kills everything below it and ends */
	rpc_free(&c->keeper);  /* the keeper ends, and with it bubblewrap */
	c->late = loop_timer_new(c->loop, process_cell_close_late, c);
	loop_timer_set(c->late, CLOSE_MS, 0);
	if (c->guest_pidfd >= 0)
		c->watch = loop_fd_new(c->loop, c->guest_pidfd, LOOP_READ, namespace_empty, c);
	else if (!c->keeper_pid || c->keeper_ended)
		loop_defer(c->loop, close_deferred, c);
}
