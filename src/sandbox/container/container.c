#include "sandbox/container/container.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/container/container_priv.h"
#include "sandbox/common/remote_orphans.h"
#include "sandbox/guest/guest_drive.h"

static struct container *container_of(struct box *b)
{
	return CONTAINER_OF(b, struct container, b);
}

void container_call(struct container *c, const char *method, const char *tail, const json_t *body,
		    box_done_fn *done, void *self)
{
	CLEANUP(free_ptr) char *path = mem_printf("/containers/%s%s", c->id, tail);
	engine_call(c->engine, method, path, body, done, self);
}

/* --- answers that come later --- */

struct refusal {
	box_done_fn *done;
	void *self;
	struct err err;
};

static void container_say_refusal(void *self)
{
	struct refusal *r = self;
	r->done(r->self, NULL, &r->err);
	free(r);
}

static void container_say_dead(struct container *c, box_done_fn *done, void *self)
{
	struct refusal *r = NEW(struct refusal);
	*r = (struct refusal){ .done = done, .self = self };
	err_set(&r->err, ERR_CLOSED, "the container of the sandbox has ended");
	loop_defer(c->loop, container_say_refusal, r);
}

/* --- runs --- */

static struct run *container_run_prepare(struct box *b, const struct run_opts *o,
					 const struct run_ops *ops, void *self)
{
	struct container *c = container_of(b);
	return guest_drive(c->loop, c->guest, &c->env, NULL, o, ops, self);
}

/* --- files: of the copy on the host --- */

static void container_box_read(struct box *b, const char *path, size_t max, box_done_fn *done,
			       void *self)
{
	folder_look(container_of(b)->folder, path, "file", max, done, self);
}

static void container_box_list(struct box *b, const char *path, box_done_fn *done, void *self)
{
	folder_look(container_of(b)->folder, path, "dir", 0, done, self);
}

static void container_box_stat(struct box *b, const char *path, box_done_fn *done, void *self)
{
	folder_look(container_of(b)->folder, path, "stat", 0, done, self);
}

static void container_box_write(struct box *b, const char *path, const void *data, size_t len,
				int mode, box_done_fn *done, void *self)
{
	folder_write(container_of(b)->folder, path, data, len, mode, done, self);
}

static int container_tree_root(struct box *b, size_t i, const char *which, struct err *err)
{
	size_t layer;
	const char *name = layers_name(&container_of(b)->layers, i, &layer, err);
	return name ? folder_tree(container_of(b)->folder, layer, name, which, err) : -1;
}

static int container_tree_open(struct box *b, size_t i, const char *which, const char *path,
			       struct err *err)
{
	size_t layer;
	const char *name = layers_name(&container_of(b)->layers, i, &layer, err);
	return name ? folder_tree_open(container_of(b)->folder, layer, name, which, path, err) : -1;
}

static int container_tree_apply(struct box *b, size_t i, const char *plan, size_t len,
				const int *fds, size_t nr_fds, struct err *err)
{
	size_t layer;
	const char *name = layers_name(&container_of(b)->layers, i, &layer, err);
	return name ? folder_tree_apply(container_of(b)->folder, layer, name, plan, len, fds,
					nr_fds, err)
		    : -1;
}

static json_t *container_tree_seed(struct box *b)
{
	return folder_tree_seed(container_of(b)->folder, &container_of(b)->layers);
}

static const struct box_tree_ops container_tree = {
	.root = container_tree_root,
	.open = container_tree_open,
	.apply = container_tree_apply,
	.overlay = folder_tree_overlay,
	.list = folder_tree_list,
	.seed = container_tree_seed,
};

/* --- the box as a whole --- */

static void container_nobody(void *self, json_t *result, const struct err *err)
{
	(void)self;
	(void)result;
	(void)err;
}

static void container_box_kill(struct box *b)
{
	if (container_of(b)->guest)
		guest_kill_all(container_of(b)->guest, container_nobody, NULL);
}

enum { AGAIN_MS = 100, MOST_TRIES = 30 };

struct ask {
	struct ask *next;
	struct container *c;
	box_done_fn *done, *heard; /* who wants to know; what the engine's answer comes to */
	void *self;
	struct loop_timer *again;
	unsigned tries;
	bool frozen;
};

static struct ask *container_ask_new(struct container *c, box_done_fn *done, void *self)
{
	struct ask *a = NEW(struct ask);
	*a = (struct ask){ .c = c, .done = done, .self = self, .frozen = c->frozen };
	return a;
}

