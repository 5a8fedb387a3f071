#include "sandbox/process/process_reduced.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/process/process_priv.h"
#include "sandbox/common/profile.h"
#include "sandbox/common/seccomp.h"
#include "wire/launch.h"

enum { ETC_MAX = 700 }; /* of GUEST_MAX_RULES */

struct reduced {
	struct process_box *p; /* borrowed */
	struct launcher *launcher;
	struct err why, failed;
	unsigned uid;
	uint64_t box;
	struct folder *folder;
	const char *root; /* of the directory; every uid may pass through it */
	int pid, pidfd;
	struct guest *guest;
	bool ended;
	int landlock;
	box_done_fn *done, *closed;
	void *self, *closed_self;
};

struct reduced *reduced_new(struct process_box *p, const struct err *why)
{
	static unsigned turn;
	struct reduced *r = NEW(struct reduced);
	*r = (struct reduced){ .p = p, .why = *why, .pidfd = -1, .launcher = launcher_current() };
	r->uid = launcher_info(r->launcher)->spare + turn++ % 16;
	r->box = launcher_next_box(r->launcher);
	const struct folder_opts o = { .loop = p->loop,
				       .state_dir = p->state_dir,
				       .name = "reduced",
				       .uid = r->uid,
				       .gid = r->uid,
				       .walked = true };
	r->folder = folder_new(&o);
	return r;
}

void reduced_free(struct reduced **rp)
{
	struct reduced *r = take(rp);
	if (!r)
		return;
	launcher_forget(launcher_current(), r);
	guest_free(&r->guest);
	fd_close(&r->pidfd);
	folder_free(&r->folder);
	free(r);
}

struct guest *reduced_guest(struct reduced *r)
{
	return r->guest;
}

uint64_t reduced_box(const struct reduced *r)
{
	return r->box;
}

/* Worker. */
static void make_copy(void *self)
{
	struct reduced *r = self;
	struct process_box *p = r->p;
	p->layers.copy = true;
	if (layers_scan(&p->layers, &r->failed) == 0 &&
	    folder_fill(r->folder, &p->layers, &r->failed) == 0)
		r->root = folder_root(r->folder);
}

/* --- starting --- */

static void process_reduced_finish(struct reduced *r, json_t *result, const struct err *err)
{
	box_done_fn *done = take(&r->done);
	if (done)
		done(r->self, result, err);
}

static void process_reduced_on_confined(void *self, json_t *body, const struct err *err)
{
	struct reduced *r = self;
	const struct launcher_info *info = launcher_info(r->launcher);
	if (!body) {
		process_reduced_finish(r, NULL, err);
		return;
	}
	CLEANUP(json_release) json_t *out = json_object();
	CLEANUP(free_ptr) char *workspace = path_join(r->root, "workspace");
	CLEANUP(free_ptr) char *home = path_join(r->root, "home");
	r->landlock = (int)json_int(body, "landlock", 0);
	json_t *lacks = profile_lacks(PROFILE_REDUCED, info, r->landlock);
	json_array_append_new(lacks, json_string(r->why.text));
	json_put(out, "lacks", lacks);
	json_put_int(out, "uid", r->uid);
	json_put_int(out, "uid_inside", r->uid);
	json_put_int(out, "landlock", r->landlock);
	json_put_str(out, "cgroup", info->cgroup);
	r->p->b.files = folder_elsewhere(r->folder);
	json_put_str(out, "workspace", workspace);
	json_put_str(out, "home", home);
	process_reduced_finish(r, out, NULL);
}

