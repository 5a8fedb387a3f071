/* Opening: copy and masks on a worker, the image, the container, its guest's connection, its
 * rules. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/container/container_priv.h"
#include "sandbox/common/remote_orphans.h"
#include "sandbox/common/launcher_client.h"
#include "sandbox/common/profile.h"
#include "sandbox/common/seccomp.h"

/* GOING_MS: that long an engine may take to remove a container */
enum { CONNECT_MS = 30000, GOING_MS = 30000, AGAIN_MS = 200 };

static void container_open_fail(struct container *c, const struct err *err);

/* --- the end of opening --- */

static void container_open_removed(void *self, json_t *result, const struct err *err)
{
	struct container *c = self;
	box_done_fn *done = take(&c->opened);
	(void)result;
	if (c->state_dir && (!err || err->code == ERR_NOENT || err->code == ERR_BUSY))
		remote_orphans_gone(c->state_dir);
	if (done)
		done(c->opened_self, NULL, &c->failed);
	container_free(c);
}

static void container_open_fail_later(void *self)
{
	container_open_removed(self, NULL, NULL);
}

static void container_open_fail(struct container *c, const struct err *err)
{
	if (c->dead)
		return;
	c->dead = true;
	c->failed = *err;
	loop_timer_free(&c->late);
	loop_fd_free(&c->watch);
	if (c->created)
		container_call(c, "DELETE", "?force=1&v=1", NULL, container_open_removed, c);
	else
		loop_defer(c->loop, container_open_fail_later, c);
}

static void container_open_wall_over(void *self, json_t *result, const struct err *err)
{
	(void)self;
	(void)result;
	(void)err;
}

static void container_open_wall_time(void *self)
{
	struct container *c = self;
	if (c->guest)
		guest_kill_all(c->guest, container_open_wall_over, NULL);
}

static json_t *container_open_describe(const struct container *c, int landlock, bool filtered)
{
	json_t *r = json_object(), *limits = json_object(), *lacks = json_array();
	json_put_str(r, "profile", c->b.profile);
	layers_describe(&c->layers, r);
	json_put_int(limits, "mem_bytes", c->limits.mem_bytes);
	json_put_int(limits, "pids", c->limits.pids);
	json_put_int(limits, "cpu_milli", c->limits.cpu_milli);
	json_put_int(limits, "file_bytes", c->limits.disk_bytes);
	json_put(r, "limits", limits);
	if (!landlock)
		json_array_append_new(
			lacks,
			json_string(
				"the kernel has no landlock: the mounts alone bound what may be written"));
	if (!filtered)
		json_array_append_new(lacks, json_string(FILTERS_LACK));
	json_put(r, "lacks", lacks);
	json_put_int(r, "landlock", landlock);
	json_put_int(r, "uid", c->uid);
	json_put_int(r, "uid_inside", c->uid);
	json_put_str(r, "workspace", "/workspace");
	json_put_str(r, "home", "/home/agent");
	json_put_str(r, "container", c->id);
	json_put_str(r, "image", c->image.name);
	json_put(r, "image_is", json_incref(c->image.about));
	json_put(r, "engine", json_deep_copy(engine_about(c->engine)));
	return r;
}

static void container_open_on_confined(void *self, json_t *body, const struct err *err)
{
	struct container *c = self;
	if (!body) {
		container_open_fail(c, err);
		return;
	}
	CLEANUP(json_release)
	json_t *r = container_open_describe(c, (int)json_int(body, "landlock", 0),
					    json_flag(body, "filtered", false));
	c->open = true;
	c->b.files = folder_elsewhere(c->folder);
	if (c->limits.wall_us > 0) {
		c->wall = loop_timer_new(c->loop, container_open_wall_time, c);
		loop_timer_set(c->wall, (uint64_t)(c->limits.wall_us / 1000), 0);
	}
	box_done_fn *done = take(&c->opened);
	done(c->opened_self, r, NULL);
}

