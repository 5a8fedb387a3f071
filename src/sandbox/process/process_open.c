#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/paths.h"
#include "sandbox/view/copy.h"
#include "sandbox/common/layers.h"
#include "sandbox/process/process_priv.h"
#include "sandbox/process/process_reduced.h"
#include "sandbox/common/profile.h"
#include "sandbox/view/root_masks.h"
#include "wire/keeper.h"

enum { REFILL_MS = 10 };

/* --- requested options --- */

/* The directory below the box's state that holds a layer's upper. */
static char *process_open_state_of(const struct process_box *p, const struct layer *l)
{
	if (strcmp(l->name, ":home") == 0)
		return path_join(p->state_dir, STATE_HOME);
	if (!*l->name)
		return path_join(p->state_dir, STATE_WORKSPACE);
	return mem_printf("%s/repo-%s", p->state_dir, l->name);
}

static void take_layers(struct process_box *p, const struct box_opts *o)
{
	const json_t *lowers = json_object_get(o->driver, "lowers");
	layers_take(&p->layers, o);
	p->want = mem_calloc(p->layers.nr, sizeof(*p->want));
	for (size_t i = 0; i < p->layers.nr; i++) {
		const struct layer *l = &p->layers.item[i];
		struct layer_want *w = &p->want[i];
		w->state = process_open_state_of(p, l);
		if (!json_get_argv(json_object_get(lowers, l->name), &w->lowers))
			strv_release(&w->lowers);
	}
}

void process_spec(const struct process_box *p, struct cell_spec *out)
{
	*out = (struct cell_spec){ .limits = p->limits,
				   .roots = (const char *const *)p->roots.item,
				   .nr_roots = p->roots.nr,
				   .hide = p->hide,
				   .net = p->net };
}

/* --- the end of opening, one way or the other --- */

static void process_open_opened(struct process_box *p, json_t *result, const struct err *err)
{
	box_done_fn *done = take(&p->opened);
	if (done)
		done(p->opened_self, result, err);
	json_decref(result);
}

static void failed_closed(void *self, json_t *result, const struct err *err)
{
	struct process_box *p = self;
	(void)result;
	(void)err;
	process_open_opened(p, NULL, &p->failed);
	process_box_free(p);
}

void open_failed(struct process_box *p, const struct err *err)
{
	if (p->dead)
		return;
	p->dead = true;
	p->failed = *err;
	if (!p->scanned || p->copying)
		return; /* the worker still has us; its end comes here again */
	struct cell *c = take(&p->cell);
	if (c)
		cell_close(c, failed_closed, p);
	else
		failed_closed(p, NULL, NULL);
}

json_t *process_describe(const struct process_box *p)
{
	json_t *r = json_object(), *limits = json_object(), *roots = json_array();
	json_put_str(r, "profile", p->profile);
	layers_describe(&p->layers, r);
	json_put_int(limits, "mem_bytes", p->limits.mem_bytes);
	json_put_int(limits, "pids", p->limits.pids);
	json_put_int(limits, "cpu_milli", p->limits.cpu_milli);
	json_put_int(limits, "file_bytes", p->limits.disk_bytes);
	json_put(r, "limits", limits);
	for (size_t i = 0; i < p->roots.nr; i++)
		json_array_append_new(roots, json_bytes(p->roots.item[i], p->roots.len[i]));
	json_put(r, "roots", roots);
	json_put_flag(r, "warm", p->warm);
	return r;
}

static void process_open_ignore(void *self, json_t *result, const struct err *err)
{
	(void)self;
	(void)result;
	(void)err;
}

static void process_open_wall_time(void *self)
{
	struct process_box *p = self;
	struct guest *g = p->reduced ? reduced_guest(p->reduced) : p->cell ? p->cell->guest : NULL;
	if (g)
		/* the runs end by signal; the box stays for a look */
		guest_kill_all(g, process_open_ignore, NULL);
}

void process_refill(void *self)
{
	struct process_box *p = self;
	struct cell_spec spec;
	loop_timer_free(&p->refill);
	if (p->dead || !p->cell)
		return;
	CLEANUP(free_ptr)
	char *parent =
		mem_printf("%.*s", (int)(strrchr(p->state_dir, '/') - p->state_dir), p->state_dir);
	process_spec(p, &spec);
	pool_refill(p->loop, p->cell->launcher, &spec, parent);
}

