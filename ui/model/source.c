#include "ui/model/source.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/longlist.h"

int source_open(struct source **out, const char *path, struct err *err)
{
	struct source *s = NEW(struct source);
	model_init(&s->model);
	if (session_open(&s->session, path, err) < 0 ||
	    feed_new(&s->feed, s->session, FEED_ALL, 0, err) < 0) {
		source_close(&s);
		return -1;
	}
	*out = s;
	return 0;
}

void source_close(struct source **sp)
{
	struct source *s = *sp;
	if (!s)
		return;
	if (s->feed)
		feed_free(&s->feed);
	if (s->session)
		session_close(&s->session);
	if (s->changes)
		s->changes_free(s);
	if (s->pty)
		s->pty_free(s);
	model_release(&s->model);
	model_release(&s->whole);
	journal_free(&s->journal);
	track_release(&s->track);
	arena_release(&s->arena);
	free(s);
	*sp = NULL;
}

/* --- folding ---------------------------------------------------------------------------------- */

enum {
	SLICE = 64,
	EARLY_EVENTS = 700,
	LONG = 20000,
	EARLY_MORE = 256,
	EARLY_AGAIN_US = 250000,
	GROWN_US = 500000,
	GROWN_SHARE = 20
};

static struct model *source_folded(struct source *s)
{
	return s->early ? &s->whole : &s->model;
}

int source_take(struct source *s, uint64_t limit_seq, int max)
{
	struct event ev;
	struct model *m = source_folded(s);
	int n = 0, rc = 0;
	while ((max == 0 || n < max) &&
	       (rc = feed_next(s->feed, &ev, &s->arena, limit_seq, &s->why)) == 1) {
		if (s->journal)
			journal_next(s->journal, m);
		track_before(&s->track, m, &ev);
		model_apply(m, &ev);
		track_after(&s->track, m, &ev);
		n++;
		if (n % 256 == 0)
			arena_reset(&s->arena);
	}
	arena_reset(&s->arena);
	s->failed = rc < 0;
	return s->failed ? -1 : n;
}

static void forget_early(struct source *s)
{
	if (!s->early)
		return;
	model_release(&s->model);
	s->model = s->whole;
	s->whole = (struct model){ 0 };
	s->early = false;
}

/* The whole to @seq or to a point before it. */
static void go_back(struct source *s, uint64_t seq)
{
	struct model *m = source_folded(s);
	if (!s->journal || !journal_back(s->journal, m, seq)) {
		model_release(m);
		model_init(m);
		m->journal = s->journal;
	}
	feed_seek(s->feed, m->head);
}

static void add_early(struct source *s, uint64_t seq)
{
	struct event ev;
	struct err err = ERR_INIT;
	if (session_event(s->session, seq, &ev, &s->arena, &err) == 0)
		model_apply(&s->model, &ev);
}

/* Makes a first picture at @seq; folding the whole session continues beside it. */
static void begin_early(struct source *s, uint64_t seq)
{
	uint64_t *list = NULL;
	size_t nr = 0;
	struct err err = ERR_INIT;
	session_hold(s->session);
	int rc = session_outline(s->session, seq, EARLY_EVENTS, &list, &nr, &err);
	if (rc == 0 && nr > 0) {
		if (s->early)
			model_release(&s->model);
		else
			s->whole = s->model;
		s->early = true;
		s->early_us = clock_mono_us();
		model_init(&s->model);
		for (size_t i = 0; i < nr; i++)
			add_early(s, list[i]);
		arena_reset(&s->arena);
	}
	session_let_go(s->session);
	free(list);
}

/* Reads events since the first picture; many of them give a new picture, but not too often. */
static int go_on_early(struct source *s, uint64_t seq)
{
	int n = 0;
	if (seq > s->model.head + EARLY_MORE) {
		if (clock_mono_us() - s->early_us < EARLY_AGAIN_US)
			return 0;
		begin_early(s, seq);
		return 1;
	}
	for (uint64_t at = s->model.head + 1; at <= seq; at++, n++)
		add_early(s, at);
	arena_reset(&s->arena);
	return n;
}

static bool source_goes_on(const struct source *s, int64_t until)
{
	return clock_mono_us() < until && !(s->stop && s->stop());
}

/* The whole up to its end for once, while the screens show a picture of @to. */
static int source_survey(struct source *s, uint64_t to, int64_t until)
{
	int n = 0, got;
	uint64_t head = session_head(s->session);
	if (!s->early && until != INT64_MAX && (head > LONG || to < head))
		begin_early(s, to);
	do {
		got = source_take(s, 0, SLICE);
		n += got > 0 ? got : 0;
	} while (got > 0 && source_goes_on(s, until));
	if (s->early)
		n += go_on_early(s, to);
	s->surveyed = got == 0;
	if (s->surveyed)
		long_rest();
	return got < 0 ? -1 : n;
}

