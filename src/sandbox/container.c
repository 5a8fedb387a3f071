#include "sandbox/container.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/container_inner.h"
#include "sandbox/elsewhere.h"
#include "sandbox/guest_drive.h"

static struct container *of(struct box *b)
{
	return CONTAINER_OF(b, struct container, b);
}

void container_call(struct container *c, const char *method, const char *tail, const json_t *body, box_done_fn *done, void *self)
{
	CLEANUP(free_ptr) char *path = xasprintf("/containers/%s%s", c->id, tail);
	engine_call(c->engine, method, path, body, done, self);
}

/* --- answers that come later --- */

struct refusal {
	box_done_fn *done;
	void *self;
	struct err err;
};

static void say_refusal(void *self)
{
	struct refusal *r = self;
	r->done(r->self, NULL, &r->err);
	free(r);
}

static void say_dead(struct container *c, box_done_fn *done, void *self)
{
	struct refusal *r = NEW(struct refusal);
	*r = (struct refusal){ .done = done, .self = self };
	err_set(&r->err, ERR_CLOSED, "the container of the box has ended");
	loop_defer(c->loop, say_refusal, r);
}

/* --- runs --- */

static struct run *run_prepare(struct box *b, const struct run_opts *o, const struct run_ops *ops, void *self)
{
	struct container *c = of(b);
	return guest_drive(c->loop, c->guest, &c->env, NULL, o, ops, self);
}

/* --- files: of the copy on this machine --- */

static void box_read(struct box *b, const char *path, size_t max, box_done_fn *done, void *self)
{
	folder_look(of(b)->folder, path, "file", max, done, self);
}

static void box_list(struct box *b, const char *path, box_done_fn *done, void *self)
{
	folder_look(of(b)->folder, path, "dir", 0, done, self);
}

static void box_stat(struct box *b, const char *path, box_done_fn *done, void *self)
{
	folder_look(of(b)->folder, path, "stat", 0, done, self);
}

static void box_write(struct box *b, const char *path, const void *data, size_t len, int mode, box_done_fn *done, void *self)
{
	folder_write(of(b)->folder, path, data, len, mode, done, self);
}

static int tree_root(struct box *b, size_t i, const char *which, struct err *err)
{
	size_t layer;
	const char *name = layers_name(&of(b)->layers, i, &layer, err);
	return name ? folder_tree(of(b)->folder, layer, name, which, err) : -1;
}

static int tree_open(struct box *b, size_t i, const char *which, const char *path, struct err *err)
{
	size_t layer;
	const char *name = layers_name(&of(b)->layers, i, &layer, err);
	return name ? folder_tree_open(of(b)->folder, layer, name, which, path, err) : -1;
}

static int tree_apply(struct box *b, size_t i, const char *plan, size_t len, const int *fds, size_t nr_fds, struct err *err)
{
	size_t layer;
	const char *name = layers_name(&of(b)->layers, i, &layer, err);
	return name ? folder_tree_apply(of(b)->folder, layer, name, plan, len, fds, nr_fds, err) : -1;
}

static json_t *tree_seed(struct box *b)
{
	return folder_tree_seed(of(b)->folder, &of(b)->layers);
}

static const struct box_tree_ops tree = {
	.root = tree_root, .open = tree_open, .apply = tree_apply, .overlay = folder_tree_overlay,
	.list = folder_tree_list, .seed = tree_seed,
};

/* --- the box as a whole --- */

static void nobody(void *self, json_t *result, const struct err *err)
{
	(void)self;
	(void)result;
	(void)err;
}

static void box_kill(struct box *b)
{
	if (of(b)->guest)
		guest_kill_all(of(b)->guest, nobody, NULL);
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

static struct ask *ask_new(struct container *c, box_done_fn *done, void *self)
{
	struct ask *a = NEW(struct ask);
	*a = (struct ask){ .c = c, .done = done, .self = self, .frozen = c->frozen };
	return a;
}

static void ask_free(struct ask *a)
{
	loop_timer_free(&a->again);
	free(a);
}

static void freeze_next(struct container *c);
static void take_away(struct container *c);

/* To pause what is paused is an error to an engine: its answer to the last time was lost, or somebody else did it. */
static bool so_already(const struct ask *a, const struct err *err)
{
	return strstr(err->text, a->frozen ? "already paused" : "not paused") != NULL;
}

static void put_to_engine(void *self)
{
	struct ask *a = self;
	container_call(a->c, "POST", a->frozen ? "/pause" : "/unpause", NULL, a->heard, a);
}

/* Is it to be asked once more? Docker (daemon/monitor.go) takes what it hears late of the last change for news: between two
 * that follow closely it says for a while that a container is what it is not. */
static bool asked_again(struct ask *a, const json_t *body, const struct err *err)
{
	struct container *c = a->c;
	if (body || a->frozen == c->frozen || (c->closing && a->frozen) || !so_already(a, err) || a->tries++ >= MOST_TRIES)
		return false;
	if (!a->again)
		a->again = loop_timer_new(c->loop, put_to_engine, a);
	loop_timer_set(a->again, AGAIN_MS, 0);
	return true;
}

static void on_frozen(void *self, json_t *body, const struct err *err)
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
	ask_free(a);
}