/* --- the guest --- */

static void container_open_on_ready(void *self, const struct guest_info *info)
{
	static const struct guest_rule all = { "/", GUEST_READ | GUEST_EXEC };
	struct container *c = self;
	struct err err = ERR_INIT;
	const struct buf *filters = seccomp_made(0, &err);
	(void)info;
	if (!filters) {
		container_open_fail(c, &err);
		return;
	}
	const struct guest_attach a = { .extra = &all,
					.nr_extra = 1,
					.filters = filters,
					.unconfined_ok = true,
					.limits = { .disk_bytes = c->limits.disk_bytes } };
	guest_attach(c->guest, &a, container_open_on_confined, c);
}

static void container_open_on_gone(void *self, const struct err *err)
{
	struct container *c = self;
	struct err why = *err;
	guest_free(&c->guest);
	if (c->open)
		c->dead = true;
	else
		container_open_fail(c, &why);
}

static void begin_guest(struct container *c)
{
	static const struct guest_ops ops = { .on_ready = container_open_on_ready,
					      .on_gone = container_open_on_gone };
	struct err err = ERR_INIT;
	struct ucred who = { 0 };
	socklen_t len = sizeof(who);
	if (c->fd < 0 || !c->pid)
		return;
	loop_timer_free(&c->late);
	/* pid 0: the engine's processes live in a namespace that we do not see */
	if (getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0 ||
	    (who.pid && who.pid != c->pid)) {
		err_set(&err, ERR_DENIED,
			"a program other than the guest has connected from the container");
		container_open_fail(c, &err);
		return;
	}
	int fd = c->fd;
	c->fd = -1;
	c->guest = guest_new(c->loop, fd, NULL, &ops, c);
}

static void on_connection(void *self, int listener, unsigned events)
{
	struct container *c = self;
	struct err err = ERR_INIT;
	(void)events;
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	c->fd = fd;
	loop_fd_free(&c->watch);
	fd_close(&c->listener); /* for one guest */
	CLEANUP(free_ptr) char *path = path_join(c->run_dir, "guest.sock");
	if (unlink(path) < 0) {
		err_sys(&err, "can't remove '%s'", path);
		container_open_fail(c, &err);
		return;
	}
	begin_guest(c);
}

static void container_open_too_late(void *self)
{
	struct container *c = self;
	struct err err = ERR_INIT;
	err_set(&err, ERR_TIMEOUT,
		"the guest in the container of '%s' didn't answer within 30 s; check that the image "
		"is for this architecture",
		c->image.name);
	container_open_fail(c, &err);
}

