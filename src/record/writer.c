/* The writer thread: takes whole turns from the queue, writes them in a transaction, reports the
 * commits.
 *
 * An item with a waiter is committed at once. Observations are written at once, too, but their
 * transaction stays open a moment longer: the next item, most often the next action's barrier,
 * then needs one commit for both. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/catalog_forget.h"
#include "record/copies_left.h"
#include "record/record_priv.h"

enum {
	TAKE_BYTES = 1 << 20, /* of several turns into one transaction */
	OPEN_US = 2000,	      /* an open transaction waits this long for more */
	RETRY_MS = 200,
	/* of RETRY_MS: then record_close gives up on a disk that stays full */
	CLOSE_TRIES = 25,
	IDLE_MS = 200, /* of silence before the index gets its turn */
	REST_MS = 800, /* of more silence before the page cache goes */
	INDEX_BYTES = 64 << 10,
};

static void wait_us(struct record *r, int64_t us)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)us * 1000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&r->cond, &r->mu, &until);
}

static void wait_ms(struct record *r, int ms)
{
	wait_us(r, (int64_t)ms * 1000);
}

/* Events that follow each other, over the ends of turns too: they are written as one. */
struct row_of_events {
	const struct event *ev[64];
	size_t nr;
};

static enum store_rc write_events(struct record *r, struct row_of_events *row)
{
	size_t nr = row->nr;
	row->nr = 0;
	return store_events(r->store, row->ev, nr);
}

static enum store_rc write_other(struct record *r, const struct item *i)
{
	switch (i->type) {
	case ITEM_SEGMENT:
		return store_segment(r->store, &i->ev, &i->segment);
	case ITEM_OBJECTS: {
		size_t nr;
		struct store_object *o = objects_items(i->objects, &nr);
		return store_objects(r->store, &i->ev, o, nr);
	}
	case ITEM_MESSAGE:
		return store_message(r->store, &i->message.id, i->bytes, i->ev.len,
				     i->message.plain);
	case ITEM_REDACT:
		return store_redact(r->store, &i->ev, &i->redact);
	case ITEM_CHECKPOINT:
		return STORE_OK;
	case ITEM_EVENT:
		break;
	}
	return STORE_FATAL;
}

static enum store_rc write_item(struct record *r, const struct item *i, struct row_of_events *row)
{
	struct unsettled *u = &r->unsettled;
	/* the anchor leaves the file: its events must be durable */
	u->full |= i->type == ITEM_CHECKPOINT;
	u->checkpoint |= i->type == ITEM_CHECKPOINT;
	if (i->type == ITEM_EVENT) {
		u->checkpoint |= i->ev.kind == EV_ACTION_DECIDED;
		row->ev[row->nr++] = &i->ev;
		return row->nr == ARRAY_LEN(row->ev) ? write_events(r, row) : STORE_OK;
	}
	enum store_rc rc = write_events(r, row);
	return rc == STORE_OK ? write_other(r, i) : rc;
}

static enum store_rc write_turn(struct record *r, struct batch *b, struct row_of_events *row)
{
	enum store_rc rc = STORE_OK;
	r->unsettled.full |= b->full;
	for (const struct item *i = b->first; i && rc == STORE_OK; i = i->next)
		rc = write_item(r, i, row);
	b->written = rc == STORE_OK; /* once the row is */
	return rc;
}

/* Those turns of the transaction that are not in it yet. After a failure none of them is: it is
 * rolled back. */
static enum store_rc write_turns(struct record *r)
{
	struct unsettled *u = &r->unsettled;
	UNSET struct row_of_events row;
	enum store_rc rc = u->begun ? STORE_OK : store_begin(r->store);
	u->begun = rc == STORE_OK;
	row.nr = 0;
	for (struct batch *b = u->first; b && rc == STORE_OK; b = b->next)
		if (!b->written)
			rc = write_turn(r, b, &row);
	return rc == STORE_OK ? write_events(r, &row) : rc;
}

static enum store_rc commit_turns(struct record *r)
{
	struct unsettled *u = &r->unsettled;
	enum store_rc rc = u->checkpoint ? store_checkpoint(r->store) : STORE_OK;
	return rc == STORE_OK ? store_commit(r->store, u->full) : rc;
}

/* Marks the written items for another attempt. */
static void roll_back(struct record *r)
{
	struct unsettled *u = &r->unsettled;
	store_rollback(r->store);
	u->begun = u->checkpoint = false; /* @full stays: it is asked for */
	for (struct batch *b = u->first; b; b = b->next)
		b->written = false;
}

static void writer_set_state(struct record *r, enum record_state state, const char *why)
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
	CLEANUP(free_ptr) char *path = mem_printf("%s-reserve", r->path);
	unlink(path);
	if (r->reserve >= 0)
		close(r->reserve);
	r->reserve = -1;
}

static void writer_note(struct record *r)
{
	struct lease_note now;
	store_note(r->store, &now);
	lease_note(r->lease, &now);
}

/* An item has a waiter, or the transaction has grown large. */
static bool to_be_committed(const struct record *r)
{
	return r->unsettled.full || r->unsettled.scrub || r->unsettled.cost >= TAKE_BYTES;
}

static void writer_settled(struct record *r)
{
	struct unsettled *u = &r->unsettled;
	u->begun = false;
	r->committed = store_seq(r->store);
	if (u->full)
		r->durable = r->committed;
	writer_set_state(r, RECORD_OK, "");
	atomic_fetch_sub(&r->backlog, u->cost);
}

/* Writes the turns taken, and commits them if @now or if it must be. Called and returns with the
 * mutex held; false when it was given up. */
