#include "app/model/tape.h"

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
	struct buf body;
	json_t *answer, *chunks;
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

static void call_free(struct tape_call *c)
{
	loop_timer_free(&c->timer);
	buf_release(&c->body);
	json_decref(c->answer);
	json_decref(c->chunks);
	free(c->path);
	free(c);
}

/* --- on the wire, recorded ---------------------------------------------------------------------------------------- */

static void clean(struct record *r, const char *bytes, size_t len, json_t *into, const char *key)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT;
	if (record_clean(r, bytes, len, &out))
		json_put_bytes(into, key, buf_cstr(&out), out.len);
	else
		json_put_bytes(into, key, bytes, len);
}

static void on_head(void *self, const struct http_head *head)
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
	json_t *chunk = json_object(), *pair = json_array();
	clean(c->tape->record, bytes, len, chunk, "b");
	json_array_append_new(pair, json_integer(now - c->last_us));
	json_array_append(pair, json_object_get(chunk, "b"));
	json_array_append_new(c->chunks, pair);
	json_decref(chunk);
	c->last_us = now;
}

static void on_data(void *self, const void *bytes, size_t len)
{
	struct tape_call *c = self;
	if (c->answer)
		keep_chunk(c, bytes, len);
	c->on.data(c->on.self, bytes, len);
}

/* What never answered is no traffic. */
static void keep_answer(struct tape_call *c, const struct http_end *end)
{
	struct err err = ERR_INIT;
	CLEANUP(buf_release) struct buf body = BUF_INIT;
	json_put(c->answer, "chunks", json_incref(c->chunks));
	json_put_str(c->answer, "end", end->how == HTTP_OK ? "eof" : "cut");
	bool held = record_clean(c->tape->record, buf_cstr(&c->body), c->body.len, &body);
	const struct buf *b = held ? &body : &c->body;
	if (cassette_add(c->tape->cassette, c->path, buf_cstr(b), b->len, json_incref(c->answer), &err) < 0)
		log_warn("%s", err.text);
}

static void on_end(void *self, const struct http_end *end)
{
	struct tape_call *c = self;
	struct http_handler on = c->on;
	if (c->answer && end->status)
		keep_answer(c, end);
	call_free(c);
	on.end(on.self, end);
}

/* --- off the cassette --------------------------------------------------------------------------------------------- */

static void played(struct tape_call *c)
{
	struct http_handler on = c->on;
	bool cut = c->entry && strcmp(json_str(c->entry, "end", "eof"), "eof") != 0;
	struct err miss = c->miss;
	struct http_end end = {
		.how = !c->entry ? HTTP_REFUSED : cut ? HTTP_CUT : HTTP_OK,
		.status = c->entry ? (int)json_int(c->entry, "status", 200) : 0,
		.bytes = c->bytes,
		.first_us = 0,
		.text = !c->entry ? miss.text : cut ? "the recorded answer was cut off here" : "",
	};
	call_free(c);
	on.end(on.self, &end);
}

static void play_head(struct tape_call *c)
{
	struct http_header header = { "content-type", json_str(c->entry, "type", "") };
	struct http_head head = { .status = (int)json_int(c->entry, "status", 200), .header = &header, .nr = 1 };
	c->headed = true;
	c->on.head(c->on.self, &head);
}

static void play(void *self);

static void next_in(struct tape_call *c)
{
	const json_t *chunk = json_array_get(json_object_get(c->entry, "chunks"), c->at);
	int64_t us = c->tape->speed && chunk ? json_integer_value(json_array_get(chunk, 0)) / c->tape->speed : 0;
	loop_timer_set(c->timer, us > 0 ? (uint64_t)us / 1000 : 0, 0);
}

static void play(void *self)
{
	struct tape_call *c = self;
	CLEANUP(buf_release) struct buf bytes = BUF_INIT;
	if (!c->entry || c->at == json_array_size(json_object_get(c->entry, "chunks"))) {
		if (c->entry && !c->headed)
			play_head(c);
		played(c);
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

/* --- both --------------------------------------------------------------------------------------------------------- */

struct tape_call *tape_send(struct tape *t, const char *path, const struct http_request *r, const struct http_handler *on)
{
	struct tape_call *c = NEW(struct tape_call);
	struct http_handler mine = { .head = on_head, .data = on_data, .end = on_end, .self = c };
	c->tape = t;
	c->on = *on;
	if (!t->cassette) {
		c->http = http_send(t->http, r, &mine);
		return c;
	}
	c->miss = ERR_INIT;
	c->entry = cassette_find(t->cassette, path, r->body, r->body_len, &c->miss);
	if (c->entry || !cassette_adds(t->cassette)) {
		c->timer = loop_timer_new(t->loop, play, c);
		next_in(c);
		return c;
	}
	c->path = xstrdup(path);
	buf_append(&c->body, r->body, r->body_len);
	c->answer = json_object();
	c->chunks = json_array();
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
	call_free(c);
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
