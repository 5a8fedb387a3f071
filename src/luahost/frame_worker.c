#include "luahost/frame_worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/mem.h"

struct frame_queue {
	struct frame_job *first, **last;
};

struct frame_worker {
	struct loop_wake *wake;
	frame_worker_fn *done;
	void *self;
	size_t pending[2]; /* to the loop, to the host */
	bool inside;	   /* a callback: the memory must outlive it */
	bool released;
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t more;
	struct frame_queue todo, ready;
	bool over;
};

static void frame_queue_add(struct frame_queue *q, struct frame_job *job)
{
	if (!q->first)
		q->last = &q->first;
	job->next = NULL;
	*q->last = job;
	q->last = &job->next;
}

static struct frame_job *frame_queue_take(struct frame_queue *q)
{
	struct frame_job *job = q->first;
	if (job)
		q->first = job->next;
	return job;
}

static void frame_job_free(struct frame_job *job)
{
	json_decref(job->json);
	buf_release(&job->text);
	free(job);
}

void frame_worker_convert(struct frame_job *job)
{
	if (!job->out)
		job->json = json_parse(buf_cstr(&job->text), job->text.len, "frame of the Lua host",
				       &job->err);
	else if (job->json)
		json_dump_buf(job->json, &job->text);
}

static void *frame_worker_run(void *self)
{
	struct frame_worker *w = self;
	pthread_mutex_lock(&w->lock);
	while (!w->over) {
		struct frame_job *job = frame_queue_take(&w->todo);
		if (!job) {
			pthread_cond_wait(&w->more, &w->lock);
			continue;
		}
		pthread_mutex_unlock(&w->lock);
		frame_worker_convert(job);
		pthread_mutex_lock(&w->lock);
		frame_queue_add(&w->ready, job);
		loop_wake_send(w->wake);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static struct frame_job *frame_worker_ready(struct frame_worker *w)
{
	pthread_mutex_lock(&w->lock);
	struct frame_job *job = frame_queue_take(&w->ready);
	pthread_mutex_unlock(&w->lock);
	return job;
}

/* One frame a turn: each may take a while, and others wait for the loop. */
static void frame_worker_on_wake(void *self)
{
	struct frame_worker *w = self;
	struct frame_job *job = frame_worker_ready(w);
	if (!job)
		return;
	loop_wake_send(w->wake);
	w->pending[job->out]--;
	w->inside = true;
	w->done(w->self, job);
	w->inside = false;
	frame_job_free(job);
	if (w->released)
		free(w);
}

int frame_worker_new(struct frame_worker **out, struct loop *l, frame_worker_fn *done, void *self,
		     struct err *err)
{
	struct frame_worker *w = NEW(struct frame_worker);
	sigset_t all, was;
	w->done = done;
	w->self = self;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->more, NULL);
	w->wake = loop_wake_new(l, frame_worker_on_wake, w);
	sigfillset(&all); /* signals are the loop's */
	pthread_sigmask(SIG_BLOCK, &all, &was);
	errno = pthread_create(&w->thread, NULL, frame_worker_run, w);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	if (!errno) {
		(void)pthread_setname_np(w->thread, "frames"); /* tests and profilers see it */
		*out = w;
		return 0;
	}
	err_sys(err, "can't start a thread");
	loop_wake_free(&w->wake);
	free(w);
	return -1;
}

void frame_worker_add(struct frame_worker *w, struct frame_job *job)
{
	w->pending[job->out]++;
	pthread_mutex_lock(&w->lock);
	frame_queue_add(&w->todo, job);
	pthread_cond_signal(&w->more);
	pthread_mutex_unlock(&w->lock);
}

size_t frame_worker_pending(const struct frame_worker *w, bool out)
{
	return w ? w->pending[out] : 0;
}

void frame_worker_free(struct frame_worker **wp)
{
	struct frame_worker *w = *wp;
	*wp = NULL;
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->over = true;
	pthread_cond_signal(&w->more);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	loop_wake_free(&w->wake);
	for (struct frame_job *job; (job = frame_queue_take(&w->todo));)
		frame_job_free(job);
	for (struct frame_job *job; (job = frame_queue_take(&w->ready));)
		frame_job_free(job);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->more);
	w->released = true;
	if (!w->inside)
		free(w);
}

static size_t frame_length(const json_t *j, size_t most)
{
	size_t n = 0, i;
	const char *key;
	json_t *v;
	if (json_is_string(j))
		return json_string_length(j);
	if (json_is_object(j)) {
		json_object_foreach((json_t *)(uintptr_t)j, key, v)
		{
			n += frame_length(v, most);
			if (n > most)
				break;
		}
	}
	json_array_foreach(j, i, v)
	{
		n += frame_length(v, most);
		if (n > most)
			break;
	}
	return n;
}

bool frame_is_long(const json_t *j, size_t most)
{
	return frame_length(j, most) > most;
}
