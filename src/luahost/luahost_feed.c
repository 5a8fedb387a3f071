/* A Lua host is a pure function of its frames: after the recorded frames, a new host is in the
 * state of the old one. Its requests meanwhile were made before; only calls without a recorded
 * answer are repeated. */
#include <stdlib.h>
#include <string.h>

#include "luahost/luahost.h"
#include "luahost/luahost_priv.h"
#include "base/mem.h"
#include "wire/host.h"

struct fed_call {
	uint64_t id;
	json_t *body;
};

struct host_feed {
	struct fed_call *call; /* asked, and no recorded answer */
	size_t nr, cap;
	uint64_t *answered; /* ids with a recorded answer */
	size_t nr_answered, cap_answered;
	/* calls whose actions may have reached outside and whose end is unknown */
	uint64_t *lost;
	size_t nr_lost;
	/* the script has another text: everything is recorded anew; while feed_begin runs */
	const struct host_resume *changed;
	bool anew;
	/* of the last recorded turn: this many of its notes are recorded */
	uint64_t told;
	void (*caught_up)(void *self);
	void *self;
};

void feed_free_calls(struct host *h)
{
	struct host_feed *f = h->feed;
	h->feed = NULL;
	if (!f)
		return;
	for (size_t i = 0; i < f->nr; i++)
		json_decref(f->call[i].body);
	free(f->call);
	free(f->answered);
	free(f->lost);
	free(f);
}

/* A script of another text: the frames are those of a new host, under its own host.start. */
static int record_anew(struct host *h, uint16_t type, uint64_t id, struct buf *body,
		       struct err *err)
{
	const struct host_resume *r = h->feed->changed;
	CLEANUP(json_release) json_t *j = json_parse(body->data, body->len, "frame", err);
	if (!j)
		return -1;
	if (type == HOST_START) {
		json_put_bytes(j, "text", r->text, r->len);
		buf_reset(body);
		json_dump_buf(j, body);
	}
	luahost_record_frame(h->super->record, h->start_seq, h->ordinal + 1, type, id, j);
	return 0;
}

static int luahost_feed_send_recorded(struct host *h, struct session *s, const struct event *ev,
				      struct err *err)
{
	CLEANUP(buf_release) struct buf body = BUF_INIT;
	uint16_t type;
	uint64_t id;
	if (luahost_rebuild_frame(s, ev, &type, &id, &body, err) < 0)
		return -1;
	if (type == HOST_ANSWER) {
		struct host_feed *f = h->feed;
		GROW(f->answered, f->nr_answered, f->cap_answered);
		f->answered[f->nr_answered++] = id;
	}
	if (h->feed->changed && record_anew(h, type, id, &body, err) < 0)
		return -1;
	stream_send(h->stream, type, id, buf_cstr(&body), body.len);
	h->ordinal++;
	return 0;
}

int feed_begin(struct host *h, const struct host_resume *r, struct err *err)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct session *s;
	struct feed *f;
	struct event ev;
	h->feed = NEW(struct host_feed);
	h->feed->caught_up = r->caught_up;
	h->feed->self = r->self;
	h->feed->nr_lost = r->nr_lost;
	h->feed->told = r->told;
	h->feed->lost = mem_dup(r->lost, r->nr_lost * sizeof(*r->lost));
	h->feed->changed = r->text ? r : NULL;
	h->feed->anew = r->text != NULL;
	if (session_open(&s, record_path(h->super->record), err) < 0)
		return -1;
	int rc = feed_new(&f, s, FEED_ALL, 0, err);
	while (rc == 0 && (rc = feed_next(f, &ev, &a, r->until_seq, err)) == 1) {
		rc = ev.kind == EV_HOST_FRAME && ev.cause == r->start_seq
			     ? luahost_feed_send_recorded(h, s, &ev, err)
			     : 0;
		arena_reset(&a);
	}
	feed_free(&f);
	session_close(&s);
	h->feed->changed = NULL;
	if (rc == 0 && h->ordinal == 0)
		rc = err_set(err, ERR_NOENT, "the recording contains no run of the script");
	return rc;
}

bool feed_frame(struct host *h, uint16_t type, uint64_t id, const json_t *body)
{
	struct host_feed *f = h->feed;
	if (type == HOST_CALL) {
		for (size_t i = 0; i < f->nr_answered; i++)
			if (f->answered[i] == id) {
				if (f->anew)
					h->super->host_calls->note(h, h->super, id, body);
				return true;
			}
		GROW(f->call, f->nr, f->cap);
		f->call[f->nr++] =
			(struct fed_call){ .id = id,
					   .body = json_incref((json_t *)(uintptr_t)body) };
		return true;
	}
	const char *op = json_str(body, "op", "");
	if (type != HOST_TELL || !strcmp(op, "observe") || !strcmp(op, "secret"))
		return false;
	if (h->turns + 1 < h->ordinal)
		return true;
	return f->told ? f->told-- > 0 : false;
}

static bool was_lost(const struct host_feed *f, uint64_t call)
{
	for (size_t i = 0; i < f->nr_lost; i++)
		if (f->lost[i] == call)
			return true;
	return false;
}

void feed_caught_up(struct host *h)
{
	struct host_feed *f = h->feed;
	h->feed = NULL;
	f->caught_up(f->self);
	for (size_t i = 0; i < f->nr && !h->ended; i++) {
		if (was_lost(f, f->call[i].id)) {
			json_t *e = json_object();
			json_put_str(e, "code", "interrupted");
			json_put_str(
				e, "msg",
				"interrupted: it had begun when the session broke off, and how it ended is not known");
			luahost_answer(h, f->call[i].id, NULL, e);
		} else {
			h->super->host_calls->begin(h, h->super, f->call[i].id, f->call[i].body);
		}
	}
	h->feed = f;
	feed_free_calls(h);
}