static bool writer_write_out(struct record *r, bool now)
{
	for (int closing = 0;;) {
		pthread_mutex_unlock(&r->mu);
		enum store_rc rc = write_turns(r);
		bool commit = now || to_be_committed(r);
		if (rc == STORE_OK && commit)
			rc = commit_turns(r);
		if (rc == STORE_OK && commit)
			writer_note(r);
		if (rc != STORE_OK)
			roll_back(r);
		pthread_mutex_lock(&r->mu);
		if (rc == STORE_OK) {
			if (commit)
				writer_settled(r);
			return true;
		}
		now = true;
		if (rc == STORE_FATAL) {
			writer_set_state(r, RECORD_DEAD, store_why(r->store));
			return false;
		}
		writer_set_state(r, RECORD_STALLED, store_why(r->store));
		if (r->stop)
			release_reserve(r);
		if (r->abandon || (r->stop && closing++ >= CLOSE_TRIES))
			return false;
		wait_ms(r, RETRY_MS);
	}
}

/* Moves turns from the queue into the transaction. */
static void take_turns(struct record *r)
{
	struct unsettled *u = &r->unsettled;
	if (!u->first)
		*u = (struct unsettled){ .last = &u->first, .since_us = clock_awake_us() };
	do {
		struct batch *b = r->queue;
		r->queue = b->next;
		b->next = NULL;
		*u->last = b;
		u->last = &b->next;
		u->cost += b->cost;
		u->scrub |= b->scrub;
	} while (r->queue && u->cost < TAKE_BYTES);
	if (!r->queue)
		r->queue_last = &r->queue;
}

/* Redactions of these turns: nothing may be left in WAL and index before their callback. */
static void writer_scrub(struct record *r, struct batch *first)
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
	struct err listed = ERR_INIT, left = ERR_INIT;
	(void)!catalog_forget(r->path, r->uuid, &listed);
	(void)!copies_left(r->path, &left);
	/* anew each time: the user may have removed the copy since the last redaction */
	snprintf(r->catalog_left, sizeof(r->catalog_left), "%s%s%s", listed.text,
		 *listed.text && *left.text ? "; " : "", left.text);
	writer_note(r);
	struct redact_done **last = &r->redacted;
	while (*last)
		last = &(*last)->next;
	*last = done;
}

static bool idle_work(struct record *r)
{
	pthread_mutex_unlock(&r->mu);
	bool more = store_index(r->store, INDEX_BYTES);
	writer_note(r);
	store_tidy(r->store, false); /* the index is a multiple of the text */
	pthread_mutex_lock(&r->mu);
	return more;
}

static bool writer_quiet(const struct record *r)
{
	return !r->queue && !r->stop && !r->abandon;
}

/* The work since the last look. */
enum idle { IDLE_FRESH, IDLE_INDEXED, IDLE_RESTING };

/* Nothing is queued: one step of idle work, or the wait for more. */
static enum idle idle_step(struct record *r, enum idle state)
{
	if (state == IDLE_RESTING) {
		pthread_cond_wait(&r->cond, &r->mu);
		return state;
	}
	wait_ms(r, state == IDLE_FRESH ? IDLE_MS : REST_MS);
	if (state == IDLE_INDEXED && writer_quiet(r)) {
		pthread_mutex_unlock(&r->mu);
		store_tidy(r->store, false);
		store_rest(r->store);
		pthread_mutex_lock(&r->mu);
		return IDLE_RESTING;
	}
	while (state == IDLE_FRESH && writer_quiet(r))
		state = idle_work(r) ? IDLE_FRESH : IDLE_INDEXED;
	return state;
}

/* The transaction is over: reports its items and forgets them. */
static void writer_tell(struct record *r)
{
	struct batch *first = take(&r->unsettled.first);
	if (r->unsettled.scrub)
		writer_scrub(r, first);
	bool busy = r->queue || r->stop;
	pthread_mutex_unlock(&r->mu);
	loop_wake_send(r->wake);
	batch_free(first);
	store_tidy(r->store, busy);
	pthread_mutex_lock(&r->mu);
}

/* Waits for more; false when it has waited long enough. */
static bool writer_wait_for_more(struct record *r)
{
	int64_t left = r->unsettled.since_us + OPEN_US - clock_awake_us();
	if (left <= 0 || r->stop)
		return false;
	wait_us(r, left);
	return true;
}

/* Drops items that will never be written; waiters for room continue and learn the reason. */
static void writer_drop(struct record *r, struct batch *first)
{
	for (const struct batch *b = first; b; b = b->next)
		atomic_fetch_sub(&r->backlog, b->cost);
	batch_free(first);
}

static void *writer_main(void *arg)
{
	struct record *r = arg;
	enum idle idle = IDLE_FRESH;
	pthread_mutex_lock(&r->mu);
	while (!r->abandon) {
		bool open = r->unsettled.first, more = r->queue;
		if (!more && !open) {
			if (r->stop)
				break;
			idle = idle_step(r, idle);
			continue;
		}
		if (more)
			take_turns(r);
		else if (writer_wait_for_more(r))
			continue;
		if (!writer_write_out(r, !more))
			break;
		idle = IDLE_FRESH;
		if (!r->unsettled.begun)
			writer_tell(r);
	}
	if (r->unsettled.begun)
		roll_back(r);
	writer_drop(r, take(&r->unsettled.first));
	writer_drop(r, take(&r->queue));
	r->queue_last = &r->queue;
	pthread_mutex_unlock(&r->mu);
	loop_wake_send(r->wake);
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