void process_opened(struct process_box *p, json_t *result)
{
	p->open = true;
	p->b.profile = p->profile;
	if (p->limits.wall_us > 0) {
		p->wall = loop_timer_new(p->loop, process_open_wall_time, p);
		loop_timer_set(p->wall, (uint64_t)(p->limits.wall_us / 1000), 0);
	}
	process_open_opened(p, result, NULL);
	/* only now, and not at once: starting the next one would compete with what this one is
	 * opened for */
	if (p->cell) {
		p->refill = loop_timer_new(p->loop, process_refill, p);
		loop_timer_set(p->refill, REFILL_MS, 0);
	}
}

static bool process_open_in_memory(const struct process_box *p)
{
	bool overlay = false;
	for (size_t i = 0; i < p->layers.nr; i++)
		overlay |= p->layers.item[i].host_dir || p->want[i].lowers.nr;
	return overlay && keeper_upper_unfit(p->state_dir);
}

static void process_open_on_confined(void *self, json_t *body, const struct err *err)
{
	struct process_box *p = self;
	if (!body) {
		open_failed(p, err);
		return;
	}
	const struct launcher_info *info = launcher_info(p->cell->launcher);
	const struct guest_info *guest = guest_info(p->cell->guest);
	int abi = (int)json_int(body, "landlock", 0);
	enum profile profile = profile_of(info, abi);
	snprintf(p->profile, sizeof(p->profile), "%s", profile_name(profile));
	json_t *r = process_describe(p), *unmapped = json_array();
	for (size_t i = 0; i < p->layers.nr; i++)
		if (p->want[i].copy)
			json_array_append_new(unmapped, json_bytes_z(p->layers.item[i].host_dir));
	json_t *lacks = profile_lacks(profile, info, abi);
	if (process_open_in_memory(p))
		json_array_append_new(
			lacks,
			json_string(
				"the state directory is on an overlay or a network file system: what the sandbox writes "
				"is in memory and lost if sandglass is killed"));
	json_put(r, "lacks", lacks);
	json_put(r, "not_idmapped", unmapped);
	json_put_int(r, "uid", info->uid);
	json_put_int(r, "uid_inside", guest ? guest->uid : 0);
	json_put_int(r, "landlock", abi);
	json_put_str(r, "cgroup", info->cgroup);
	json_put_str(r, "workspace", "/workspace");
	json_put_str(r, "home", "/home/agent");
	process_opened(p, r);
}

/* Opens the landlock rules: what the cell has not opened yet. */
static void process_open_confine(struct process_box *p)
{
	const struct launcher_info *info = launcher_info(p->cell->launcher);
	enum profile profile = profile_of(info, guest_info(p->cell->guest)->landlock);
	struct guest_rule *extra = mem_calloc(p->roots.nr + 1, sizeof(*extra));
	for (size_t i = 0; i < p->roots.nr; i++)
		extra[i] = (struct guest_rule){ .path = p->roots.item[i],
						.access = GUEST_READ | GUEST_EXEC };
	struct guest_attach a = { .extra = extra,
				  .nr_extra = p->roots.nr,
				  .unconfined_ok = true,
				  .part = ATTACH_REST,
				  .limits = profile_rlimits(profile, &p->limits) };
	guest_attach(p->cell->guest, &a, process_open_on_confined, p);
	free(extra);
}

static void maybe_confine(struct process_box *p)
{
	if (p->dead || p->confining || !p->attached || !p->cell || !p->cell->ready)
		return;
	struct err gone = ERR_INIT;
	err_set(&gone, ERR_CLOSED, "the sandbox died while it was opened");
	p->confining = true;
	if (!p->cell->guest)
		open_failed(p, &gone);
	else
		process_open_confine(p);
}

void process_open_on_attached(void *self, json_t *body, int *fds, size_t nr, const struct err *err)
{
	struct process_box *p = self;
	(void)fds;
	(void)nr;
	if (p->dead || p->reduced)
		return;
	if (!body) {
		open_failed(p, err);
		return;
	}
	p->attached = ++p->answers == 2;
	maybe_confine(p);
}