static void container_ask_free(struct ask *a)
{
	loop_timer_free(&a->again);
	free(a);
}

static void freeze_next(struct container *c);
static void take_away(struct container *c);

/* Pausing a paused container is an error to an engine: its last answer was lost, or another process
 * paused it. */
static bool so_already(const struct ask *a, const struct err *err)
{
	return strstr(err->text, a->frozen ? "already paused" : "not paused") != NULL;
}

static void put_to_engine(void *self)
{
	struct ask *a = self;
	container_call(a->c, "POST", a->frozen ? "/pause" : "/unpause", NULL, a->heard, a);
}

/* Is it to be asked once more? Docker (daemon/monitor.go) takes what it hears late of the last
 * change for news: between two that follow closely it says for a while that a container is what it
 * is not. */
static bool asked_again(struct ask *a, const json_t *body, const struct err *err)
{
	struct container *c = a->c;
	if (body || a->frozen == c->frozen || (c->closing && a->frozen) || !so_already(a, err) ||
	    a->tries++ >= MOST_TRIES)
		return false;
	if (!a->again)
		a->again = loop_timer_new(c->loop, put_to_engine, a);
	loop_timer_set(a->again, AGAIN_MS, 0);
	return true;
}

static void container_on_frozen(void *self, json_t *body, const struct err *err)
{
	struct ask *a = self;
	struct container *c = a->c;
	if (asked_again(a, body, err))
		return;
	bool so = body || so_already(a, err);
	CLEANUP(json_release) json_t *r = so ? json_object() : NULL;
	if (so) {
		c->frozen = c->thaw = a->frozen;
		json_put_str(r, "how", "engine");
		json_put_flag(r, "frozen", a->frozen);
	}
	c->asking = false;
	if (c->closing)
		take_away(c);
	else
		freeze_next(c);
	a->done(a->self, r, so ? NULL : err);
	container_ask_free(a);
}

static void freeze_next(struct container *c)
{
	struct ask *a = c->asked;
	if (c->asking || !a)
		return;
	c->asked = a->next;
	c->asking = true;
	c->thaw |= a->frozen;
	a->heard = container_on_frozen;
	put_to_engine(a);
}

static void ask_engine(struct container *c, bool frozen, box_done_fn *done, void *self)
{
	struct ask *a = container_ask_new(c, done, self);
	a->frozen = frozen;
	struct ask **last = &c->asked;
	while (*last)
		last = &(*last)->next;
	*last = a;
	freeze_next(c);
}

static void container_box_freeze(struct box *b, bool frozen, box_done_fn *done, void *self)
{
	struct container *c = container_of(b);
	if (!c->guest) {
		container_say_dead(c, done, self);
		return;
	}
	c->held = frozen;
	if (c->hears) {
		c->hears = frozen;
		guest_freeze(c->guest, frozen, done, self);
	} else {
		ask_engine(c, frozen, done, self);
	}
}

/* The engine holds the guest, too. What the guest reads first when it wakes is to stop all the
 * others. */
static void container_box_hear(struct box *b)
{
	struct container *c = container_of(b);
	if (!c->guest || c->hears || !c->held)
		return;
	c->hears = true;
	guest_freeze(c->guest, true, container_nobody, NULL);
	ask_engine(c, false, container_nobody, NULL);
}

static void container_box_listen(struct box *b, uint16_t port, box_done_fn *done, void *self)
{
	struct container *c = container_of(b);
	if (c->guest)
		guest_listen(c->guest, port, done, self);
	else
		container_say_dead(c, done, self);
}

static void container_box_dial(struct box *b, uint16_t port, box_done_fn *done, void *self)
{
	struct container *c = container_of(b);
	if (c->guest)
		guest_dial(c->guest, port, done, self);
	else
		container_say_dead(c, done, self);
}

static void container_on_ps(void *self, json_t *body, const struct err *err)
{
	struct ask *a = self;
	CLEANUP(json_release) json_t *r = body ? json_copy(body) : NULL;
	if (r)
		json_put_flag(r, "frozen", a->frozen);
	a->done(a->self, r, err);
	free(a);
}

static void on_paused(void *self, json_t *body, const struct err *err)
{
	CLEANUP(json_release) json_t *nothing = body ? json_object() : NULL;
	container_on_ps(self, nothing, err);
}