/* The path may be longer than a socket's address: bound from inside its directory. */
static int listen_for_guest(struct container *c, struct err *err)
{
	CLEANUP(fd_close) int dir = open(c->run_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	if (dir < 0)
		return err_sys(err, "can't open '%s'", c->run_dir);
	snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/guest.sock", dir);
	unlinkat(dir, "guest.sock", 0);
	c->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->listener < 0 || bind(c->listener, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    listen(c->listener, 1) < 0)
		return err_sys(err, "can't listen in '%s'", c->run_dir);
	if (chown(a.sun_path, c->uid, c->gid) < 0 && geteuid() == 0)
		return err_sys(err, "can't change the owner of '%s/guest.sock'", c->run_dir);
	if (chmod(a.sun_path, 0600) < 0)
		return err_sys(err, "can't close '%s/guest.sock'", c->run_dir);
	c->watch = loop_fd_new(c->loop, c->listener, LOOP_READ, on_connection, c);
	return 0;
}

static void container_open_on_state(void *self, json_t *body, const struct err *err)
{
	struct container *c = self;
	const json_t *state = json_object_get(body, "State");
	struct err why = ERR_INIT;
	if (c->dead)
		return;
	c->pid = (int)json_int(state, "Pid", 0);
	if (!body || !json_flag(state, "Running", false) || !c->pid) {
		if (!body)
			why = *err;
		else
			err_set(&why, ERR_IO, "the container of '%s' ended at once (status %lld)",
				c->image.name, (long long)json_int(state, "ExitCode", 0));
		container_open_fail(c, &why);
		return;
	}
	begin_guest(c);
}

static void container_open_on_started(void *self, json_t *body, const struct err *err)
{
	struct container *c = self;
	if (c->dead)
		return;
	if (!body) {
		container_open_fail(c, err);
		return;
	}
	if (c->fd < 0) {
		c->late = loop_timer_new(c->loop, container_open_too_late, c);
		loop_timer_set(c->late, CONNECT_MS, 0);
	}
	container_call(c, "GET", "/json", NULL, container_open_on_state, c);
}

static void container_open_create(struct container *c, box_done_fn *done);

static void on_created(void *self, json_t *body, const struct err *err)
{
	struct container *c = self;
	if (c->dead)
		return;
	if (!body) {
		container_open_fail(c, err);
		return;
	}
	c->created = true;
	container_call(c, "POST", "/start", NULL, container_open_on_started, c);
}

static void on_created_unless_taken(void *self, json_t *body, const struct err *err);

static void on_old_removed(void *self, json_t *body, const struct err *err)
{
	struct container *c = self;
	(void)body;
	(void)err;
	if (!c->dead)
		container_open_create(c, on_created_unless_taken);
}

static void remove_old(void *self)
{
	struct container *c = self;
	container_call(c, "DELETE", "?force=1&v=1", NULL, on_old_removed, c);
}

/* One of this name is what an earlier supervisor of this session left. Its guest has ended with
 * that, so the engine may be removing it already: the name is taken until it has. */
static void on_created_unless_taken(void *self, json_t *body, const struct err *err)
{
	struct container *c = self;
	if (c->dead)
		return;
	if (body || err->code != ERR_BUSY ||
	    (c->taken_us && loop_now_us(c->loop) - c->taken_us > GOING_MS * INT64_C(1000))) {
		loop_timer_free(&c->late);
		on_created(c, body, err);
	} else if (!c->taken_us) {
		c->taken_us = loop_now_us(c->loop);
		remove_old(c);
	} else {
		if (!c->late)
			c->late = loop_timer_new(c->loop, remove_old, c);
		loop_timer_set(c->late, AGAIN_MS, 0);
	}
}

static void container_open_create(struct container *c, box_done_fn *done)
{
	CLEANUP(free_ptr) char *path = mem_printf("/containers/create?name=%s", c->id);
	CLEANUP(json_release) json_t *body = container_open_config(c);
	engine_call(c->engine, "POST", path, body, done, c);
}

/* For `doctor --paths`, before there can be one. */
static int container_open_note_it(const struct container *c, struct err *err)
{
	CLEANUP(free_ptr) char *where = mem_printf("%s: %s", engine_path(c->engine), c->id);
	return remote_orphans_note(c->state_dir, driver_container.name, where, err);
}

static void on_image(void *self, const struct err *err)
{
	struct container *c = self;
	struct err why = ERR_INIT;
	if (c->dead)
		return;
	if (err)
		container_open_fail(c, err);
	else if (listen_for_guest(c, &why) < 0 || container_open_note_it(c, &why) < 0)
		container_open_fail(c, &why);
	else
		container_open_create(c, on_created_unless_taken);
}

/* --- files --- */

static void container_open_make_files(void *self)
{
	struct container *c = self;
	c->layers.copy = true;
	if (layers_scan(&c->layers, &c->failed) == 0 &&
	    dir_make(c->run_dir, 0711, &c->failed) == 0) {
		if (folder_fill(c->folder, &c->layers, &c->failed) < 0)
			err_wrap(&c->failed, "can't copy the workspace for the container");
		else if (image_pack(&c->image, &c->failed) < 0)
			err_wrap(&c->failed, "can't pack the image");
	}
}

static void container_open_files_made(void *self)
{
	struct container *c = self;
	struct err why = c->failed;
	c->busy = false;
	if (c->dead) /* closed meanwhile */
		container_open_removed(c, NULL, NULL);
	else if (why.code)
		container_open_fail(c, &why);
	else
		image_get(&c->image, c->engine, on_image, c);
}

/* --- */

static void container_open_fail_early(void *self)
{
	struct container *c = self;
	struct err why = c->failed;
	container_open_fail(c, &why);
}

static int container_open_take_opts(struct container *c, const struct box_opts *o, struct err *err)
{
	struct launcher *la = launcher_current();
	CLEANUP(buf_release) struct buf hex = BUF_INIT;
	struct hash h;
	if (layers_check(o, err) < 0 || image_take(&c->image, o->driver, err) < 0)
		return -1;
	if (o->nr_roots)
		return err_set(
			err, ERR_UNSUPPORTED,
			"backend container: option 'roots' is not supported; add the tools to the image");
	CLEANUP(free_ptr) char *guest = paths_libexec("sandglass-guest");
	if (access(guest, X_OK) < 0)
		return err_sys(err, "can't find the guest program '%s'", guest);
	CLEANUP(free_ptr) char *socket = engine_socket(json_str(o->driver, "engine", NULL), err);
	if (!socket || engine_get(&c->engine, c->loop, socket, err) < 0)
		return -1;
	c->uid = geteuid() == 0 && la ? launcher_info(la)->uid : geteuid();
	c->gid = geteuid() == 0 && la ? launcher_info(la)->gid : getegid();
	c->state_dir = mem_strdup(o->state_dir);
	c->run_dir = path_join(o->state_dir, "run");
	hash_of(o->state_dir, strlen(o->state_dir), &h);
	hex_append(&hex, h.b, 6);
	c->id = mem_printf("sandglass-%s", buf_cstr(&hex));
	layers_take(&c->layers, o);
	for (size_t i = 0; o->env && o->env[i]; i++)
		strv_push(&c->env, o->env[i]);
	const struct folder_opts f = { .loop = c->loop,
				       .state_dir = c->state_dir,
				       .name = "files",
				       .uid = c->uid,
				       .gid = c->gid };
	c->folder = folder_new(&f);
	return dir_make(c->state_dir, 0700, err);
}

struct box *container_open(struct loop *l, const struct box_opts *o, box_done_fn *done, void *self)
{
	struct container *c = NEW(struct container);
	*c = (struct container){ .loop = l,
				 .opened = done,
				 .opened_self = self,
				 .name = mem_strdup(o->name ? o->name : "box"),
				 .limits = o->limits,
				 .gpus = json_int(o->driver, "gpu", 0),
				 .listener = -1,
				 .fd = -1 };
	c->b = (struct box){ .driver = &driver_container, .name = c->name, .profile = "container" };
	profile_limits(&c->limits);
	if (container_open_take_opts(c, o, &c->failed) < 0) {
		loop_defer(l, container_open_fail_early, c);
		return &c->b;
	}
	c->image.progress = o->progress;
	c->image.progress_self = o->progress_self;
	c->busy = true;
	loop_job_run(l, container_open_make_files, container_open_files_made, c);
	return &c->b;
}

void container_free(struct container *c)
{
	loop_timer_free(&c->late);
	loop_timer_free(&c->wall);
	loop_fd_free(&c->watch);
	fd_close(&c->listener);
	fd_close(&c->fd);
	guest_free(&c->guest);
	if (c->engine) {
		engine_forget(c->engine, c);
		engine_forget(c->engine, &c->image);
	}
	engine_put(&c->engine);
	folder_free(&c->folder);
	layers_release(&c->layers);
	image_release(&c->image);
	strv_release(&c->env);
	free(c->name);
	free(c->state_dir);
	free(c->run_dir);
	free(c->id);
	free(c);
}
