#include "sandbox/process/process.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/guest/guest_drive.h"
#include "sandbox/process/probe.h"
#include "sandbox/process/process_priv.h"
#include "sandbox/process/process_reduced.h"
#include "wire/launch.h"

static struct process_box *process_of(struct box *b)
{
	return CONTAINER_OF(b, struct process_box, b);
}

static struct guest *guest_of(struct process_box *p)
{
	return p->reduced ? reduced_guest(p->reduced) : p->cell && !p->dead ? p->cell->guest : NULL;
}

/* --- answers that come later --- */

struct later {
	box_done_fn *done;
	void *self;
	json_t *result;
	struct err err;
};

static void say_later(void *self)
{
	struct later *w = self;
	w->done(w->self, w->result, w->result ? NULL : &w->err);
	json_release(&w->result);
	free(w);
}

void process_answer(struct loop *l, box_done_fn *done, void *self, json_t *result,
		    const struct err *err)
{
	struct later *w = NEW(struct later);
	*w = (struct later){ .done = done, .self = self, .result = result };
	if (!result)
		w->err = *err;
	loop_defer(l, say_later, w);
}

static void process_refuse(struct process_box *p, box_done_fn *done, void *self, enum err_code code,
			   const char *text)
{
	struct err err = ERR_INIT;
	err_set(&err, code, "%s", text);
	process_answer(p->loop, done, self, NULL, &err);
}

static void process_say_dead(struct process_box *p, box_done_fn *done, void *self)
{
	process_refuse(p, done, self, ERR_CLOSED,
		       p->cell && p->cell->why.code ? p->cell->why.text : "the sandbox has died");
}

/* --- runs --- */

static struct run *process_run_prepare(struct box *b, const struct run_opts *o,
				       const struct run_ops *ops, void *self)
{
	struct process_box *p = process_of(b);
	CLEANUP(free_ptr)
	char *cwd =
		p->reduced ? folder_path(reduced_folder(p->reduced), o->cwd ? o->cwd : "/workspace")
			   : NULL;
	return guest_drive(p->loop, guest_of(p), &p->env, cwd, o, ops, self);
}

/* --- the box as a whole --- */

struct ask {
	struct process_box *p;
	box_done_fn *done;
	void *self;
	json_t *cgroup;
};

static void process_on_frozen(void *self, json_t *body, int *fds, size_t nr, const struct err *err)
{
	struct ask *a = self;
	(void)fds;
	(void)nr;
	if (body) {
		CLEANUP(json_release) json_t *r = json_object();
		json_put_str(r, "how", "cgroup");
		json_put_flag(r, "frozen", a->p->frozen);
		a->done(a->self, r, NULL);
	} else {
		a->done(a->self, NULL, err);
	}
	free(a);
}

static void call_cgroup(struct process_box *p, const char *verb, rpc_done_fn *done, void *self)
{
	CLEANUP(json_release) json_t *body = json_object();
	json_put_int(body, "box", (int64_t)(p->cell ? p->cell->box : reduced_box(p->reduced)));
	json_put_str(body, "verb", verb);
	launcher_call(launcher_current(), LAUNCH_CGROUP, body, NULL, 0, done, self);
}

static void process_killed(void *self, json_t *result, const struct err *err)
{
	(void)self; /* the runs tell of their ends */
	(void)result;
	(void)err;
}

static void process_box_kill(struct box *b)
{
	struct process_box *p = CONTAINER_OF(b, struct process_box, b);
	struct guest *g = p->reduced ? reduced_guest(p->reduced) : p->cell ? p->cell->guest : NULL;
	if (g)
		guest_kill_all(g, process_killed, NULL);
}

static void process_box_freeze(struct box *b, bool frozen, box_done_fn *done, void *self)
{
	struct process_box *p = process_of(b);
	struct launcher *la = launcher_current();
	struct guest *g = guest_of(p);
	if (!g || !la) {
		process_say_dead(p, done, self);
		return;
	}
	p->frozen = frozen;
	if (!launcher_info(la)->freezer || p->hears) {
		p->hears &= frozen;
		guest_freeze(g, frozen, done, self);
		return;
	}
	struct ask *a = NEW(struct ask);
	*a = (struct ask){ .p = p, .done = done, .self = self };
	call_cgroup(p, frozen ? "freeze" : "thaw", process_on_frozen, a);
}

static void process_thawed(void *self, json_t *body, int *fds, size_t nr, const struct err *err)
{
	(void)self; /* a box that is gone: its runs tell */
	(void)body;
	(void)fds;
	(void)nr;
	(void)err;
}

/* The cgroup holds the guest, too. What the guest reads first when it wakes is to stop all the
 * others. */
static void process_box_hear(struct box *b)
{
	struct process_box *p = process_of(b);
	struct launcher *la = launcher_current();
	struct guest *g = guest_of(p);
	if (!g || !la || !p->frozen || p->hears || !launcher_info(la)->freezer)
		return;
	p->hears = true;
	guest_freeze(g, true, process_killed, NULL);
	call_cgroup(p, "thaw", process_thawed, NULL);
}

