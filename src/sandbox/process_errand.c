/* A worker thread that needs something of the loop (the guest is spoken to from there only) and waits for it. */
#include <stdlib.h>

#include "base/mem.h"
#include "sandbox/process_inner.h"

struct loop_errand {
	struct process_box *p;
	struct loop_wake *wake;
	pthread_mutex_t one; /* one worker at a time */
	pthread_mutex_t lock;
	pthread_cond_t cond;
	enum errand what;
	bool asked, done;
	struct err err;
};

static void finish(struct loop_errand *e, const struct err *err)
{
	pthread_mutex_lock(&e->lock);
	e->err = err ? *err : ERR_INIT;
	e->done = true;
	pthread_cond_signal(&e->cond);
	pthread_mutex_unlock(&e->lock);
}

static void on_ps(void *self, json_t *body, const struct err *err)
{
	const json_t *procs = json_object_get(body, "procs");
	struct err busy = ERR_INIT;
	for (size_t i = 0; i < json_array_size(procs); i++)
		if (json_int(json_array_get(procs, i), "pid", 0) != 1)
			err_set(&busy, ERR_BUSY, "'%s' still runs in the box",
				json_str(json_array_get(procs, i), "name", "a process"));
	finish(self, body ? busy.code ? &busy : NULL : err);
}

static void on_confined(void *self, json_t *body, const struct err *err)
{
	(void)body;
	finish(self, err);
}

static void on_wake(void *self)
{
	struct loop_errand *e = self;
	struct guest *g = e->p->cell && !e->p->dead ? e->p->cell->guest : NULL;
	pthread_mutex_lock(&e->lock);
	bool asked = e->asked;
	enum errand what = e->what;
	e->asked = false;
	pthread_mutex_unlock(&e->lock);
	if (!asked)
		return;
	if (!g) {
		struct err gone = ERR_INIT;
		err_set(&gone, ERR_CLOSED, "the box has died");
		finish(e, &gone);
		return;
	}
	switch (what) {
	case ERRAND_COUNT:
		guest_ps(g, on_ps, e);
		break;
	case ERRAND_CONFINE:
		process_confine(e->p, true, on_confined, e);
		break;
	}
}

struct loop_errand *errand_new(struct process_box *p)
{
	struct loop_errand *e = NEW(struct loop_errand);
	e->p = p;
	e->wake = loop_wake_new(p->loop, on_wake, e);
	pthread_mutex_init(&e->one, NULL);
	pthread_mutex_init(&e->lock, NULL);
	pthread_cond_init(&e->cond, NULL);
	return e;
}

void errand_free(struct loop_errand **ep)
{
	struct loop_errand *e = take(ep);
	if (!e)
		return;
	loop_wake_free(&e->wake);
	pthread_mutex_destroy(&e->one);
	pthread_mutex_destroy(&e->lock);
	pthread_cond_destroy(&e->cond);
	free(e);
}

int errand_run(struct loop_errand *e, enum errand what, struct err *err)
{
	pthread_mutex_lock(&e->one);
	pthread_mutex_lock(&e->lock);
	e->what = what;
	e->asked = true;
	e->done = false;
	loop_wake_send(e->wake);
	while (!e->done)
		pthread_cond_wait(&e->cond, &e->lock);
	struct err got = e->err;
	pthread_mutex_unlock(&e->lock);
	pthread_mutex_unlock(&e->one);
	if (got.code == ERR_NONE)
		return 0;
	*err = got;
	return -1;
}