/* --- the steps in order --- */

/* One that is there is left as it is, as the layer that lies above it. A fork has its own among the
 * lowers. */
static int put_git(struct process_box *p, size_t i, struct err *err)
{
	const struct launcher_info *info = launcher_info(launcher_current());
	const struct git_owner owner = { .uid = (uid_t)info->uid, .gid = (gid_t)info->gid };
	struct layer_want *w = &p->want[i];
	if (!git_view_any(&p->layers.item[i].git, false) || w->lowers.nr)
		return 0;
	CLEANUP(free_ptr)
	char *made = mem_printf("%s/git-%zu", p->state_dir, i), *half = mem_printf("%s.new", made);
	if (access(made, F_OK) < 0) {
		if (dir_remove(half, err) < 0 || dir_make(half, 0755, err) < 0 ||
		    layers_git(&p->layers, i, half, &owner, err) < 0)
			return -1;
		if ((info->root && chown(half, owner.uid, owner.gid) < 0) || rename(half, made) < 0)
			return err_sys(err, "can't create '%s'", made);
	}
	w->git = take(&made);
	return 0;
}

static void process_open_scan(void *self)
{
	struct process_box *p = self;
	if (layers_scan(&p->layers, &p->failed) < 0)
		return; /* scan_done sees it */
	for (size_t i = 0; i < p->layers.nr; i++)
		if (put_git(p, i, &p->failed) < 0)
			return;
}

static void reduced_opened(void *self, json_t *result, const struct err *err);

static void scan_done(void *self)
{
	struct process_box *p = self;
	struct err why = p->failed;
	p->scanned = true;
	if (p->dead || why.code != ERR_NONE) {
		p->dead = false;
		open_failed(p, &why);
		return;
	}
	if (p->reduced) {
		reduced_start(p->reduced, reduced_opened, p);
		return;
	}
	ask_for_more(p);
	maybe_attach(p);
}

static void reduced_opened(void *self, json_t *result, const struct err *err)
{
	struct process_box *p = self;
	if (!result) {
		open_failed(p, err);
		return;
	}
	snprintf(p->profile, sizeof(p->profile), "%s", profile_name(PROFILE_REDUCED));
	json_t *r = process_describe(p);
	json_object_update(r, result);
	process_opened(p, r);
}

static void cell_sent(void *self)
{
	maybe_attach(self);
}

static void cell_ready(void *self)
{
	maybe_confine(self);
}

/* No namespaces here: the guest alone, if that is acceptable and root can give it a uid of its
 * own. */
static bool try_reduced(struct process_box *p, const struct err *why)
{
	const struct launcher_info *info = launcher_info(launcher_current());
	if (p->attached || why->code == ERR_CLOSED || !p->accept_reduced || !info->root ||
	    !info->spare)
		return false;
	if (p->own_below)
		return false;
	struct cell *c = take(&p->cell);
	cell_close(c, NULL, NULL);
	p->reduced = reduced_new(p, why);
	p->b.lacks = CAP_LISTEN | CAP_DIAL;
	if (p->scanned)
		reduced_start(p->reduced, reduced_opened, p);
	return true;
}

static void cell_gone(void *self, const struct err *err)
{
	struct process_box *p = self;
	if (p->open) {
		p->dead = true;
		return;
	}
	if (p->dead || try_reduced(p, err))
		return;
	struct err why = *err;
	if (why.code != ERR_CLOSED && p->accept_reduced && p->own_below)
		err_set(&why, why.code,
			"%.300s; isolation level reduced can't hide sandglass's own directories below a root",
			err->text);
	else if (why.code != ERR_CLOSED && !p->accept_reduced &&
		 launcher_info(launcher_current())->root)
		err_set(&why, why.code,
			"%.300s; isolation level reduced is possible (--accept reduced)",
			err->text);
	open_failed(p, &why);
}

static void process_open_fail_early(void *self)
{
	struct process_box *p = self;
	struct err why = p->failed;
	p->scanned = true;
	open_failed(p, &why);
}

/* The home directory of a stage is a new one: not for a box that continues a state that is
 * there, or one above another's. */
static bool begins_anew(const struct process_box *p)
{
	return p->want[p->layers.nr - 1].lowers.nr == 0 && access(p->state_dir, F_OK) < 0;
}