static void process_box_listen(struct box *b, uint16_t port, box_done_fn *done, void *self)
{
	struct process_box *p = process_of(b);
	struct guest *g = guest_of(p);
	if (p->reduced)
		process_refuse(p, done, self, ERR_UNSUPPORTED,
			       "isolation level reduced has no network of its own to listen in");
	else if (g)
		guest_listen(g, port, done, self);
	else
		process_say_dead(p, done, self);
}

static void process_box_dial(struct box *b, uint16_t port, box_done_fn *done, void *self)
{
	struct process_box *p = process_of(b);
	struct guest *g = guest_of(p);
	if (p->reduced)
		process_refuse(p, done, self, ERR_UNSUPPORTED,
			       "isolation level reduced has no network of its own to connect to");
	else if (g)
		guest_dial(g, port, done, self);
	else
		process_say_dead(p, done, self);
}

/* The kernel's counts for the whole sandbox replace the guest's sums. */
static void process_on_ps(void *self, json_t *body, const struct err *err)
{
	struct ask *a = self;
	(void)err;
	CLEANUP(json_release) json_t *r = body ? json_copy(body) : json_object();
	static const char *const keys[] = { "cpu_us", "mem_bytes", "pids", "oom" };
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		int64_t n = json_int(a->cgroup, keys[i], -1);
		if (n >= 0)
			json_put_int(r, keys[i], n);
	}
	json_put_flag(r, "frozen", a->p->frozen);
	a->done(a->self, r, NULL);
	json_release(&a->cgroup);
	free(a);
}

static void on_cgroup_stats(void *self, json_t *body, int *fds, size_t nr, const struct err *err)
{
	struct ask *a = self;
	(void)fds;
	(void)nr;
	struct guest *g = guest_of(a->p);
	a->cgroup = json_incref(body);
	if (g && (!a->p->frozen || a->p->hears)) /* a frozen guest does not answer */
		guest_ps(g, process_on_ps, a);
	else
		process_on_ps(a, NULL, err);
}

static void process_box_stats(struct box *b, box_done_fn *done, void *self)
{
	struct process_box *p = process_of(b);
	if (!guest_of(p) || !launcher_current()) {
		process_say_dead(p, done, self);
		return;
	}
	struct ask *a = NEW(struct ask);
	*a = (struct ask){ .p = p, .done = done, .self = self };
	call_cgroup(p, "stats", on_cgroup_stats, a);
}

static void on_oom(void *self, json_t *body, int *fds, size_t nr, const struct err *err)
{
	struct ask *a = self;
	(void)fds;
	(void)nr;
	a->done(a->self, body, err);
	free(a);
}

static void process_box_oom(struct box *b, box_done_fn *done, void *self)
{
	struct process_box *p = process_of(b);
	if (!guest_of(p) || !launcher_current()) {
		process_say_dead(p, done, self);
		return;
	}
	struct ask *a = NEW(struct ask);
	*a = (struct ask){ .p = p, .done = done, .self = self };
	call_cgroup(p, "stats", on_oom, a);
}

/* --- the end --- */

static void process_on_closed(void *self, json_t *result, const struct err *err)
{
	struct ask *a = self;
	process_box_free(a->p);
	if (a->done)
		a->done(a->self, result, err);
	free(a);
}

static void process_close_bare(void *self)
{
	CLEANUP(json_release) json_t *empty = json_object();
	process_on_closed(self, empty, NULL);
}

static void process_box_close(struct box *b, box_done_fn *done, void *self)
{
	struct process_box *p = process_of(b);
	if (p->refill)
		process_refill(p);
	struct cell *c = take(&p->cell);
	struct ask *a = NEW(struct ask);
	*a = (struct ask){ .p = p, .done = done, .self = self };
	p->dead = true;
	if (p->reduced)
		reduced_close(p->reduced, process_on_closed, a);
	else if (c)
		cell_close(c, process_on_closed, a);
	else
		loop_defer(p->loop, process_close_bare, a);
}

int process_box_guest_pid(const struct box *b)
{
	const struct process_box *p = CONTAINER_OF(b, struct process_box, b);
	return p->cell ? (int)json_int(p->cell->info, "guest_pid", 0) : 0;
}

int process_box_keeper_pid(const struct box *b)
{
	const struct process_box *p = CONTAINER_OF(b, struct process_box, b);
	return p->cell ? p->cell->keeper_pid : 0;
}

const struct driver driver_process = {
	.name = "process",
	.about = "bubblewrap, overlay, seccomp, landlock, and cgroups on the host",
	.caps = CAP_STREAMS | CAP_STDIN | CAP_SIGNAL | CAP_PTY | CAP_FREEZE | CAP_SNAPSHOT |
		CAP_FORK | CAP_LISTEN | CAP_DIAL | CAP_PREPARE | CAP_WATCH | CAP_TRACE | CAP_SHELL,
	.probe = probe_process,
	.open = process_open,
	.close = process_box_close,
	.run_prepare = process_run_prepare,
	GUEST_DRIVE_VERBS,
	.run_echoes = guest_drive_echoes,
	.read = process_read,
	.write = process_write,
	.list = process_list,
	.stat = process_stat,
	.kill = process_box_kill,
	.freeze = process_box_freeze,
	.hear = process_box_hear,
	.listen = process_box_listen,
	.dial = process_box_dial,
	.stats = process_box_stats,
	.oom = process_box_oom,
	.tree = &process_tree,
};
