#include "models/tape.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "record/record.h"

struct tape_call {
	struct tape *tape;
	struct http_handler on;
	struct http_call *http;
	/* recording */
	char *path;
	struct buf body, got; /* body: cleaned; got: as it came */
	json_t *answer;
	struct chunk {
		int64_t us;
		size_t len;
	} * chunk;
	size_t nr, cap;
	int64_t last_us;
	/* playing */
	const json_t *entry;
	struct loop_timer *timer;
	size_t at;
	bool headed, paused;
	uint64_t bytes;
	struct err miss;
};

bool tape_plays(const struct tape *t)
{
	return t->cassette && !cassette_adds(t->cassette);
}

static void tape_call_free(struct tape_call *c)
{
	loop_timer_free(&c->timer);
	buf_release(&c->body);
	buf_release(&c->got);
	json_decref(c->answer);
	free(c->chunk);
	free(c->path);
	free(c);
}

/* --- on the wire, recorded -------------------------------------------------------------------- */

static void tape_on_head(void *self, const struct http_head *head)
{
	struct tape_call *c = self;
	if (c->answer) {
		const char *type = http_header(head, "content-type");
		json_put_int(c->answer, "status", head->status);
		json_put_str(c->answer, "type", type ? type : "");
	}
	c->on.head(c->on.self, head);
}

static void keep_chunk(struct tape_call *c, const void *bytes, size_t len)
{
	int64_t now = loop_now_us(c->tape->loop);
	GROW(c->chunk, c->nr, c->cap);
	c->chunk[c->nr++] = (struct chunk){ .us = now - c->last_us, .len = len };
	buf_append(&c->got, bytes, len);
	c->last_us = now;
}

static void tape_on_data(void *self, const void *bytes, size_t len)
{
	struct tape_call *c = self;
	if (c->answer)
		keep_chunk(c, bytes, len);
	c->on.data(c->on.self, bytes, len);
}

static void add_pair(json_t *list, int64_t us, const void *bytes, size_t len)
{
	json_t *o = json_object(), *pair = json_array();
	json_put_bytes(o, "b", bytes, len);
	json_array_append_new(pair, json_integer(us));
	json_array_append(pair, json_object_get(o, "b"));
	json_array_append_new(list, pair);
	json_decref(o);
}

/* The answer cleaned of secrets, in the pieces in which it came; in one, if one of them lay across
 * two pieces. */
static json_t *clean_chunks(struct tape_call *c)
{
	CLEANUP(buf_release) struct buf whole = BUF_INIT, one = BUF_INIT, all = BUF_INIT;
	bool held = record_clean(c->tape->record, buf_cstr(&c->got), c->got.len, &whole);
	json_t *list = json_array();
	int64_t us = 0;
	size_t at = 0;
	for (size_t i = 0; i < c->nr; at += c->chunk[i++].len) {
		const char *bytes = buf_cstr(&c->got) + at;
		bool dirty = held && record_clean(c->tape->record, bytes, c->chunk[i].len, &one);
		add_pair(list, c->chunk[i].us, dirty ? buf_cstr(&one) : bytes,
			 dirty ? one.len : c->chunk[i].len);
		buf_append(&all, dirty ? buf_cstr(&one) : bytes,
			   held ? dirty ? one.len : c->chunk[i].len : 0);
		us += c->chunk[i].us;
	}
	if (held && (all.len != whole.len || memcmp(all.data, whole.data, whole.len) != 0)) {
		json_array_clear(list);
		add_pair(list, us, whole.data, whole.len);
	}
	return list;
}

/* A request without an answer is not recorded. */
static void keep_answer(struct tape_call *c, const struct http_end *end)
{
	struct err err = ERR_INIT;
	json_put(c->answer, "chunks", clean_chunks(c));
	json_put_str(c->answer, "end", end->how == HTTP_OK ? "eof" : "cut");
	if (cassette_add(c->tape->cassette, c->path, buf_cstr(&c->body), c->body.len,
			 json_incref(c->answer), &err) < 0)
		log_warn("%s", err.text);
}

