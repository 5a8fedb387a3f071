#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/process/process_priv.h"

/* Cells that wait for a workspace. Once used they are never put back. */
enum { KINDS_MAX = 4 };

struct waiting {
	struct cell *cell;
	struct waiting *next;
};
static struct pool {
	int want; /* for each key */
	struct waiting *first;
	int closing; /* cells under way to their end */
	loop_fn *drained;
	void *drained_self;
} process_pool;

static struct waiting **process_pool_find(const struct cell *c)
{
	struct waiting **at = &process_pool.first;
	while (*at && (*at)->cell != c)
		at = &(*at)->next;
	return at;
}

static void process_pool_drop(struct waiting **at)
{
	struct waiting *w = *at;
	assert(w);
	*at = w->next;
	free(w);
}

static void process_pool_closed(void *self, json_t *result, const struct err *err)
{
	(void)self;
	(void)result;
	(void)err;
	if (--process_pool.closing == 0 && !process_pool.first && process_pool.drained)
		take (&process_pool.drained)(process_pool.drained_self);
}

static void process_pool_end(struct waiting **at)
{
	assert(*at);
	struct cell *c = (*at)->cell;
	process_pool_drop(at);
	process_pool.closing++;
	cell_close(c, process_pool_closed, NULL);
}

static void process_pool_gone(void *self, const struct err *err)
{
	struct waiting *w = self;
	(void)err;
	process_pool_end(process_pool_find(w->cell));
}

static void process_pool_sent(void *self)
{
	const struct waiting *w = self;
	stage_go_on(w->cell->stage);
}

static void process_pool_on_ready(void *self)
{
	(void)self;
}

static bool process_pool_usable(const struct cell *c)
{
	return c->ready && c->warm && !c->gone && stage_settled(c->stage);
}

struct cell *pool_take(struct loop *l, struct launcher *la, const struct cell_spec *s)
{
	CLEANUP(free_ptr) char *key = cell_key(s);
	for (struct waiting **at = &process_pool.first; *at; at = &(*at)->next) {
		struct cell *c = (*at)->cell;
		bool fits = c->loop == l && c->launcher == la && strcmp(c->key, key) == 0;
		if (!fits || !process_pool_usable(c))
			continue;
		process_pool_drop(at);
		return c;
	}
	return NULL;
}

void pool_refill(struct loop *l, struct launcher *la, const struct cell_spec *s, const char *parent)
{
	static const struct cell_ops ops = { .on_sent = process_pool_sent,
					     .on_ready = process_pool_on_ready,
					     .on_gone = process_pool_gone };
	CLEANUP(free_ptr) char *key = cell_key(s);
	int nr = 0, others = 0;
	for (struct waiting *w = process_pool.first; w; w = w->next)
		*(strcmp(w->cell->key, key) == 0 ? &nr : &others) += 1;
	if (others >= KINDS_MAX * process_pool.want) /* requests of the oldest kind are dropped */
		for (struct waiting **at = &process_pool.first; *at; at = &(*at)->next)
			if (strcmp((*at)->cell->key, key) != 0 && !(*at)->next) {
				process_pool_end(at);
				break;
			}
	for (; nr < process_pool.want; nr++) {
		struct waiting *w = NEW(struct waiting);
		w->next = process_pool.first;
		process_pool.first = w;
		w->cell = cell_new(l, la, s, &ops, w);
		w->cell->stage = stage_new(w->cell, parent);
	}
}

void process_ahead(void)
{
	if (launcher_current())
		cell_ahead(launcher_current());
}

void process_pool_set(struct loop *l, int nr)
{
	(void)l;
	process_pool.want = nr;
	while (nr == 0 && process_pool.first)
		process_pool_end(&process_pool.first);
}

int process_pool_ready(void)
{
	int nr = 0;
	for (const struct waiting *w = process_pool.first; w; w = w->next)
		nr += process_pool_usable(w->cell);
	return nr;
}

void process_pool_drain(struct loop *l, loop_fn *done, void *self)
{
	process_pool_set(l, 0);
	if (process_pool.closing == 0) {
		loop_defer(l, done, self);
		return;
	}
	process_pool.drained = done;
	process_pool.drained_self = self;
}