static void container_box_stats(struct box *b, box_done_fn *done, void *self)
{
	struct container *c = container_of(b);
	if (!c->guest)
		container_say_dead(c, done, self);
	else if (c->frozen) /* a frozen guest does not answer */
		container_call(c, "GET", "/json", NULL, on_paused,
			       container_ask_new(c, done, self));
	else
		guest_ps(c->guest, container_on_ps, container_ask_new(c, done, self));
}

static void container_box_oom(struct box *b, box_done_fn *done, void *self)
{
	guest_oom(container_of(b)->guest, done, self);
}

/* --- the end --- */

static void remove_it(void *self);

enum { REMOVALS_MAX = 10, REMOVE_AGAIN_MS = 200 };

static void on_removed(void *self, json_t *body, const struct err *err)
{
	struct container *c = self;
	/* Its guest has gone, so the engine may be removing it already, and Podman refuses to
	 * remove it a second time until it has. */
	if (!body && err->code != ERR_NOENT && err->code != ERR_BUSY &&
	    c->removals++ < REMOVALS_MAX) {
		loop_timer_free(&c->late);
		c->late = loop_timer_new(c->loop, remove_it, c);
		loop_timer_set(c->late, REMOVE_AGAIN_MS, 0);
		return;
	}
	loop_timer_free(&c->late);
	box_done_fn *done = c->closed;
	void *to = c->closed_self;
	CLEANUP(json_release) json_t *r = json_object();
	struct err why = ERR_INIT;
	/* it removes itself, too */
	bool gone = body || err->code == ERR_NOENT || err->code == ERR_BUSY;
	if (!gone)
		err_set(&why, err->code, "can't remove the container '%s': %.500s", c->id,
			err->text);
	json_put_flag(r, "empty", gone);
	if (gone)
		remote_orphans_gone(c->state_dir);
	container_free(c);
	if (done)
		done(to, gone ? r : NULL, gone ? NULL : &why);
}

static void remove_it(void *self)
{
	struct container *c = self;
	container_call(c, "DELETE", "?force=1&v=1", NULL, on_removed, c);
}

static void on_let_go(void *self, json_t *body, const struct err *err)
{
	struct ask *a = self;
	struct container *c = a->c;
	if (asked_again(a, body, err))
		return;
	container_ask_free(a);
	remove_it(c);
}

/* Engines do not like to remove what is paused. */
static void take_away(struct container *c)
{
	if (!c->thaw) {
		remove_it(c);
		return;
	}
	struct ask *a = container_ask_new(c, NULL, NULL);
	a->frozen = false;
	a->heard = on_let_go;
	put_to_engine(a);
}

static void container_box_close(struct box *b, box_done_fn *done, void *self)
{
	struct container *c = container_of(b);
	c->dead = true;
	c->closed = done;
	c->closed_self = self;
	guest_free(&c->guest);
	for (struct ask *a; (a = c->asked);) {
		c->asked = a->next;
		container_say_dead(c, a->done, a->self);
		free(a);
	}
	c->closing = true;
	if (!c->asking)
		take_away(c);
}

/* --- what is needed --- */

static json_t *container_probe(void)
{
	json_t *r = json_object();
	struct err err = ERR_INIT;
	CLEANUP(free_ptr) char *socket = engine_socket(NULL, &err);
	json_put_flag(r, "ok", socket != NULL);
	json_put_str(r, "profile", "container");
	json_put_str(r, socket ? "value" : "why", socket ? socket : err.text);
	return r;
}

const struct driver driver_container = {
	.name = "container",
	.about = "a container of Docker or Podman on the host, with the guest as its first process",
	.caps = CAP_STREAMS | CAP_STDIN | CAP_SIGNAL | CAP_PTY | CAP_FREEZE | CAP_SNAPSHOT |
		CAP_FORK | CAP_LISTEN | CAP_DIAL | CAP_TRACE | CAP_PREPARE | CAP_SHELL,
	.probe = container_probe,
	.open = container_open,
	.close = container_box_close,
	.run_prepare = container_run_prepare,
	GUEST_DRIVE_VERBS,
	.run_echoes = guest_drive_echoes,
	.read = container_box_read,
	.write = container_box_write,
	.list = container_box_list,
	.stat = container_box_stat,
	.kill = container_box_kill,
	.freeze = container_box_freeze,
	.hear = container_box_hear,
	.listen = container_box_listen,
	.dial = container_box_dial,
	.stats = container_box_stats,
	.oom = container_box_oom,
	.tree = &container_tree,
};