static void tape_on_end(void *self, const struct http_end *end)
{
	struct tape_call *c = self;
	struct http_handler on = c->on;
	if (c->answer && end->status)
		keep_answer(c, end);
	tape_call_free(c);
	on.end(on.self, end);
}

/* --- off the cassette ------------------------------------------------------------------------- */

static void tape_played(struct tape_call *c)
{
	struct http_handler on = c->on;
	bool cut = c->entry && strcmp(json_str(c->entry, "end", "eof"), "eof") != 0;
	struct err miss = c->miss;
	struct http_end end = {
		.how = !c->entry ? HTTP_REFUSED
		       : cut	 ? HTTP_CUT
				 : HTTP_OK,
		.status = c->entry ? (int)json_int(c->entry, "status", 200) : 0,
		.bytes = c->bytes,
		.first_us = 0,
		.text = !c->entry ? miss.text
			: cut	  ? "the recorded answer was cut off here"
				  : "",
	};
	tape_call_free(c);
	on.end(on.self, &end);
}

static void play_head(struct tape_call *c)
{
	struct http_header header = { "content-type", json_str(c->entry, "type", "") };
	struct http_head head = { .status = (int)json_int(c->entry, "status", 200),
				  .header = &header,
				  .nr = 1 };
	c->headed = true;
	c->on.head(c->on.self, &head);
}

static void tape_play(void *self);

static void next_in(struct tape_call *c)
{
	const json_t *chunk = json_array_get(json_object_get(c->entry, "chunks"), c->at);
	int64_t us = c->tape->speed && chunk
			     ? json_integer_value(json_array_get(chunk, 0)) / c->tape->speed
			     : 0;
	loop_timer_set(c->timer, us > 0 ? (uint64_t)us / 1000 : 0, 0);
}

static void tape_play(void *self)
{
	struct tape_call *c = self;
	CLEANUP(buf_release) struct buf bytes = BUF_INIT;
	if (!c->entry || c->at == json_array_size(json_object_get(c->entry, "chunks"))) {
		if (c->entry && !c->headed)
			play_head(c);
		tape_played(c);
		return;
	}
	if (!c->headed)
		play_head(c);
	const json_t *chunk = json_array_get(json_object_get(c->entry, "chunks"), c->at++);
	json_get_bytes(json_array_get(chunk, 1), &bytes);
	c->bytes += bytes.len;
	if (!c->paused)
		next_in(c); /* before data(): that may cancel the call */
	c->on.data(c->on.self, bytes.data, bytes.len);
}

/* --- both ------------------------------------------------------------------------------------- */

struct tape_call *tape_send(struct tape *t, const char *path, const struct http_request *r,
			    const struct http_handler *on)
{
	struct tape_call *c = NEW(struct tape_call);
	struct http_handler mine = {
		.head = tape_on_head, .data = tape_on_data, .end = tape_on_end, .self = c
	};
	c->tape = t;
	c->on = *on;
	if (!t->cassette) {
		c->http = http_send(t->http, r, &mine);
		return c;
	}
	c->miss = ERR_INIT;
	/* it is known by what the cassette may hold of it */
	if (!record_clean(t->record, r->body, r->body_len, &c->body))
		buf_append(&c->body, r->body, r->body_len);
	c->entry = cassette_find(t->cassette, path, buf_cstr(&c->body), c->body.len, &c->miss);
	if (c->entry || !cassette_adds(t->cassette)) {
		c->timer = loop_timer_new(t->loop, tape_play, c);
		next_in(c);
		return c;
	}
	c->path = mem_strdup(path);
	c->answer = json_object();
	c->last_us = loop_now_us(t->loop);
	c->http = http_send(t->http, r, &mine);
	return c;
}

void tape_cancel(struct tape_call **cp)
{
	struct tape_call *c = *cp;
	*cp = NULL;
	if (!c)
		return;
	http_cancel(&c->http);
	tape_call_free(c);
}

void tape_pause(struct tape_call *c, bool paused)
{
	if (c->http) {
		http_pause(c->http, paused);
		return;
	}
	c->paused = paused;
	if (paused)
		loop_timer_stop(c->timer);
	else
		next_in(c);
}