/* The file grows while the cursor stays. Folds to its end and back, so that totals of the whole
 * session grow, too. A cursor far behind makes this slow, so it then waits until the cursor
 * moves. */
static int source_grown(struct source *s)
{
	int64_t began = clock_mono_us();
	if (s->early || began < s->grown_us || s->end > source_folded(s)->head + LONG)
		return 0;
	int n = source_take(s, 0, 0);
	s->grown_us = began + GROWN_US + GROWN_SHARE * (clock_mono_us() - began);
	return n > 0 ? n : 0;
}

int source_sync(struct source *s, uint64_t limit_seq, int64_t budget_us)
{
	uint64_t head = session_head(s->session),
		 to = limit_seq && limit_seq < head ? limit_seq : head;
	int64_t until = clock_mono_us() + budget_us;
	int n = 0, got = 0;
	s->growing = s->end > 0 && head != s->end;
	s->end = head;
	if (s->early && to < s->model.head)
		forget_early(s);
	if (s->journal && s->surveyed && s->track.nr < head && to < head)
		n += source_grown(s);
	if (s->journal && !s->surveyed) {
		n = source_survey(s, to, budget_us ? until : INT64_MAX);
		if (n < 0 || !s->surveyed)
			return n;
	}
	if (limit_seq && limit_seq < source_folded(s)->head)
		go_back(s, limit_seq), n++;
	if (budget_us && !s->early && source_folded(s)->head + LONG < to)
		begin_early(s, to), until = 0;
	do {
		got = source_take(s, limit_seq, budget_us ? SLICE : 0);
		n += got > 0 ? got : 0;
	} while (got > 0 && budget_us && source_goes_on(s, until));
	s->behind = got >= 0 && source_folded(s)->head < to;
	if (!s->behind) {
		n += s->early;
		if (s->early)
			long_rest();
		forget_early(s);
	} else if (s->early) {
		n += go_on_early(s, to);
	} else if (budget_us && !s->was_whole) {
		begin_early(s, to);
	}
	s->was_whole = s->was_whole || !s->behind;
	return got < 0 ? -1 : n;
}

bool source_reading(const struct source *s)
{
	return !s->failed && (s->early || s->behind || (s->journal && !s->surveyed));
}

int source_percent(const struct source *s, uint64_t limit_seq)
{
	uint64_t to = s->journal && !s->surveyed ? session_head(s->session)
		      : limit_seq		 ? limit_seq
						 : s->model.head;
	return !s->early || to == 0 || s->whole.head >= to ? 100 : (int)(s->whole.head * 100 / to);
}

void source_seek(struct source *s, uint64_t seq)
{
	forget_early(s);
	if (seq < s->model.head)
		go_back(s, seq);
	if (seq > s->model.head)
		source_take(s, seq, 0);
}

void source_keep_way(struct source *s)
{
	if (s->journal || source_folded(s)->head > 0)
		return;
	s->journal = journal_new();
	s->model.journal = s->journal;
}

enum agent_state source_agent_state(const struct source *s, const struct model_agent *a)
{
	return s->lost && !a->ended ? AGENT_LOST : model_agent_state(&s->model, a);
}

json_t *source_body(struct source *s, uint64_t seq)
{
	struct err err = ERR_INIT;
	struct event ev;
	json_t *o = NULL;
	if (seq > 0 && session_event(s->session, seq, &ev, &s->arena, &err) == 0 && ev.body)
		o = json_parse(ev.body, ev.len, "event", &err);
	arena_reset(&s->arena);
	return o;
}

bool source_decode(struct source *s, uint64_t seq, const struct event_desc *d, struct arena *a,
		   void *out)
{
	struct err err = ERR_INIT;
	struct event ev;
	memset(out, 0, d->size);
	if (!seq || session_event(s->session, seq, &ev, a, &err) < 0)
		return false;
	event_decode(d, &ev, a, out);
	return true;
}

uint64_t source_output(struct source *s, uint64_t action, int stream, uint64_t from, uint64_t max,
		       struct buf *out)
{
	struct err err = ERR_INIT;
	const struct model_action *act = model_action(&s->model, action);
	uint64_t size = !act	      ? 0
			: stream == 2 ? act->err_bytes
			: stream == 5 ? act->wire_bytes
				      : act->out_bytes;
	uint64_t left = size > from ? size - from : 0;
	buf_reset(out);
	if (left > 0 && session_output(s->session, action, stream, from,
				       (size_t)(left < max ? left : max), out, &err) < 0)
		buf_printf(out, "(%s)", err.text);
	return size;
}

uint64_t source_tail(struct source *s, uint64_t action, int stream, size_t max, struct buf *out)
{
	const struct model_action *act = model_action(&s->model, action);
	uint64_t size = !act ? 0 : stream == 2 ? act->err_bytes : act->out_bytes;
	uint64_t from = size > max ? size - max : 0;
	source_output(s, action, stream, from, max, out);
	return from;
}