static void freeze_next(struct container *c)
{
	struct ask *a = c->asked;
	if (c->asking || !a)
		return;
	c->asked = a->next;
	c->asking = true;
	c->thaw |= a->frozen;
	a->heard = on_frozen;
	put_to_engine(a);
}

static void ask_engine(struct container *c, bool frozen, box_done_fn *done, void *self)
{
	struct ask *a = ask_new(c, done, self);
	a->frozen = frozen;
	struct ask **last = &c->asked;
	while (*last)
		last = &(*last)->next;
	*last = a;
	freeze_next(c);
}

static void box_freeze(struct box *b, bool frozen, box_done_fn *done, void *self)
{
	struct container *c = of(b);
	if (!c->guest) {
		say_dead(c, done, self);
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

/* The engine holds the guest, too. What the guest reads first when it wakes is to stop all the others. */
static void box_hear(struct box *b)
{
	struct container *c = of(b);
	if (!c->guest || c->hears || !c->held)
		return;
	c->hears = true;
	guest_freeze(c->guest, true, nobody, NULL);
	ask_engine(c, false, nobody, NULL);
}

static void box_listen(struct box *b, uint16_t port, box_done_fn *done, void *self)
{
	struct container *c = of(b);
	if (c->guest)
		guest_listen(c->guest, port, done, self);
	else
		say_dead(c, done, self);
}

static void box_dial(struct box *b, uint16_t port, box_done_fn *done, void *self)
{
	struct container *c = of(b);
	if (c->guest)
		guest_dial(c->guest, port, done, self);
	else
		say_dead(c, done, self);
}

static void on_ps(void *self, json_t *body, const struct err *err)
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
	on_ps(self, nothing, err);
}

static void box_stats(struct box *b, box_done_fn *done, void *self)
{
	struct container *c = of(b);
	if (!c->guest)
		say_dead(c, done, self);
	else if (c->frozen) /* a frozen guest does not answer */
		container_call(c, "GET", "/json", NULL, on_paused, ask_new(c, done, self));
	else
		guest_ps(c->guest, on_ps, ask_new(c, done, self));
}

static void box_oom(struct box *b, box_done_fn *done, void *self)
{
	guest_oom(of(b)->guest, done, self);
}

/* --- the end --- */

static void on_removed(void *self, json_t *body, const struct err *err)
{
	struct container *c = self;
	box_done_fn *done = c->closed;
	void *to = c->closed_self;
	CLEANUP(json_release) json_t *r = json_object();
	struct err why = ERR_INIT;
	bool gone = body || err->code == ERR_NOENT || err->code == ERR_BUSY; /* it removes itself, too */
	if (!gone)
		err_set(&why, err->code, "the container '%s' may still be there: %.500s", c->id, err->text);
	json_put_flag(r, "empty", gone);
	if (gone)
		elsewhere_gone(c->state_dir);
	container_free(c);
	if (done)
		done(to, gone ? r : NULL, gone ? NULL : &why);
}

static void remove_it(struct container *c)
{
	container_call(c, "DELETE", "?force=1&v=1", NULL, on_removed, c);
}

static void on_let_go(void *self, json_t *body, const struct err *err)
{
	struct ask *a = self;
	struct container *c = a->c;
	if (asked_again(a, body, err))
		return;
	ask_free(a);
	remove_it(c);
}

/* Engines do not like to remove what is paused. */
static void take_away(struct container *c)
{
	if (!c->thaw) {
		remove_it(c);
		return;
	}
	struct ask *a = ask_new(c, NULL, NULL);
	a->frozen = false;
	a->heard = on_let_go;
	put_to_engine(a);
}

static void box_close(struct box *b, box_done_fn *done, void *self)
{
	struct container *c = of(b);
	c->dead = true;
	c->closed = done;
	c->closed_self = self;
	guest_free(&c->guest);
	for (struct ask *a; (a = c->asked);) {
		c->asked = a->next;
		say_dead(c, a->done, a->self);
		free(a);
	}
	c->closing = true;
	if (!c->asking)
		take_away(c);
}

/* --- what is needed --- */

static json_t *probe(void)
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
	.about = "a container of Docker or Podman on this machine, our guest as its first process",
	.caps = CAP_STREAMS | CAP_STDIN | CAP_SIGNAL | CAP_PTY | CAP_FREEZE | CAP_SNAPSHOT | CAP_FORK | CAP_LISTEN | CAP_DIAL | CAP_TRACE |
		CAP_PREPARE | CAP_SHELL,
	.probe = probe,
	.open = container_open,
	.close = box_close,
	.run_prepare = run_prepare,
	.run_go = guest_drive_go,
	.run_stdin = guest_drive_stdin,
	.run_stdin_queued = guest_drive_stdin_queued,
	.run_echo = guest_drive_echo,
	.run_signal = guest_drive_signal,
	.run_resize = guest_drive_resize,
	.run_echoes = guest_drive_echoes,
	.run_pause = guest_drive_pause,
	.run_free = guest_drive_free,
	.read = box_read,
	.write = box_write,
	.list = box_list,
	.stat = box_stat,
	.kill = box_kill,
	.freeze = box_freeze,
	.hear = box_hear,
	.listen = box_listen,
	.dial = box_dial,
	.stats = box_stats,
	.oom = box_oom,
	.tree = &tree,
};
