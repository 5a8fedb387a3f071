#include "ui/verifying.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

static const char *const checks[][2] = {
	{ "bytes", "every byte of the file is what was put there" },
	{ "pages", "the file is whole as a database" },
	{ "chain", "all events, without a hole, under one chain of hashes" },
	{ "signatures", "every checkpoint is signed, over the chain as it stands" },
	{ "anchor", "nothing was cut off or made anew" },
	{ "segments", "output is what its events say" },
	{ "objects", "files are what their names and their events say" },
	{ "messages", "model messages are what their names say" },
	{ "order", "nothing was started before it was allowed" },
	{ "closed", "every action that was requested has ended" },
	{ "redactions", "what was removed was removed by a recorded event" },
};

const char *verify_name(size_t i)
{
	return i < ARRAY_LEN(checks) ? checks[i][0] : NULL;
}

const char *verify_about(size_t i)
{
	return i < ARRAY_LEN(checks) ? checks[i][1] : NULL;
}

struct kept {
	char *name, *text;
	struct verified v;
};

struct verifying {
	pthread_mutex_t lock; /* of all below */
	char *path;
	struct kept *row;
	size_t nr, cap;
	uint64_t head;
	bool over, dropped;
	int64_t began_us, since_us, took_us;
	struct verify_totals totals;
	struct err err;
};

static void verifying_free(struct verifying *v)
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

/* --- the thread --------------------------------------------------------------------------------------------------- */

static void on_check(void *self, const char *name, enum verify_result result, const char *text, uint64_t seq)
{
	struct verifying *v = self;
	int64_t now = clock_mono_us();
	pthread_mutex_lock(&v->lock);
	GROW(v->row, v->nr, v->cap);
	struct kept *k = &v->row[v->nr++];
	*k = (struct kept){ .name = xstrdup(name), .text = xstrdup(text) };
	k->v = (struct verified){ .result = result, .seq = seq, .took_us = now - v->since_us };
	v->since_us = now;
	pthread_mutex_unlock(&v->lock);
}

static void opened(struct verifying *v, struct session *s)
{
	uint64_t head = session_head(s);
	pthread_mutex_lock(&v->lock);
	v->head = head;
	v->since_us = clock_mono_us();
	pthread_mutex_unlock(&v->lock);
}

static void *run(void *self)
{
	struct verifying *v = self;
	struct session *s = NULL;
	struct err err = ERR_INIT;
	struct verify_totals totals = { 0 };
	if (session_open(&s, v->path, &err) == 0) {
		opened(v, s);
		if (verify_session(s, NULL, on_check, v, &totals, &err) == 0)
			err = ERR_INIT;
	}
	session_close(&s);
	pthread_mutex_lock(&v->lock);
	v->totals = totals;
	v->err = err;
	v->took_us = clock_mono_us() - v->began_us;
	v->over = true;
	bool mine = v->dropped;
	pthread_mutex_unlock(&v->lock);
	if (mine)
		verifying_free(v);
	return NULL;
}

/* --- the console -------------------------------------------------------------------------------------------------- */

struct verifying *verifying_new(const char *path, struct err *err)
{
	pthread_t thread;
	sigset_t all, was;
	struct verifying *v = NEW(struct verifying);
	*v = (struct verifying){ .path = xstrdup(path), .began_us = clock_mono_us(), .since_us = clock_mono_us() };
	pthread_mutex_init(&v->lock, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &was); /* signals are the console's */
	int rc = pthread_create(&thread, NULL, run, v);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	if (rc == 0) {
		pthread_detach(thread);
		return v;
	}
	verifying_free(v);
	err_set(err, ERR_BUSY, "cannot begin to verify: %s", strerror(rc));
	return NULL;
}

void verifying_drop(struct verifying **at)
{
	struct verifying *v = take(at);
	if (!v)
		return;
	pthread_mutex_lock(&v->lock);
	bool mine = v->over;
	v->dropped = true;
	pthread_mutex_unlock(&v->lock);
	if (mine)
		verifying_free(v);
}

void verifying_look(struct verifying *v, struct verify_seen *out, struct arena *a)
{
	pthread_mutex_lock(&v->lock);
	*out = (struct verify_seen){ .nr = v->nr, .head = v->head, .over = v->over, .since_us = v->since_us, .took_us = v->took_us, .totals = v->totals,
				     .err = v->err };
	out->row = arena_alloc(a, (v->nr + 1) * sizeof(*out->row));
	for (size_t i = 0; i < v->nr; i++) {
		out->row[i] = v->row[i].v;
		out->row[i].name = arena_strdup(a, v->row[i].name);
		out->row[i].text = arena_strdup(a, v->row[i].text);
	}
	pthread_mutex_unlock(&v->lock);
}
