/* The loop thread's side: gives seqs, gathers what a turn appends, tells about commits. */
#include "record/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/record_event.h"
#include "record/record_priv.h"
#include "wire/event_check.h"

enum { JUMP_US = 2000000, POOLED_MAX = 32768 };

struct item *item_new(enum item_type type, const void *bytes, size_t len)
{
	struct item *i = mem_alloc(sizeof(*i) + len + 1);
	memset(i, 0, sizeof(*i));
	i->type = type;
	memcpy(i->bytes, bytes, len);
	i->bytes[len] = 0;
	i->ev.body = i->bytes;
	i->ev.len = len;
	i->cost = sizeof(*i) + len;
	return i;
}

static void item_free(struct item *i)
{
	if (i->type == ITEM_SEGMENT) {
		buf_release(&i->segment.data);
		buf_release(&i->segment.times);
	} else if (i->type == ITEM_OBJECTS) {
		objects_free(&i->objects);
	}
	free(i);
}

static void on_turn_end(void *self)
{
	struct flusher *f = self;
	if (f->r) {
		f->r->flusher = NULL;
		record_flush(f->r);
	}
	free(f);
}

static struct batch *turn_of(struct record *r)
{
	if (!r->turn) {
		r->turn = NEW(struct batch);
		r->turn->last = &r->turn->first;
	}
	if (!r->flusher) {
		r->flusher = NEW(struct flusher);
		r->flusher->r = r;
		loop_defer(r->loop, on_turn_end, r->flusher);
	}
	return r->turn;
}

void batch_free(struct batch *b)
{
	while (b) {
		struct batch *next = b->next;
		while (b->first) {
			struct item *i = b->first;
			b->first = i->next;
			item_free(i);
		}
		free(b);
		b = next;
	}
}

void record_flush(struct record *r)
{
	struct batch *b = take(&r->turn);
	if (!b)
		return;
	pthread_mutex_lock(&r->mu);
	bool dead = record_state(r) == RECORD_DEAD; /* nobody is there to take it */
	if (!dead) {
		*r->queue_last = b;
		r->queue_last = &b->next;
		pthread_cond_signal(&r->cond);
	}
	pthread_mutex_unlock(&r->mu);
	if (dead) {
		atomic_fetch_sub(&r->backlog, b->cost);
		batch_free(b);
	}
}

static void record_queue(struct record *r, struct item *i)
{
	struct batch *b = turn_of(r);
	*b->last = i;
	b->last = &i->next;
	b->cost += i->cost;
	b->scrub |= i->type == ITEM_REDACT;
	atomic_fetch_add(&r->backlog, i->cost);
	if (b->cost > RECORD_FLOOD / 8) /* a turn that brings so much need not wait for its end */
		record_flush(r);
}

static void note_jump(struct record *r, int64_t off)
{
	int64_t us = off - r->clock_off;
	r->clock_off = off;
	record_ev_clock_jump(r, &(struct event){ 0 }, &(struct ev_clock_jump){ .us = us });
}

static void note_suspend(struct record *r, int64_t asleep)
{
	int64_t us = asleep - r->asleep;
	r->asleep = asleep;
	record_ev_clock_suspend(r, &(struct event){ 0 }, &(struct ev_clock_suspend){ .us = us });
}

static void follow_action(struct record *r, const struct event *ev)
{
	if (ev->kind == EV_ACTION_REQUESTED) {
		GROW(r->open, r->opens, r->open_cap);
		r->open[r->opens++] = (struct open_action){ ev->action ? ev->action : ev->seq,
							    ev->agent, ev->box };
	} else if (ev->kind == EV_ACTION_ENDED) {
		for (size_t i = 0; i < r->opens; i++)
			if (r->open[i].action == ev->action) {
				r->open[i] = r->open[--r->opens];
				break;
			}
	}
}

const struct open_action *record_open_action(const struct record *r, uint64_t action)
{
	for (size_t i = r->opens; i; i--)
		if (r->open[i - 1].action == action)
			return &r->open[i - 1];
	return NULL;
}

