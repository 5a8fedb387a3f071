/* Streams on their way into segments: cleaned, gathered, closed by size, silence, age or their
 * end. */
#include <stdlib.h>
#include <string.h>

#include "base/leb128.h"
#include "record/record_event.h"
#include "record/record_priv.h"

enum {
	SEGMENT = 64 << 10,
	TAIL = 200,
	SILENCE_US = 20000,
	AGE_US = 100000,
	STREAMS = 7,
	LOOK = 4096, /* bytes: tokens are looked for in so much at once, not in a whole segment */
};

struct stream {
	struct token_hold token; /* of a recording without live tokens */
	struct buf held;	 /* could be the beginning of a secret */
	struct buf data, times;
	struct token_look look; /* in data */
	struct buf tail;	/* of the last sealed segment: a token may continue in the next */
	uint64_t off;		/* of data's first byte */
	int64_t first_us, last_us; /* of the open segment's chunks */
};

struct output {
	uint64_t action;
	struct buf typed; /* input that could be the beginning of a secret or a live token */
	/* of any stream: times within an action are strictly increasing, so that they are an
	 * order */
	int64_t last_us;
	struct stream stream[STREAMS];
};

struct outputs {
	/* sorted by nothing: a session has few actions that write at the same time */
	struct output **item;
	size_t nr, cap;
	struct buf clean;
	bool timing;
};

struct outputs *outputs_new(void)
{
	return NEW(struct outputs);
}

static void output_free(struct output *o)
{
	buf_release(&o->typed);
	for (size_t i = 0; i < STREAMS; i++) {
		token_hold_release(&o->stream[i].token);
		buf_release(&o->stream[i].held);
		buf_release(&o->stream[i].data);
		buf_release(&o->stream[i].times);
		buf_release(&o->stream[i].tail);
	}
	free(o);
}

void outputs_free(struct outputs **o)
{
	if (!*o)
		return;
	for (size_t i = 0; i < (*o)->nr; i++)
		output_free((*o)->item[i]);
	free((*o)->item);
	buf_release(&(*o)->clean);
	free(*o);
	*o = NULL;
}

static struct output *output_of(struct outputs *all, uint64_t action, bool make)
{
	for (size_t i = 0; i < all->nr; i++)
		if (all->item[i]->action == action)
			return all->item[i];
	if (!make)
		return NULL;
	GROW(all->item, all->nr, all->cap);
	struct output *o = NEW(struct output);
	o->action = action;
	return all->item[all->nr++] = o;
}

static struct event output_place(struct record *r, uint64_t action)
{
	const struct open_action *open = record_open_action(r, action);
	return (struct event){ .seq = action,
			       .action = action,
			       .agent = open ? open->agent : 0,
			       .box = open ? open->box : 0 };
}

/* Model streams hold what the other streams and actions hold already, and are pooled elsewhere. */
static bool output_has_tokens(const struct record *r, int nr)
{
	return nr <= STREAM_PTY && !r->hide_tokens;
}

/* What may not be complete yet is left for later. */
static void look_early(struct record *r, uint64_t action, int nr, struct stream *s)
{
	if (!output_has_tokens(r, nr) || s->data.len < s->look.from + LOOK + LIVE_TOKEN_MAX)
		return;
	struct event at = output_place(r, action);
	honeytoken_seen_look_tokens(r, nr, s->off, &s->data, s->data.len - LIVE_TOKEN_MAX, &s->look,
				    &at);
}

static void look_for_tokens(struct record *r, int nr, struct stream *s, const struct event *at)
{
	CLEANUP(buf_release) struct buf both = BUF_INIT;
	if (!output_has_tokens(r, nr))
		return;
	size_t tail = s->tail.len;
	if (tail) {
		struct token_look look = { 0 };
		buf_append(&both, s->tail.data, tail);
		buf_append(&both, s->data.data,
			   s->data.len < LIVE_TOKEN_MAX ? s->data.len : LIVE_TOKEN_MAX);
		honeytoken_seen_look_tokens(r, nr, s->off - tail, &both, tail, &look, at);
	}
	honeytoken_seen_look_tokens(r, nr, s->off, &s->data, s->data.len, &s->look, at);
	s->look = (struct token_look){ 0 };
	size_t keep = s->data.len < TAIL ? s->data.len : TAIL;
	buf_reset(&s->tail);
	buf_append(&s->tail, s->data.data + s->data.len - keep, keep);
}

