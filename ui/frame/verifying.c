#include "ui/frame/verifying.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { AGAIN_NS = 5000000 };

static const char *const verifying_checks[][2] = {
	{ "bytes", "every byte of the file is as it was written" },
	{ "pages", "the file is an intact database" },
	{ "chain", "all events, without a hole, under one chain of hashes" },
	{ "signatures", "every checkpoint's signature matches the chain" },
	{ "anchor", "nothing was cut off or made anew" },
	{ "segments", "output is what its events say" },
	{ "objects", "files are what their names and their events say" },
	{ "messages", "model messages are what their names say" },
	{ "order", "nothing was started before it was allowed" },
	{ "closed", "every action that was requested has ended" },
	{ "redactions", "everything removed was removed by a recorded event" },
};

const char *verify_name(size_t i)
{
	return i < ARRAY_LEN(verifying_checks) ? verifying_checks[i][0] : NULL;
}

const char *verify_about(size_t i)
{
	return i < ARRAY_LEN(verifying_checks) ? verifying_checks[i][1] : NULL;
}

struct kept {
	char *name, *text;
	struct verified v;
};

struct verifying {
	pthread_mutex_t lock; /* of all below but what the console alone has */
	char *path;
	verifying_clock *clock;
	struct kept *row;
	size_t nr, cap;
	uint64_t head;
	bool over;
	int64_t began_us, since_us, took_us;
	struct verify_totals totals;
	struct err err;
	struct session *open; /* to be interrupted */
	atomic_bool stop;
	pthread_t thread; /* the console's */
	bool joined;
};

/* --- the thread ------------------------------------------------------------------------------- */

static void verifying_on_check(void *self, const char *name, enum verify_result result,
			       const char *text, uint64_t seq)
{
	struct verifying *v = self;
	int64_t now = v->clock();
	pthread_mutex_lock(&v->lock);
	GROW(v->row, v->nr, v->cap);
	struct kept *k = &v->row[v->nr++];
	*k = (struct kept){ .name = mem_strdup(name), .text = mem_strdup(text) };
	k->v = (struct verified){ .result = result, .seq = seq, .took_us = now - v->since_us };
	v->since_us = now;
	pthread_mutex_unlock(&v->lock);
}

static void verifying_opened(struct verifying *v, struct session *s)
{
	uint64_t head = session_head(s);
	pthread_mutex_lock(&v->lock);
	v->head = head;
	v->open = s;
	v->since_us = v->clock();
	pthread_mutex_unlock(&v->lock);
}

static void *verifying_run(void *self)
{
	struct verifying *v = self;
	struct session *s = NULL;
	struct err err = ERR_INIT;
	struct verify_totals totals = { 0 };
	if (session_open_until(&s, v->path, &v->stop, &err) == 0) {
		verifying_opened(v, s);
		if (verify_session(s, NULL, verifying_on_check, v, &totals, &err) == 0)
			err = ERR_INIT;
	}
	pthread_mutex_lock(&v->lock);
	v->open = NULL;
	pthread_mutex_unlock(&v->lock);
	session_close(&s);
	pthread_mutex_lock(&v->lock);
	v->totals = totals;
	v->err = err;
	v->took_us = v->clock() - v->began_us;
	v->over = true;
	pthread_mutex_unlock(&v->lock);
	return NULL;
}

/* --- the console ------------------------------------------------------------------------------ */

static void verifying_release(struct verifying *v)
{
	for (size_t i = 0; i < v->nr; i++) {
		free(v->row[i].name);
		free(v->row[i].text);
	}
	free(v->row);
	free(v->path);
	pthread_mutex_destroy(&v->lock);
	free(v);
}

struct verifying *verifying_new(const char *path, verifying_clock *clock, struct err *err)
{
	sigset_t all, was;
	struct verifying *v = NEW(struct verifying);
	*v = (struct verifying){
		.path = mem_strdup(path), .clock = clock, .began_us = clock(), .since_us = clock()
	};
	pthread_mutex_init(&v->lock, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &was); /* signals are the console's */
	int rc = pthread_create(&v->thread, NULL, verifying_run, v);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	if (rc == 0)
		return v;
	verifying_release(v);
	err_set(err, ERR_BUSY, "can't begin to verify: %s", strerror(rc));
	return NULL;
}

static void verifying_interrupt(struct verifying *v)
{
	pthread_mutex_lock(&v->lock);
	if (v->open)
		session_interrupt(v->open);
	pthread_mutex_unlock(&v->lock);
}

/* More than once: an interrupt between two steps is of none. */
void verifying_stop(struct verifying *v)
{
	struct timespec until;
	atomic_store(&v->stop, true);
	while (!v->joined) {
		verifying_interrupt(v);
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += AGAIN_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		v->joined =
			pthread_clockjoin_np(v->thread, NULL, CLOCK_MONOTONIC, &until) != ETIMEDOUT;
	}
}

void verifying_free(struct verifying **at)
{
	struct verifying *v = take(at);
	if (!v)
		return;
	verifying_stop(v);
	verifying_release(v);
}

void verifying_look(struct verifying *v, struct verify_seen *out, struct arena *a)
{
	pthread_mutex_lock(&v->lock);
	*out = (struct verify_seen){ .nr = v->nr,
				     .head = v->head,
				     .over = v->over,
				     .since_us = v->since_us,
				     .took_us = v->took_us,
				     .totals = v->totals,
				     .err = v->err };
	out->row = arena_alloc(a, (v->nr + 1) * sizeof(*out->row));
	for (size_t i = 0; i < v->nr; i++) {
		out->row[i] = v->row[i].v;
		out->row[i].name = arena_strdup(a, v->row[i].name);
		out->row[i].text = arena_strdup(a, v->row[i].text);
	}
	pthread_mutex_unlock(&v->lock);
}
