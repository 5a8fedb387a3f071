/* Opening and closing; stream_verbs.c serves open sandboxes. */
#include "sandbox/stream/stream_backend.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/common/launcher_client.h"
#include "sandbox/common/seccomp.h"
#include "sandbox/common/profile.h"

enum { SHARED_PIDS = 4096 };

void stream_backend_progress(struct far *f, const char *fmt, ...)
{
	char line[300];
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (f->progress && n > 0)
		f->progress(f->progress_self, line,
			    (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
}

/* --- the end --- */

static void far_free(struct far *f)
{
	loop_timer_free(&f->wall);
	guest_free(&f->guest);
	mirror_free(&f->mirror);
	f->kind->release(f);
	folder_free(&f->folder);
	layers_release(&f->layers);
	strv_release(&f->env);
	free(f->name);
	free(f->state_dir);
	free(f->root);
	free(f->tool);
	free(f->workspace);
	free(f->home);
	free(f);
}

/* Reports to callers that wait; the worker, if any, comes back first. */
static void stream_backend_leave(struct far *f)
{
	if (f->leaving)
		return;
	f->dead = true;
	mirror_over(f->mirror);
	stream_backend_tools_end(f);
	guest_free(&f->guest);
	if (f->busy)
		return; /* back_from_work comes here again */
	f->leaving = true;
	f->kind->leave(f);
}

void stream_backend_gone(struct far *f)
{
	CLEANUP(json_release) json_t *r = json_object();
	box_done_fn *opened = take(&f->opened), *closed = take(&f->closed);
	void *opened_self = f->opened_self, *closed_self = f->closed_self;
	struct err why = f->failed;
	json_put_flag(r, "empty", true);
	far_free(f);
	if (opened)
		opened(opened_self, NULL, &why);
	if (closed)
		closed(closed_self, r, NULL);
}

void stream_backend_fail(struct far *f, const struct err *err)
{
	if (f->leaving || (f->dead && f->failed.code))
		return;
	if (!f->failed.code)
		f->failed = *err;
	stream_backend_leave(f);
}

void stream_backend_close(struct box *b, box_done_fn *done, void *self)
{
	struct far *f = CONTAINER_OF(b, struct far, b);
	f->closed = done;
	f->closed_self = self;
	f->closing = true;
	stream_backend_leave(f);
}

/* false: it is over, and @f may be gone. */
static bool back_from_work(struct far *f)
{
	f->busy = false;
	if (!f->dead && !f->closing && !f->failed.code)
		return true;
	if (f->closing && !f->failed.code)
		err_set(&f->failed, ERR_CLOSED, "the sandbox was closed while it was opened");
	stream_backend_leave(f);
	return false;
}

/* --- open --- */

static void stream_backend_wall_over(void *self, json_t *result, const struct err *err)
{
	(void)self;
	(void)result;
	(void)err;
}

static void stream_backend_wall_time(void *self)
{
	struct far *f = self;
	if (f->guest)
		guest_kill_all(f->guest, stream_backend_wall_over, NULL);
}

static json_t *stream_backend_describe(struct far *f)
{
	json_t *r = json_object(), *limits = json_object(), *lacks = json_array();
	json_put_str(r, "profile", f->b.profile);
	layers_describe(&f->layers, r);
	json_put_int(limits, "mem_bytes", f->limits.mem_bytes);
	json_put_int(limits, "pids", f->limits.pids);
	json_put_int(limits, "file_bytes", f->limits.disk_bytes);
	json_put(r, "limits", limits);
	if (f->kind->wall == FAR_NONE)
		json_array_append_new(
			lacks,
			json_string("no isolation at all: commands may do what their user may"));
	else if (f->kind->wall == FAR_SHARED && !f->landlock)
		json_array_append_new(
			lacks,
			json_string(
				"the kernel there has no landlock: commands may do what their user may"));
	else if (f->kind->wall == FAR_SHARED)
		json_array_append_new(
			lacks,
			json_string(
				"no namespaces: commands see that host's programs, processes, and network"));
	if (f->kind->wall != FAR_NONE && !f->filtered)
		json_array_append_new(lacks, json_string(FILTERS_LACK));
	json_put(r, "lacks", lacks);
	json_put_int(r, "landlock", f->landlock);
	json_put_int(r, "uid", f->info.uid);
	json_put_int(r, "uid_inside", f->info.uid);
	json_put_str(r, "workspace", f->workspace);
	json_put_str(r, "home", f->home);
	if (f->kind->describe)
		f->kind->describe(f, r);
	return r;
}

static void stream_backend_is_open(struct far *f)
{
	CLEANUP(json_release) json_t *r = stream_backend_describe(f);
	box_done_fn *done = take(&f->opened);
	f->open = true;
	if (f->limits.wall_us > 0) {
		f->wall = loop_timer_new(f->loop, stream_backend_wall_time, f);
		loop_timer_set(f->wall, (uint64_t)(f->limits.wall_us / 1000), 0);
	}
	done(f->opened_self, r, NULL);
}

static void push_work(void *self)
{
	struct far *f = self;
	struct err err = ERR_INIT;
	if (mirror_push(f->mirror, &err) < 0 && !f->failed.code)
		f->failed = err;
}

static void stream_backend_push_done(void *self)
{
	struct far *f = self;
	if (back_from_work(f))
		stream_backend_is_open(f);
}

static void stream_backend_on_confined(void *self, json_t *body, const struct err *err)
{
	struct far *f = self;
	if (!body) {
		stream_backend_fail(f, err);
		return;
	}
	f->landlock = (int)json_int(body, "landlock", 0);
	f->filtered = json_flag(body, "filtered", false);
	f->b.profile = f->kind->wall == FAR_NONE || (f->kind->wall == FAR_SHARED && !f->landlock)
			       ? "none"
			       : f->kind->profile;
	if (f->kind->here) {
		stream_backend_is_open(f);
		return;
	}
	const struct mirror_opts o = { .loop = f->loop,
				       .folder = f->folder,
				       .far_root = f->workspace,
				       .run = stream_backend_tool,
				       .self = f };
	f->mirror = mirror_new(&o);
	f->busy = true;
	stream_backend_progress(f, "bringing the workspace over");
	loop_job_run(f->loop, push_work, stream_backend_push_done, f);
}

static void set_env(struct far *f)
{
	struct strv env = STRV_INIT;
	CLEANUP(free_ptr)
	char *home = mem_printf("HOME=%s", f->home), *tmp = mem_printf("TMPDIR=%s/tmp", f->root);
	CLEANUP(free_ptr) char *ws = mem_printf("SANDGLASS_WORKSPACE=%s", f->workspace);
	const char *const base[] = {
		"PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
		home,
		tmp,
		ws,
		"USER=agent",
		"LOGNAME=agent",
		"SHELL=/bin/sh",
		"TERM=dumb",
		"LANG=C.UTF-8",
		GIT_VIEW_ENV
	};
	for (size_t i = 0; i < ARRAY_LEN(base); i++)
		strv_push(&env, base[i]);
	for (size_t i = 0; i < f->env.nr; i++)
		strv_push_bytes(&env, f->env.item[i], f->env.len[i]);
	strv_release(&f->env);
	f->env = env;
}

/* The shared rules, without the number of the machine. Returns owned. */
static struct guest_rule *stream_backend_shared_rules(size_t *nr_out)
{
	const struct guest_rule *shared;
	*nr_out = guest_rules_shared(&shared);
	struct guest_rule *rules = mem_calloc(*nr_out, sizeof(*rules));
	for (size_t i = 0; i < *nr_out; i++) {
		rules[i] = shared[i];
		if (strcmp(shared[i].path, "/etc") == 0)
			rules[i].access |= GUEST_ENTRIES;
	}
	return rules;
}

static void stream_backend_on_ready(void *self, const struct guest_info *info)
{
	struct far *f = self;
	const unsigned rx = GUEST_READ | GUEST_EXEC, all = rx | GUEST_WRITE;
	CLEANUP(free_ptr) char *tmp = mem_printf("%s/tmp", f->root);
	const struct guest_rule whole = { "/", all | GUEST_DEVICE };
	const struct guest_rule own[] = { { f->workspace, all },
					  { f->home, all },
					  { tmp, all },
					  { f->tool ? f->tool : "/nowhere", rx } };
	struct guest_attach a = { .unconfined_ok = true,
				  .limits = f->limits,
				  .keep_caps = f->kind->wall == FAR_OWN };
	struct err err = ERR_INIT;
	f->info = *info;
	set_env(f);
	/* shared: no namespace hides its System V objects, and no cgroup counts shared memory */
	unsigned weak =
		f->kind->wall == FAR_SHARED ? SECCOMP_NO_SYSV | SECCOMP_NO_SHARED_MEMORY : 0;
	if (f->kind->wall != FAR_NONE && !(a.filters = seccomp_made(weak, &err))) {
		stream_backend_fail(f, &err);
		return;
	}
	CLEANUP(free_ptr) struct guest_rule *shared = NULL;
	if (f->kind->wall == FAR_SHARED) {
		shared = stream_backend_shared_rules(&a.nr_rules);
		a.rules = shared;
		a.extra = own;
		a.nr_extra = ARRAY_LEN(own);
		a.scope = true;
	} else {
		a.rules = &whole;
		a.nr_rules = 1;
	}
	guest_attach(f->guest, &a, stream_backend_on_confined, f);
}

static void stream_backend_on_gone(void *self, const struct err *err)
{
	struct far *f = self;
	struct err why = *err;
	guest_free(&f->guest);
	if (f->open) {
		f->dead = true;
		mirror_over(f->mirror);
		stream_backend_tools_end(f);
	} else if (!f->kind->explain || !f->kind->explain(f)) {
		stream_backend_fail(f, &why);
	}
}

void stream_backend_give_up(struct box *b)
{
	struct far *f = CONTAINER_OF(b, struct far, b);
	struct err why = ERR_INIT;
	err_set(&why, ERR_CLOSED, "the sandbox does not answer");
	if (f->open && f->guest)
		stream_backend_on_gone(f, &why);
}

void stream_backend_connected(struct far *f, int fd)
{
	static const struct guest_ops ops = { .on_ready = stream_backend_on_ready,
					      .on_gone = stream_backend_on_gone };
	static const struct guest_opts framed = { .framed = true };
	if (f->dead) {
		fd_close(&fd);
		return;
	}
	f->workspace = mem_printf("%s/workspace", f->root);
	f->home = *f->root ? mem_printf("%s/home", f->root) : mem_strdup("/home/agent");
	f->b.workspace = f->workspace;
	f->guest = guest_new(f->loop, fd, &framed, &ops, f);
}

/* Worker. */
static void stream_backend_make_files(void *self)
{
	struct far *f = self;
	f->layers.copy = true;
	if (layers_scan(&f->layers, &f->failed) == 0) {
		if (folder_fill(f->folder, &f->layers, &f->failed) < 0)
			err_wrap(&f->failed, "can't copy the workspace");
	}
}

static void stream_backend_files_made(void *self)
{
	struct far *f = self;
	if (back_from_work(f))
		f->kind->connect(f);
}

static void stream_backend_fail_early(void *self)
{
	struct far *f = self;
	stream_backend_leave(f);
}

/* On a machine that is shared each process is bounded, and the number of all processes of its user,
 * who may have others: more than the usual number. */
static void limit_shared(struct box_limits *l)
{
	const int64_t most = INT64_C(8) << 30;
	l->mem_bytes = l->mem_bytes ? l->mem_bytes : most;
	l->disk_bytes = l->disk_bytes ? l->disk_bytes : most;
	l->pids = l->pids ? l->pids : SHARED_PIDS;
}

static int stream_backend_take_opts(struct far *f, const struct box_opts *o, struct err *err)
{
	struct launcher *la = launcher_current();
	bool root = geteuid() == 0 && la;
	if (f->kind->options(f, o, err) < 0 || layers_check(o, err) < 0)
		return -1;
	if (o->nr_roots)
		return err_set(err, ERR_UNSUPPORTED, "backend %s: option 'roots' is not supported",
			       f->kind->driver->name);
	f->uid = root ? launcher_info(la)->uid : geteuid();
	f->gid = root ? launcher_info(la)->gid : getegid();
	f->state_dir = mem_strdup(o->state_dir);
	layers_take(&f->layers, o);
	for (size_t i = 0; o->env && o->env[i]; i++)
		strv_push(&f->env, o->env[i]);
	const struct folder_opts fo = { .loop = f->loop,
					.state_dir = f->state_dir,
					.name = f->kind->folder,
					.uid = f->uid,
					.gid = f->gid,
					.walked = f->kind->here && root };
	f->folder = folder_new(&fo);
	return dir_make(f->state_dir, 0700, err);
}

struct box *stream_backend_open(const struct far_kind *kind, size_t size, struct loop *l,
				const struct box_opts *o, box_done_fn *done, void *self)
{
	struct far *f = mem_calloc(1, size);
	*f = (struct far){ .kind = kind,
			   .loop = l,
			   .opened = done,
			   .opened_self = self,
			   .limits = o->limits,
			   .name = mem_strdup(o->name ? o->name : "box"),
			   .progress = o->progress,
			   .progress_self = o->progress_self };
	f->b = (struct box){ .driver = kind->driver, .name = f->name, .profile = kind->profile };
	if (kind->wall == FAR_SHARED)
		limit_shared(&f->limits);
	if (stream_backend_take_opts(f, o, &f->failed) < 0) {
		loop_defer(l, stream_backend_fail_early, f);
		return &f->b;
	}
	f->busy = true;
	loop_job_run(l, stream_backend_make_files, stream_backend_files_made, f);
	return &f->b;
}