static void output_seal(struct record *r, uint64_t action, int nr, struct stream *s)
{
	if (!s->data.len)
		return;
	struct item *i = item_new(ITEM_SEGMENT, "{}", 2);
	i->ev.kind = EV_OUTPUT;
	i->ev.cause = action;
	i->ev.action = action;
	struct event at = output_place(r, action);
	i->ev.agent = at.agent;
	i->ev.box = at.box;
	look_for_tokens(r, nr, s, &at);
	i->segment.stream = nr;
	i->segment.off = s->off;
	i->segment.ts_us = s->first_us;
	s->off += s->data.len;
	/* these bytes are in the backlog already */
	i->segment.data = s->data;
	i->segment.times = s->times;
	i->cost += s->data.len;
	atomic_fetch_sub(&r->backlog, s->data.len);
	s->data = s->times = BUF_INIT;
	record_queue_event(r, i);
}

/* Memory for a new segment: all of it at once when much comes, and exactly, so that it is the same
 * block again and again. */
static void output_room(struct buf *b, size_t first)
{
	if (b->cap || first < SEGMENT / 32)
		return;
	b->cap = SEGMENT + 1;
	b->data = mem_alloc(b->cap);
}

static void output_keep(struct record *r, struct output *o, int nr, const char *bytes, size_t len)
{
	struct stream *s = &o->stream[nr];
	int64_t now = record_wall_us();
	if (r->tap && len)
		r->tap(r->tap_self, o->action, (enum record_stream)nr, bytes, len);
	while (len) {
		size_t n = SEGMENT - s->data.len < len ? SEGMENT - s->data.len : len;
		o->last_us = now > o->last_us ? now : o->last_us + 1;
		if (!s->data.len) {
			output_room(&s->data, n);
			s->first_us = s->last_us = o->last_us;
		}
		leb128_put(&s->times, (uint64_t)(o->last_us - s->last_us));
		leb128_put(&s->times, n);
		buf_append(&s->data, bytes, n);
		s->last_us = o->last_us;
		atomic_fetch_add(&r->backlog, n);
		bytes += n;
		len -= n;
		if (s->data.len == SEGMENT)
			output_seal(r, o->action, nr, s);
		else
			look_early(r, o->action, nr, s);
	}
	if (!r->outputs->timing && s->data.len) {
		r->outputs->timing = true;
		loop_timer_set(r->timer, SILENCE_US / 1000, 0);
	}
}

static void note_bait(struct record *r, uint64_t action)
{
	const struct open_action *open =
		honeytoken_seen_mark(r) ? record_open_action(r, action) : NULL;
	struct event at = { .seq = action,
			    .action = action,
			    .agent = open ? open->agent : 0,
			    .box = open ? open->box : 0 };
	honeytoken_seen_note(r, "output", &at);
}

/* @end: all that is held, too. */
static void output_clean(struct record *r, struct output *o, int nr, const void *bytes, size_t len,
			 bool end)
{
	struct stream *s = &o->stream[nr];
	if (!s->held.len && (!len || !secrets_any(r->secrets))) {
		output_keep(r, o, nr, bytes, len);
		return;
	}
	struct buf *clean = &r->outputs->clean;
	buf_reset(clean);
	secrets_stream(r->secrets, &s->held, bytes, len, end, clean);
	note_bait(r, o->action);
	output_keep(r, o, nr, clean->data, clean->len);
}

static void output_hide_tokens(struct record *r, struct output *o, int nr, const void *bytes,
			       size_t len, bool end)
{
	struct stream *s = &o->stream[nr];
	const struct open_action *open = record_open_action(r, o->action);
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	struct token_place at = { .stream = nr,
				  .off = s->off + s->data.len + s->held.len,
				  .event = { .seq = o->action,
					     .action = o->action,
					     .agent = open ? open->agent : 0,
					     .box = open ? open->box : 0 } };
	token_hide_stream(r, &s->token, bytes, len, end, &at, &out);
	output_clean(r, o, nr, out.data, out.len, end);
}

