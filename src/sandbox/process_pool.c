#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/process_inner.h"

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
} pool;

static struct waiting **find(const struct cell *c)
{
	struct waiting **at = &pool.first;
	while (*at && (*at)->cell != c)
		at = &(*at)->next;
	return at;
}

static void drop(struct waiting **at)
{
	struct waiting *w = *at;
	assert(w);
	*at = w->next;
	free(w);
}

static void closed(void *self, json_t *result, const struct err *err)
{
	(void)self;
	(void)result;
	(void)err;
	if (--pool.closing == 0 && !pool.first && pool.drained)
		take (&pool.drained)(pool.drained_self);
}

static void end(struct waiting **at)
{
	assert(*at);
	struct cell *c = (*at)->cell;
	drop(at);
	pool.closing++;
	cell_close(c, closed, NULL);
}

static void gone(void *self, const struct err *err)
{
	struct waiting *w = self;
	(void)err;
	end(find(w->cell));
}

static void sent(void *self)
{
	const struct waiting *w = self;
	stage_go_on(w->cell->stage);
}

static void ready(void *self)
{
	(void)self;
}

static bool usable(const struct cell *c)
{
	return c->ready && c->warm && !c->gone && stage_settled(c->stage);
}

struct cell *pool_take(struct loop *l, struct launcher *la, const struct cell_spec *s)
{
	CLEANUP(free_ptr) char *key = cell_key(s);
	for (struct waiting **at = &pool.first; *at; at = &(*at)->next) {
		struct cell *c = (*at)->cell;
		bool fits = c->loop == l && c->launcher == la && strcmp(c->key, key) == 0;
		if (!fits || !usable(c))
			continue;
		drop(at);
		return c;
	}
	return NULL;
}

void pool_refill(struct loop *l, struct launcher *la, const struct cell_spec *s, const char *parent)
{
	static const struct cell_ops ops = { .on_sent = sent, .on_ready = ready, .on_gone = gone };
	CLEANUP(free_ptr) char *key = cell_key(s);
	int nr = 0, others = 0;
	for (struct waiting *w = pool.first; w; w = w->next)
		*(strcmp(w->cell->key, key) == 0 ? &nr : &others) += 1;
	if (others >= KINDS_MAX * pool.want) /* the oldest kind is not asked for any more */
		for (struct waiting **at = &pool.first; *at; at = &(*at)->next)
			if (strcmp((*at)->cell->key, key) != 0 && !(*at)->next) {
				end(at);
				break;
			}
	for (; nr < pool.want; nr++) {
		struct waiting *w = NEW(struct waiting);
		w->next = pool.first;
		pool.first = w;
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
	pool.want = nr;
	while (nr == 0 && pool.first)
		end(&pool.first);
}

int process_pool_ready(void)
{
	int nr = 0;
	for (const struct waiting *w = pool.first; w; w = w->next)
		nr += usable(w->cell);
	return nr;
}

void process_pool_drain(struct loop *l, loop_fn *done, void *self)
{
	process_pool_set(l, 0);
	if (pool.closing == 0) {
		loop_defer(l, done, self);
		return;
	}
	pool.drained = done;
	pool.drained_self = self;
}