/* A warm cell, with the box's directory if it has one. */
static void take_warm(struct process_box *p)
{
	struct cell_spec spec;
	process_spec(p, &spec);
	p->cell = pool_take(p->loop, launcher_current(), &spec);
	p->warm = p->cell != NULL;
	struct stage *s = p->cell ? p->cell->stage : NULL;
	if (s && s->step == STAGE_READY && begins_anew(p) && stage_move(s, p->state_dir) == 0)
		take_stage(p, s);
	p->afresh = s && !p->staged && (s->step == STAGE_READY || s->step == STAGE_SPOILT);
	if (s)
		stage_free(&p->cell->stage);
}

static struct cell *new_cell(struct process_box *p, const struct cell_ops *ops)
{
	struct cell_spec spec;
	process_spec(p, &spec);
	return cell_new(p->loop, launcher_current(), &spec, ops, p);
}

/* The masks below the roots are known: continues. */
static void open_go_on(struct process_box *p)
{
	static const struct cell_ops ops = { .on_sent = cell_sent,
					     .on_ready = cell_ready,
					     .on_gone = cell_gone };
	take_warm(p);
	if (!p->staged && dir_make(p->state_dir, 0700, &p->failed) < 0) {
		if (p->cell)
			cell_close(take(&p->cell), NULL, NULL);
		loop_defer(p->loop, process_open_fail_early, p);
		return;
	}
	if (p->cell)
		cell_hand_over(p->cell, &ops, p);
	else
		p->cell = new_cell(p, &ops);
	ask_for_layers(p);
	loop_job_run(p->loop, process_open_scan, scan_done, p);
}

static void scan_roots(void *self)
{
	struct process_box *p = self;
	if (root_masks_scan(&p->roots, &p->hide, &p->own_below, &p->failed) < 0)
		return; /* roots_scanned sees it */
}

static void roots_scanned(void *self)
{
	struct process_box *p = self;
	if (p->failed.code != ERR_NONE)
		process_open_fail_early(p);
	else
		open_go_on(p);
}

struct box *process_open(struct loop *l, const struct box_opts *o, box_done_fn *done, void *self)
{
	struct process_box *p = NEW(struct process_box);
	struct launcher *la = launcher_current();
	struct err *err = &p->failed;
	p->loop = l;
	p->opened = done;
	p->opened_self = self;
	p->name = mem_strdup(o->name ? o->name : "box");
	p->b = (struct box){ .driver = &driver_process, .name = p->name, .profile = "none" };
	p->limits = o->limits;
	p->net = o->net;
	p->accept_reduced = o->accept_reduced;
	profile_limits(&p->limits);
	if (layers_check(o, err) < 0 ||
	    (!la && err_set(err, ERR_INVALID, "the launcher is not running"))) {
		loop_defer(l, process_open_fail_early, p);
		return &p->b;
	}
	p->state_dir = mem_strdup(o->state_dir);
	for (size_t i = 0; i < o->nr_roots; i++)
		strv_push(&p->roots, o->roots[i]);
	for (size_t i = 0; o->env && o->env[i]; i++)
		strv_push(&p->env, o->env[i]);
	take_layers(p, o);
	if (p->roots.nr && !o->roots_as_are)
		loop_job_run(l, scan_roots, roots_scanned, p);
	else
		open_go_on(p);
	return &p->b;
}

void process_box_free(struct process_box *p)
{
	launcher_forget(launcher_current(), p);
	for (size_t i = 0; i < p->layers.nr; i++) {
		struct layer_want *w = &p->want[i];
		free(w->state);
		strv_release(&w->lowers);
		json_release(&w->trees);
		json_release(&w->more);
		free(w->git);
		free(w->copy);
	}
	for (size_t i = 0; i < p->nr_fds; i++)
		fd_close(&p->fds[i]);
	free(p->want);
	layers_release(&p->layers);
	loop_timer_free(&p->wall);
	loop_timer_free(&p->refill);
	reduced_free(&p->reduced);
	strv_release(&p->roots);
	strv_release(&p->env);
	json_release(&p->hide);
	free(p->state_dir);
	free(p->name);
	free(p);
}