void record_output(struct record *r, uint64_t action, enum record_stream nr, const void *bytes,
		   size_t len)
{
	assert(nr >= STREAM_OUT && nr <= STREAM_TEXT);
	struct output *o = output_of(r->outputs, action, true);
	if (r->hide_tokens && nr <= STREAM_PTY)
		output_hide_tokens(r, o, (int)nr, bytes, len, false);
	else
		output_clean(r, o, (int)nr, bytes, len, false);
}

static void output_keep_held(struct record *r, struct output *o, int nr)
{
	struct stream *s = &o->stream[nr];
	if (s->token.held.len)
		output_hide_tokens(r, o, nr, "", 0, true);
	else if (s->held.len)
		output_clean(r, o, nr, "", 0, true);
}

static void end_stream(struct record *r, struct output *o, int nr)
{
	output_keep_held(r, o, nr);
	output_seal(r, o->action, nr, &o->stream[nr]);
}

uint64_t record_output_mark(struct record *r, uint64_t action, enum record_stream nr)
{
	struct output *o = output_of(r->outputs, action, true);
	output_keep_held(r, o, (int)nr);
	return o->stream[nr].off + o->stream[nr].data.len;
}

void record_output_seal(struct record *r, uint64_t action, enum record_stream nr)
{
	struct output *o = output_of(r->outputs, action, false);
	if (o)
		output_seal(r, action, (int)nr, &o->stream[nr]);
}

int64_t record_typed_input(struct record *r, uint64_t action, const void *bytes, size_t len,
			   struct buf *out)
{
	struct buf *typed = &output_of(r->outputs, action, true)->typed;
	record_clean_input(r, typed, bytes, len, false, out);
	return (int64_t)typed->len;
}

/* It was passed on when it was typed, with an event that told its length. */
static void end_input(struct record *r, struct output *o)
{
	const struct open_action *open = record_open_action(r, o->action);
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	if (!o->typed.len)
		return;
	record_clean_input(r, &o->typed, "", 0, true, &out);
	record_ev_proc_stdin(r,
			     &(struct event){ .cause = o->action,
					      .agent = open ? open->agent : 0,
					      .box = open ? open->box : 0,
					      .action = o->action },
			     &(struct ev_proc_stdin){ .data = { buf_cstr(&out), out.len } });
}

void record_output_end(struct record *r, uint64_t action)
{
	struct outputs *all = r->outputs;
	for (size_t i = 0; i < all->nr; i++) {
		struct output *o = all->item[i];
		if (o->action != action)
			continue;
		end_input(r, o);
		for (int nr = 1; nr < STREAMS; nr++)
			end_stream(r, o, nr);
		output_free(o);
		all->item[i] = all->item[--all->nr];
		return;
	}
}

void record_output_gap(struct record *r, uint64_t action, enum record_stream nr, uint64_t bytes,
		       const char *why)
{
	struct output *o = output_of(r->outputs, action, true);
	struct stream *s = &o->stream[nr];
	end_stream(r, o, (int)nr);
	const struct open_action *open = record_open_action(r, action);
	record_ev_output_gap(r,
			     &(struct event){ .cause = action,
					      .agent = open ? open->agent : 0,
					      .box = open ? open->box : 0,
					      .action = action },
			     &(struct ev_output_gap){ .stream = nr,
						      .has_off = true,
						      .off = (int64_t)s->off,
						      .has_bytes = true,
						      .bytes = (int64_t)bytes,
						      .why = { why, strlen(why) } });
	s->off += bytes;
}

void record_on_output(struct record *r, record_clean_fn *fn, void *self)
{
	r->tap = fn;
	r->tap_self = self;
}

void outputs_end_all(struct record *r)
{
	while (r->outputs->nr)
		record_output_end(r, r->outputs->item[0]->action);
}

/* Closes what has been silent or open for too long; comes again while something is open. */
void outputs_on_timer(void *self)
{
	struct record *r = self;
	struct outputs *all = r->outputs;
	int64_t now = record_wall_us();
	all->timing = false;
	for (size_t i = 0; i < all->nr; i++)
		for (int nr = 1; nr < STREAMS; nr++) {
			struct stream *s = &all->item[i]->stream[nr];
			if (s->data.len &&
			    (now - s->last_us >= SILENCE_US || now - s->first_us >= AGE_US))
				output_seal(r, all->item[i]->action, nr, s);
			all->timing |= s->data.len > 0;
		}
	if (all->timing)
		loop_timer_set(r->timer, SILENCE_US / 1000, 0);
}
