/* The writer thread: takes whole turns from the queue, writes them in one transaction, says what is committed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "record/inner.h"

enum {
	TAKE_BYTES = 4 << 20,  /* of several turns into one transaction */
	RETRY_MS = 200,
	CLOSE_TRIES = 25,      /* of RETRY_MS: then record_close gives up on a disk that stays full */
	IDLE_MS = 200,         /* of silence before the index gets its turn */
	REST_MS = 800,         /* of more silence before the page cache goes */
	INDEX_BYTES = 64 << 10,
};

static void wait_ms(struct record *r, int ms)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)ms * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&r->cond, &r->mu, &until);
}

static enum store_rc write_item(struct record *r, const struct item *i, bool *decided)
{
	static uint16_t decided_kind;
	if (!decided_kind && !event_kind_find("action.decided", &decided_kind))
		decided_kind = UINT16_MAX;
	switch (i->type) {
	case ITEM_EVENT:
		*decided |= i->ev.kind == decided_kind;
		return store_event(r->store, &i->ev);
	case ITEM_SEGMENT:
		return store_segment(r->store, &i->ev, &i->segment);
	case ITEM_OBJECTS: {
		size_t nr;
		struct store_object *o = objects_items(i->objects, &nr);
		return store_objects(r->store, &i->ev, o, nr);
	}
	case ITEM_MESSAGE:
		return store_message(r->store, &i->message.id, i->bytes, i->ev.len, i->message.plain);
	case ITEM_REDACT:
		return store_redact(r->store, &i->ev, &i->redact);
	case ITEM_CHECKPOINT:
		*decided = true;
		return STORE_OK;
	}
	return STORE_FATAL;
}

/* Does a transaction of these turns change a page for certain? */
static bool has_event(const struct batch *first)
{
	for (const struct batch *b = first; b; b = b->next)
		for (const struct item *i = b->first; i; i = i->next)
			if (i->type != ITEM_MESSAGE && i->type != ITEM_CHECKPOINT)
				return true;
	return false;
}

/* One transaction of all turns in the list. */
static enum store_rc write_turns(struct record *r, const struct batch *first, bool *full)
{
	bool checkpoint = false;
	for (const struct batch *b = first; b; b = b->next)
		*full |= b->full;
	/* a checkpoint goes out to the anchor: what it names must be durable */
	for (const struct batch *b = first; b && !*full; b = b->next)
		for (const struct item *i = b->first; i && !*full; i = i->next)
			*full = i->type == ITEM_CHECKPOINT;
	enum store_rc rc = store_begin(r->store, *full, has_event(first));
	for (const struct batch *b = first; b && rc == STORE_OK; b = b->next)
		for (const struct item *i = b->first; i && rc == STORE_OK; i = i->next)
			rc = write_item(r, i, &checkpoint);
	if (rc == STORE_OK && checkpoint)
		rc = store_checkpoint(r->store);
	if (rc == STORE_OK)
		rc = store_commit(r->store);
	if (rc != STORE_OK)
		store_rollback(r->store);
	return rc;
}

static void set_state(struct record *r, enum record_state state, const char *why)
{
	if (atomic_load(&r->state) == (int)state)
		return;
	snprintf(r->why, sizeof(r->why), "%s", why);
	atomic_store(&r->state, (int)state);
	loop_wake_send(r->wake);
}

/* Gives back the space that was kept aside for the closing events. */
static void release_reserve(struct record *r)
{
	CLEANUP(free_ptr) char *path = xasprintf("%s-reserve", r->path);
	unlink(path);
	if (r->reserve >= 0)
		close(r->reserve);
	r->reserve = -1;
}

static void note(struct record *r)
{
	struct lease_note now;
	store_note(r->store, &now);
	lease_note(r->lease, &now);
}

/* Called and returns with the mutex held; false when it was given up. */
static bool write_out(struct record *r, const struct batch *first)
{
	bool full = false;
	for (int closing = 0;;) {
		pthread_mutex_unlock(&r->mu);
		enum store_rc rc = write_turns(r, first, &full);
		if (rc == STORE_OK)
			note(r);
		pthread_mutex_lock(&r->mu);
		if (rc == STORE_OK) {
			r->committed = store_seq(r->store);
			if (full)
				r->durable = r->committed;
			set_state(r, RECORD_OK, "");
			return true;
		}
		if (rc == STORE_FATAL) {
			set_state(r, RECORD_DEAD, store_why(r->store));
			return false;
		}
		set_state(r, RECORD_STALLED, store_why(r->store));
		if (r->stop)
			release_reserve(r);
		if (r->abandon || (r->stop && closing++ >= CLOSE_TRIES))
			return false;
		wait_ms(r, RETRY_MS);
	}
}