static void take_env(struct reduced *r)
{
	struct strv env = STRV_INIT;
	CLEANUP(buf_release) struct buf path = BUF_INIT;
	buf_puts(&path, "PATH=");
	for (size_t i = 0; i < r->p->roots.nr; i++)
		buf_printf(&path, "%s/bin:", r->p->roots.item[i]);
	buf_puts(&path, "/usr/local/bin:/usr/bin:/bin");
	CLEANUP(free_ptr) char *home = mem_printf("HOME=%s/home", r->root);
	CLEANUP(free_ptr) char *tmp = mem_printf("TMPDIR=%s/tmp", r->root);
	CLEANUP(free_ptr) char *ws = mem_printf("SANDGLASS_WORKSPACE=%s/workspace", r->root);
	const char *const base[] = { path.data,
				     home,
				     tmp,
				     ws,
				     "USER=agent",
				     "LOGNAME=agent",
				     "SHELL=/bin/sh",
				     "TERM=dumb",
				     "LANG=C.UTF-8",
				     GIT_VIEW_ENV };
	for (size_t i = 0; i < ARRAY_LEN(base); i++)
		strv_push(&env, base[i]);
	for (size_t i = 0; i < r->p->env.nr; i++)
		strv_push_bytes(&env, r->p->env.item[i], r->p->env.len[i]);
	strv_release(&r->p->env);
	r->p->env = env;
}

/* A landlock rule holds for all below it, so that /etc is given entry by entry: the number of this
 * machine, which tells it from all others, is left out. */
static void add_etc(struct strv *paths)
{
	DIR *d = opendir("/etc");
	for (struct dirent *e; d && (e = readdir(d));) {
		CLEANUP(free_ptr) char *path = mem_printf("/etc/%s", e->d_name);
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
		    strcmp(e->d_name, "machine-id") != 0 && paths->nr < ETC_MAX)
			strv_push(paths, path);
	}
	if (d)
		closedir(d);
}

/* The shared rules, for /etc those of add_etc, and its own directories. */
static struct guest_rule *reduced_rules(const struct reduced *r, const struct strv *etc,
					const struct guest_rule *own, size_t nr_own, size_t *nr_out)
{
	const struct guest_rule *shared;
	size_t nr_shared = guest_rules_shared(&shared), nr = 0;
	struct guest_rule *rules =
		mem_calloc(nr_shared + etc->nr + nr_own + r->p->roots.nr, sizeof(*rules));
	for (size_t i = 0; i < nr_shared; i++) {
		rules[nr] = shared[i];
		if (strcmp(shared[i].path, "/etc") == 0)
			rules[nr].access = GUEST_LIST;
		nr++;
	}
	for (size_t i = 0; i < etc->nr; i++)
		rules[nr++] = (struct guest_rule){ .path = etc->item[i], .access = GUEST_READ };
	for (size_t i = 0; i < nr_own; i++)
		rules[nr++] = own[i];
	for (size_t i = 0; i < r->p->roots.nr; i++)
		rules[nr++] = (struct guest_rule){ .path = r->p->roots.item[i],
						   .access = GUEST_READ | GUEST_EXEC };
	*nr_out = nr;
	return rules;
}

static void process_reduced_on_ready(void *self, const struct guest_info *info)
{
	struct reduced *r = self;
	const unsigned all = GUEST_READ | GUEST_EXEC | GUEST_WRITE;
	CLEANUP(free_ptr) char *workspace = path_join(r->root, "workspace");
	CLEANUP(free_ptr) char *home = path_join(r->root, "home");
	CLEANUP(free_ptr) char *tmp = path_join(r->root, "tmp");
	const struct guest_rule own[] = { { workspace, all }, { home, all }, { tmp, all } };
	(void)info;
	take_env(r);
	CLEANUP(strv_release) struct strv etc = STRV_INIT;
	add_etc(&etc);
	struct guest_attach a = { .scope = true,
				  .unconfined_ok = true,
				  .limits = profile_rlimits(PROFILE_REDUCED, &r->p->limits) };
	struct guest_rule *rules = reduced_rules(r, &etc, own, ARRAY_LEN(own), &a.nr_rules);
	a.rules = rules;
	guest_attach(r->guest, &a, process_reduced_on_confined, r);
	free(rules);
}

static void process_reduced_on_gone(void *self, const struct err *err)
{
	struct reduced *r = self;
	struct err why = *err;
	guest_free(&r->guest);
	process_reduced_finish(r, NULL, &why);
}

