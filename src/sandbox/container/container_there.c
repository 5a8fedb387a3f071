/* Is a container of ours still there? Asked without a session. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "sandbox/container/container.h"
#include "sandbox/container/engine.h"

enum { PATIENCE_US = 2000000 };

struct question {
	bool over;
	int there;
};

static void container_there_on_answer(void *self, json_t *body, const struct err *err)
{
	struct question *q = self;
	q->over = true;
	q->there = body ? 1 : err->code == ERR_NOENT ? 0 : -1;
}

static int container_there_ask(struct loop *l, const char *socket, const char *name)
{
	struct question q = { .there = -1 };
	struct engine *e;
	struct err none = ERR_INIT;
	if (engine_get(&e, l, socket, &none) < 0)
		return -1;
	CLEANUP(free_ptr) char *path = mem_printf("/containers/%s/json", name);
	engine_call(e, "GET", path, NULL, container_there_on_answer, &q);
	for (int64_t until = clock_mono_us() + PATIENCE_US; !q.over && clock_mono_us() < until;)
		loop_turn(l, 20);
	engine_forget(e, &q);
	engine_put(&e);
	loop_turn(l, 0); /* where it is freed */
	return q.there;
}

int container_there(const char *where)
{
	const char *colon = NULL;
	struct loop *l;
	struct err none = ERR_INIT;
	for (const char *p = where; (p = strstr(p, ": ")) != NULL; p++)
		colon = p;
	if (!colon || loop_new(&l, &none) < 0)
		return -1;
	CLEANUP(free_ptr) char *socket = mem_strndup(where, (size_t)(colon - where));
	int there = container_there_ask(l, socket, colon + 2);
	loop_free(l);
	return there;
}