uint64_t record_queue_event(struct record *r, struct item *i)
{
	event_check_recorded(i->ev.kind, i->ev.body, i->ev.len);
	int64_t wall = record_wall_us(), mono = record_mono_us();
	int64_t asleep = record_asleep_us();
	int64_t drift = wall - mono - r->clock_off;
	if (asleep - r->asleep > JUMP_US)
		note_suspend(r, asleep);
	if (drift > JUMP_US || drift < -JUMP_US)
		note_jump(r, wall - mono);
	uint64_t seq = i->ev.seq = ++r->head;
	i->ev.ts_us = wall;
	i->ev.mono_us = mono;
	follow_action(r, &i->ev);
	record_queue(r, i); /* from here on the writer's: it may be written and freed already */
	return seq;
}

static uint64_t record_append_body(struct record *r, const struct event *ev, const char *body,
				   size_t len)
{
	assert(len >= 2 && body[0] == '{' && body[len - 1] == '}');
	if (secrets_clean_body(r->secrets, body, len, &r->clean)) {
		body = r->clean.data;
		len = r->clean.len;
	}
	struct item *i = item_new(ITEM_EVENT, body, len);
	const char *copy = i->ev.body;
	i->ev = *ev;
	i->ev.body = copy;
	i->ev.len = len;
	struct event at = *ev;
	at.seq = record_queue_event(r, i);
	honeytoken_seen_note(r, NULL, &at);
	return at.seq;
}

uint64_t record_append(struct record *r, const struct event *ev)
{
	return record_append_body(r, ev, ev->body, ev->len);
}

uint64_t record_append_json(struct record *r, enum event_kind kind, uint64_t cause, uint64_t agent,
			    uint64_t box, uint64_t action, json_t *body)
{
	struct event ev = {
		.cause = cause, .agent = agent, .box = box, .action = action, .kind = (uint16_t)kind
	};
	assert(json_is_object(body));
	buf_reset(&r->text);
	json_dump_buf(body, &r->text);
	json_decref(body);
	return record_append_body(r, &ev, r->text.data, r->text.len);
}

int record_secret(struct record *r, const char *name, const char *value, size_t len,
		  struct err *err)
{
	return secrets_add(r->secrets, name, value, len, err);
}

struct secrets *record_hidden(const struct record *r)
{
	return secrets_part(r->secrets, false);
}

bool record_clean_value(struct record *r, json_t *body)
{
	size_t mark = honeytoken_seen_mark(r);
	bool held = secrets_clean_value(r->secrets, body);
	honeytoken_seen_forget(r, mark);
	return held;
}

bool record_clean_json(struct record *r, const char *text, size_t len, struct buf *out)
{
	size_t mark = honeytoken_seen_mark(r);
	bool held = secrets_clean_body(r->secrets, text, len, out);
	honeytoken_seen_forget(r, mark);
	return held;
}

bool record_clean(struct record *r, const void *bytes, size_t len, struct buf *out)
{
	size_t mark = honeytoken_seen_mark(r);
	bool held = secrets_clean(r->secrets, bytes, len, out);
	honeytoken_seen_forget(r, mark);
	return held;
}

void record_clean_piece(struct record *r, struct buf *held, const void *bytes, size_t len, bool end,
			struct buf *out)
{
	size_t mark = honeytoken_seen_mark(r);
	secrets_stream(r->secrets, held, bytes, len, end, out);
	honeytoken_seen_forget(r, mark);
}

/* --- messages --------------------------------------------------------------------------------- */

/* True if it was handed over recently; an older one is still kept only once. */
static bool pooled_lately(struct record *r, const struct hash *id)
{
	struct pooled {
		uint8_t key[RECENT_KEY];
	};
	if (!r->pooled)
		r->pooled = lru_new(sizeof(struct pooled), POOLED_MAX);
	if (lru_find(r->pooled, id))
		return true;
	lru_add(r->pooled, id);
	return false;
}