static void on_exited(void *self, int code, int signal)
{
	struct reduced *r = self;
	(void)code;
	(void)signal;
	r->ended = true;
	if (r->closed) {
		CLEANUP(json_release) json_t *result = json_object();
		json_put_flag(result, "empty", true);
		take (&r->closed)(r->closed_self, result, NULL);
	}
}

static void on_guest(void *self, json_t *body, int *fds, size_t nr, const struct err *err)
{
	struct reduced *r = self;
	if (!body || nr != 1) {
		struct err why = ERR_INIT;
		if (err)
			why = *err;
		else
			err_set(&why, ERR_PARSE, "the launcher sent no process descriptor");
		process_reduced_finish(r, NULL, &why);
		return;
	}
	r->pid = (int)json_int(body, "pid", 0);
	r->pidfd = fds[0];
	fds[0] = -1;
	launcher_watch(r->launcher, r->pid, on_exited, r);
}

static int process_reduced_launch(struct reduced *r, struct err *err)
{
	static const struct guest_ops ops = { .on_ready = process_reduced_on_ready,
					      .on_gone = process_reduced_on_gone };
	CLEANUP(json_release) json_t *body = json_object();
	CLEANUP(free_ptr) char *workspace = path_join(r->root, "workspace");
	json_t *limits = json_object();
	int pair[2], fds[1 + SECCOMP_PROGRAMS];
	bool bounded = strcmp(launcher_info(r->launcher)->cgroup, "none") != 0;
	if (seccomp_memfds(SECCOMP_NO_INTERNET | SECCOMP_NO_SYSV |
				   (bounded ? 0u : (unsigned)SECCOMP_NO_SHARED_MEMORY),
			   fds + 1, err) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, "can't create a socket for the sandbox");
	fds[0] = pair[1];
	if (fd_nonblock(pair[0], err) < 0)
		log_warn("%s", err->text);
	r->guest = guest_new(r->p->loop, pair[0], NULL, &ops, r);
	json_put_int(limits, "mem_bytes", r->p->limits.mem_bytes);
	json_put_int(limits, "cpu_milli", r->p->limits.cpu_milli);
	json_put_int(limits, "pids", r->p->limits.pids);
	json_put_int(body, "box", (int64_t)r->box);
	json_put_int(body, "uid", r->uid);
	json_put_int(body, "gid", r->uid);
	json_put(body, "limits", limits);
	json_put_bytes(body, "dir", workspace, strlen(workspace));
	launcher_call(r->launcher, LAUNCH_GUEST, body, fds, ARRAY_LEN(fds), on_guest, r);
	return 0;
}

static void process_reduced_copied(void *self)
{
	struct reduced *r = self;
	if (r->failed.code == ERR_NONE && process_reduced_launch(r, &r->failed) == 0)
		return;
	struct err why = r->failed;
	process_reduced_finish(r, NULL, &why);
}

void reduced_start(struct reduced *r, box_done_fn *done, void *self)
{
	r->done = done;
	r->self = self;
	loop_job_run(r->p->loop, make_copy, process_reduced_copied, r);
}

static void process_reduced_close_bare(void *self)
{
	on_exited(self, 0, 0);
}

void reduced_close(struct reduced *r, box_done_fn *done, void *self)
{
	CLEANUP(json_release) json_t *body = json_object();
	r->closed = done;
	r->closed_self = self;
	guest_free(&r->guest);
	json_put_int(body, "box", (int64_t)r->box);
	json_put_str(body, "verb", "kill");
	if (r->pid && !r->ended)
		launcher_call(r->launcher, LAUNCH_CGROUP, body, NULL, 0, NULL,
			      NULL); /* the end follows as LAUNCH_EXITED */
	else
		loop_defer(r->p->loop, process_reduced_close_bare, r);
}

/* --- files --- */

struct folder *reduced_folder(struct reduced *r)
{
	return r->folder;
}