static struct batch *take_turns(struct record *r)
{
	struct batch *first = r->queue, *b = first;
	size_t cost = b->cost;
	while (b->next && cost < TAKE_BYTES) {
		b = b->next;
		cost += b->cost;
	}
	r->queue = b->next;
	if (!r->queue)
		r->queue_last = &r->queue;
	b->next = NULL;
	return first;
}

/* Redactions of these turns: nothing may be left in WAL and index before their callback. */
static void scrub(struct record *r, struct batch *first)
{
	struct redact_done *done = NULL;
	for (struct batch *b = first; b; b = b->next)
		for (struct item *i = b->first; i; i = i->next)
			if (i->type == ITEM_REDACT) {
				struct redact_done *d = NEW(struct redact_done);
				*d = (struct redact_done){ done, i->redact.done, i->redact.self };
				done = d;
			}
	if (!done)
		return;
	while (!r->abandon && store_scrub(r->store) == STORE_RETRY)
		wait_ms(r, 20);
	note(r);
	struct redact_done **last = &r->redacted;
	while (*last)
		last = &(*last)->next;
	*last = done;
}

static bool idle_work(struct record *r)
{
	pthread_mutex_unlock(&r->mu);
	bool more = store_index(r->store, INDEX_BYTES);
	note(r);
	pthread_mutex_lock(&r->mu);
	return more;
}

static bool quiet(const struct record *r)
{
	return !r->queue && !r->stop && !r->abandon;
}

/* What has been written since it was last looked at. */
enum idle { IDLE_FRESH, IDLE_INDEXED, IDLE_RESTING };

/* Nothing is queued: one step of what is done meanwhile, or the wait for more. */
static enum idle idle_step(struct record *r, enum idle state)
{
	if (state == IDLE_RESTING) {
		pthread_cond_wait(&r->cond, &r->mu);
		return state;
	}
	wait_ms(r, state == IDLE_FRESH ? IDLE_MS : REST_MS);
	if (state == IDLE_INDEXED && quiet(r)) {
		pthread_mutex_unlock(&r->mu);
		store_rest(r->store);
		pthread_mutex_lock(&r->mu);
		return IDLE_RESTING;
	}
	while (state == IDLE_FRESH && quiet(r))
		state = idle_work(r) ? IDLE_FRESH : IDLE_INDEXED;
	return state;
}

static void *writer_main(void *arg)
{
	struct record *r = arg;
	enum idle idle = IDLE_FRESH;
	pthread_mutex_lock(&r->mu);
	while (!r->abandon) {
		if (!r->queue) {
			if (r->stop)
				break;
			idle = idle_step(r, idle);
			continue;
		}
		struct batch *turns = take_turns(r);
		size_t cost = 0;
		for (struct batch *b = turns; b; b = b->next)
			cost += b->cost;
		bool good = write_out(r, turns);
		if (good)
			scrub(r, turns);
		idle = IDLE_FRESH;
		atomic_fetch_sub(&r->backlog, cost);
		loop_wake_send(r->wake);
		pthread_mutex_unlock(&r->mu);
		batch_free(turns);
		pthread_mutex_lock(&r->mu);
		if (!good)
			break;
	}
	batch_free(r->queue);
	r->queue = NULL;
	r->queue_last = &r->queue;
	pthread_mutex_unlock(&r->mu);
	return NULL;
}

void writer_start(struct record *r)
{
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&r->mu, NULL);
	pthread_cond_init(&r->cond, &attr);
	pthread_condattr_destroy(&attr);
	r->queue_last = &r->queue;
	int rc = pthread_create(&r->thread, NULL, writer_main, r);
	assert(rc == 0);
	(void)rc;
}

void writer_end(struct record *r)
{
	pthread_mutex_lock(&r->mu);
	pthread_cond_signal(&r->cond);
	pthread_mutex_unlock(&r->mu);
	pthread_join(r->thread, NULL);
	pthread_cond_destroy(&r->cond);
	pthread_mutex_destroy(&r->mu);
	release_reserve(r);
}
