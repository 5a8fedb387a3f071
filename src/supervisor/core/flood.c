#include "supervisor/core/flood.h"

#include <stdlib.h>

#include "base/mem.h"

enum { WINDOW_MS = 1000 };

struct flood {
	flood_tell_fn *tell;
	void *self;
	struct loop_timer *timer;
	unsigned told; /* one by one, up to FLOOD_FREE */
	uint64_t held;
	json_t *newest; /* of those held back; NULL none */
};

static void flood_tell_held(void *self)
{
	struct flood *f = self;
	json_t *body = f->newest;
	uint64_t count = f->held;
	f->newest = NULL;
	f->held = 0;
	if (body)
		f->tell(f->self, body, count);
	json_decref(body);
}

struct flood *flood_new(struct loop *l, flood_tell_fn *tell, void *self)
{
	struct flood *f = NEW(struct flood);
	f->tell = tell;
	f->self = self;
	f->timer = loop_timer_new(l, flood_tell_held, f);
	return f;
}

void flood_add(struct flood *f, json_t *body)
{
	if (f->told < FLOOD_FREE) {
		f->told++;
		f->tell(f->self, body, 1);
		json_decref(body);
		return;
	}
	if (!f->held++)
		loop_timer_set(f->timer, WINDOW_MS, 0);
	json_decref(f->newest);
	f->newest = body;
}

void flood_free(struct flood **fp)
{
	struct flood *f = *fp;
	*fp = NULL;
	if (!f)
		return;
	flood_tell_held(f);
	loop_timer_free(&f->timer);
	free(f);
}