void record_pool(struct record *r, const void *bytes, size_t len, bool plain, struct hash *id_out)
{
	hash_of(bytes, len, id_out);
	if (pooled_lately(r, id_out))
		return;
	struct item *i = item_new(ITEM_MESSAGE, bytes, len);
	i->message.id = *id_out;
	i->message.plain = plain;
	record_queue(r, i);
}

void record_message(struct record *r, const void *bytes, size_t len, struct hash *id_out)
{
	if (secrets_clean_body(r->secrets, bytes, len, &r->clean)) {
		bytes = r->clean.data;
		len = r->clean.len;
	}
	record_pool(r, bytes, len, false, id_out);
}

void record_checkpoint(struct record *r)
{
	record_queue(r, item_new(ITEM_CHECKPOINT, "", 0));
}

/* --- barriers and news ------------------------------------------------------------------------ */

void record_barrier(struct record *r, uint64_t seq, record_done_fn *done, void *self)
{
	assert(seq <= r->head);
	GROW(r->barrier, r->barriers, r->barrier_cap);
	r->barrier[r->barriers++] = (struct barrier){ seq, done, self };
	pthread_mutex_lock(&r->mu);
	bool durable = r->durable >= seq;
	pthread_mutex_unlock(&r->mu);
	if (durable)
		loop_wake_send(r->wake);
	else
		turn_of(r)->full = true;
}

void record_barrier_forget(struct record *r, const void *self)
{
	size_t kept = 0;
	for (size_t i = 0; i < r->barriers; i++)
		if (r->barrier[i].self != self)
			r->barrier[kept++] = r->barrier[i];
	r->barriers = kept;
}

/* Runs barriers one by one: each of them may append, ask for another one or forget some. */
static void run_barriers(struct record *r, uint64_t durable)
{
	for (size_t i = 0; i < r->barriers;) {
		if (r->barrier[i].seq > durable) {
			i++;
			continue;
		}
		struct barrier b = r->barrier[i];
		memmove(&r->barrier[i], &r->barrier[i + 1], (r->barriers - i - 1) * sizeof(b));
		r->barriers--;
		b.done(b.self);
		i = 0;
	}
}

static void run_redacted(struct redact_done *d)
{
	while (d) {
		struct redact_done *next = d->next;
		if (d->done)
			d->done(d->self);
		free(d);
		d = next;
	}
}

void record_on_wake(void *self)
{
	struct record *r = self;
	char why[sizeof(r->why)];
	pthread_mutex_lock(&r->mu);
	uint64_t committed = r->committed, durable = r->durable;
	struct redact_done *redacted = take(&r->redacted);
	enum record_state state = (enum record_state)atomic_load(&r->state);
	memcpy(why, r->why, sizeof(why));
	pthread_mutex_unlock(&r->mu);
	if (state != r->told) {
		r->told = state;
		if (r->ops.on_state)
			r->ops.on_state(r->self, state, why);
	}
	if (state != RECORD_DEAD)
		run_barriers(r, durable);
	run_redacted(redacted);
	if (committed > r->announced) {
		r->announced = committed;
		if (r->ops.on_head)
			r->ops.on_head(r->self, committed);
	}
}

/* Once a minute: whatever was written since then gets its signature. */
void record_on_quiet(void *self)
{
	struct record *r = self;
	if (r->head == r->checked)
		return;
	r->checked = r->head;
	record_checkpoint(r);
}

const char *record_path(const struct record *r)
{
	return r->path;
}

const char *record_id(const struct record *r)
{
	return r->id;
}

enum record_state record_state(const struct record *r)
{
	return (enum record_state)atomic_load(&r->state);
}

const char *record_catalog_left(const struct record *r)
{
	return *r->catalog_left ? r->catalog_left : NULL;
}

uint64_t record_head(const struct record *r)
{
	return r->head;
}

uint64_t record_committed(const struct record *r)
{
	return r->announced;
}

size_t record_backlog(const struct record *r)
{
	return atomic_load(&r->backlog);
}
