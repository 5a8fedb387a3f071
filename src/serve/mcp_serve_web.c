#include "serve/mcp_serve_web.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

enum {
	TICK_MS = 1000,
	/* an answer that takes longer comes as events that can be taken up again */
	EVENTS_AFTER_S = 1,
	COMMENT_S = 10, /* and if the client is too old for lone ids, it gets a sign of life */
	KEEP_S = 300,	/* what has ended stays to be fetched */
	SESSION_S = 3600,
	SESSIONS_MAX = 200,
	KEPT_MAX = 64 << 20, /* bytes of events, of all streams that have ended */
};

#define S INT64_C(1000000)

static const char *const stream_headers[] = { "Cache-Control: no-store", "X-Accel-Buffering: no",
					      NULL };

static void serve_web_random_name(char *out, size_t bytes)
{
	uint8_t raw[16];
	CLEANUP(buf_release) struct buf hex = BUF_INIT;
	random_bytes(raw, bytes);
	hex_append(&hex, raw, bytes);
	memcpy(out, hex.data, hex.len + 1);
}

/* --- streams ---------------------------------------------------------------------------------- */

static void serve_web_stream_free(struct web_stream *st)
{
	struct web *w = st->web;
	for (struct web_stream **at = &w->streams; *at; at = &(*at)->next)
		if (*at == st) {
			*at = st->next;
			break;
		}
	mcp_server_gone(w->server, &st->peer);
	for (size_t i = 0; i < st->event.nr; i++)
		w->kept -= st->event.len[i];
	strv_release(&st->event);
	json_decref(st->id);
	free(st->peer.client);
	free(st);
}

static void serve_web_put_event(struct buf *out, const struct web_stream *st, size_t nr,
				const char *text, size_t len)
{
	if (!st->modern)
		buf_printf(out, "id: %s-%zu\n", st->name, nr);
	buf_puts(out, "event: message\ndata: ");
	buf_append(out, text, len);
	buf_puts(out, "\n\n");
}

/* @nr: the last event that the client has. */
static void serve_web_begin(struct web_stream *st, size_t nr)
{
	st->begun = true;
	st->said_us = loop_now_us(st->web->loop);
	http_begin(st->visit, 200, "text/event-stream", stream_headers);
	if (!st->lone_ids || st->modern)
		return;
	CLEANUP(buf_release) struct buf first = BUF_INIT;
	buf_printf(&first, "id: %s-%zu\nretry: 1000\ndata: \n\n", st->name, nr);
	http_write(st->visit, first.data, first.len);
}

static int serve_web_status_of(const struct web_stream *st, const json_t *msg)
{
	const json_t *e = json_object_get(msg, "error");
	if (!e || !st->modern)
		return 200;
	int64_t code = json_int(e, "code", 0);
	return code == RPC_NO_METHOD ? 404 : code == RPC_INTERNAL ? 503 : 400;
}

static struct web_session *session_new(struct web *w, const char *client);

/* The answer came before anything else: one JSON object. */
static void answer_plain(struct web_stream *st, const json_t *msg, const struct buf *text)
{
	struct web_session *s = NULL;
	CLEANUP(free_ptr) char *id = NULL;
	if (st->initialize && json_object_get(msg, "result")) {
		s = session_new(st->web, st->peer.client ? st->peer.client : "mcp client");
		id = s ? mem_printf("Mcp-Session-Id: %s", s->id) : NULL;
	}
	const char *const headers[] = { "Cache-Control: no-store", id, NULL };
	if (st->initialize && json_object_get(msg, "result") && !s)
		http_reply(st->visit, 503, "text/plain", NULL, "too many sessions\n", 18);
	else
		http_reply(st->visit, serve_web_status_of(st, msg), "application/json", headers,
			   text->data, text->len);
	serve_web_stream_free(st);
}

static void serve_web_send_msg(void *self, json_t *msg, bool last)
{
	struct web_stream *st = self;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	CLEANUP(json_release) json_t *mine = msg;
	json_dump_buf(mine, &text);
	if (last && !st->begun) {
		if (st->visit)
			answer_plain(st, mine, &text);
		else
			serve_web_stream_free(st); /* it has gone before it knew an id */
		return;
	}
	if (!st->takes_events)
		return;
	if (!st->begun && st->visit)
		serve_web_begin(st, 0);
	if (!st->begun)
		return;
	CLEANUP(buf_release) struct buf event = BUF_INIT;
	serve_web_put_event(&event, st, st->event.nr + 1, text.data, text.len);
	st->said_us = loop_now_us(st->web->loop);
	if (st->visit)
		http_write(st->visit, event.data, event.len);
	if (!st->modern) {
		strv_push_bytes(&st->event, text.data, text.len);
		st->web->kept += text.len;
	}
	if (!last)
		return;
	if (st->visit)
		http_finish(st->visit);
	st->visit = NULL;
	st->ended = true;
	st->since_us = st->said_us;
	if (st->modern)
		serve_web_stream_free(st);
}

static struct web_stream *serve_web_stream_new(struct web *w, struct http_visit *v,
					       struct web_session *session, const char *version)
{
	struct web_stream *st = NEW(struct web_stream);
	*st = (struct web_stream){ .next = w->streams, .web = w, .session = session, .visit = v };
	st->peer = (struct mcp_peer){ .send = serve_web_send_msg, .self = st };
	st->peer.client = session ? mem_strdup(session->client) : NULL;
	st->lone_ids = strcmp(version, "2025-11-25") >= 0;
	st->since_us = st->said_us = loop_now_us(w->loop);
	serve_web_random_name(st->name, 8);
	w->streams = st;
	http_visit_set_tag(v, st);
	if (session)
		session->used_us = st->since_us;
	return st;
}

struct web_stream *web_stream_new(struct web *w, struct http_visit *v, struct web_session *session,
				  const struct rpc_msg *m, const struct web_how *how)
{
	struct web_stream *st = serve_web_stream_new(w, v, session, how->version);
	st->id = json_incref(m->id);
	st->modern = how->modern;
	st->initialize = how->initialize;
	st->takes_events = how->takes_events;
	return st;
}

void web_stream_listen(struct web *w, struct http_visit *v, struct web_session *session,
		       const char *version)
{
	struct web_stream *st = serve_web_stream_new(w, v, session, version);
	st->takes_events = true;
	serve_web_begin(st, 0);
	http_write(v, ":\n\n", 3);
}

bool web_stream_listens(const struct web *w, const struct web_session *session)
{
	for (const struct web_stream *st = w->streams; st; st = st->next)
		if (st->session == session && !st->id)
			return true;
	return false;
}

bool web_stream_again(struct web *w, struct http_visit *v, struct web_session *session,
		      const char *last_id)
{
	char name[17];
	size_t from = 0;
	struct web_stream *st = w->streams;
	if (sscanf(last_id, "%16[0-9a-f]-%zu", name, &from) != 2)
		return false;
	while (st &&
	       (st->session != session || st->modern || !st->begun || strcmp(st->name, name) != 0))
		st = st->next;
	if (!st || from > st->event.nr)
		return false;
	if (st->visit) /* a connection that it has given up, which has not been seen yet */
		http_finish(st->visit);
	session->used_us = loop_now_us(w->loop);
	st->visit = v;
	http_visit_set_tag(v, st);
	serve_web_begin(st, from);
	CLEANUP(buf_release) struct buf all = BUF_INIT;
	for (size_t i = from; i < st->event.nr; i++)
		serve_web_put_event(&all, st, i + 1, st->event.item[i], st->event.len[i]);
	http_write(v, all.data, all.len);
	if (st->ended) {
		http_finish(v);
		st->visit = NULL;
	}
	return true;
}

bool web_stream_open(const struct web *w, const struct web_session *session, json_t *id)
{
	for (const struct web_stream *st = w->streams; st; st = st->next)
		if (session && st->session == session && !st->ended && st->id &&
		    json_equal(st->id, id))
			return true;
	return false;
}

/* Ends it without an answer. */
static void stream_end(struct web_stream *st)
{
	if (st->visit && st->begun)
		http_finish(st->visit);
	else if (st->visit)
		http_reply(st->visit, 202, NULL, NULL, NULL, 0);
	serve_web_stream_free(st);
}

void web_note(struct web *w, struct web_session *session, const struct rpc_msg *m)
{
	for (struct web_stream *st = w->streams, *next; st; st = next) {
		next = st->next;
		if (st->session != session || !st->id || st->ended)
			continue;
		mcp_server_take_msg(w->server, &st->peer, m);
		if (!mcp_server_busy(w->server, &st->peer)) /* cancelled: there will be no answer */
			stream_end(st);
	}
}

void web_gone(struct web *w, struct http_visit *v)
{
	struct web_stream *st = http_visit_tag(v);
	(void)w;
	if (!st)
		return;
	st->visit = NULL;
	if (st->modern || !st->id)
		serve_web_stream_free(st);
}

/* --- sessions --------------------------------------------------------------------------------- */

static bool has_streams(const struct web *w, const struct web_session *s)
{
	for (const struct web_stream *st = w->streams; st; st = st->next)
		if (st->session == s && !st->ended)
			return true;
	return false;
}

/* The one that has been idle for longest; NULL: all are at work. */
static struct web_session *serve_web_oldest(struct web *w)
{
	struct web_session *old = NULL;
	for (struct web_session *s = w->sessions; s; s = s->next)
		if (!has_streams(w, s) && (!old || s->used_us < old->used_us))
			old = s;
	return old;
}

static bool is_taken(const struct web *w, const char *client)
{
	for (const struct web_session *s = w->sessions; s; s = s->next)
		if (!strcmp(s->client, client))
			return true;
	return false;
}

static struct web_session *session_new(struct web *w, const char *client)
{
	struct web_session *old = w->nr_sessions >= SESSIONS_MAX ? serve_web_oldest(w) : NULL;
	if (old)
		web_session_end(w, old);
	if (w->nr_sessions >= SESSIONS_MAX)
		return NULL;
	struct web_session *s = NEW(struct web_session);
	s->client = mem_strdup(client);
	for (unsigned n = 2; is_taken(w, s->client); n++) {
		free(s->client);
		s->client = mem_printf("%s-%u", client, n);
	}
	serve_web_random_name(s->id, 16);
	s->used_us = loop_now_us(w->loop);
	s->next = w->sessions;
	w->sessions = s;
	w->nr_sessions++;
	return s;
}

struct web_session *web_session_of(struct web *w, const char *id)
{
	for (struct web_session *s = w->sessions; s; s = s->next)
		if (!strcmp(s->id, id)) {
			s->used_us = loop_now_us(w->loop);
			return s;
		}
	return NULL;
}

void web_session_end(struct web *w, struct web_session *s)
{
	for (struct web_stream *st = w->streams, *next; st; st = next) {
		next = st->next;
		if (st->session == s)
			stream_end(st);
	}
	for (struct web_session **at = &w->sessions; *at; at = &(*at)->next)
		if (*at == s) {
			*at = s->next;
			break;
		}
	w->nr_sessions--;
	mcp_server_leave(w->server, s->client);
	free(s->client);
	free(s);
}

/* --- time ------------------------------------------------------------------------------------- */

static void serve_web_look_at(struct web_stream *st, int64_t now)
{
	int64_t quiet = now - st->said_us;
	if (st->ended && (now - st->since_us > KEEP_S * S || st->web->kept > KEPT_MAX)) {
		serve_web_stream_free(st);
	} else if (!st->visit || !st->takes_events) {
		return;
	} else if (!st->begun &&
		   quiet >= (st->lone_ids && !st->modern ? EVENTS_AFTER_S : COMMENT_S) * S) {
		serve_web_begin(st, 0);
		http_write(st->visit, ":\n\n", 3);
	} else if (st->begun && quiet >= COMMENT_S * S) {
		st->said_us = now;
		http_write(st->visit, ":\n\n", 3);
	}
}

static void on_tick(void *self)
{
	struct web *w = self;
	int64_t now = loop_now_us(w->loop);
	for (struct web_stream *st = w->streams, *next; st; st = next) {
		next = st->next;
		serve_web_look_at(st, now);
	}
	for (struct web_session *s = w->sessions, *next; s; s = next) {
		next = s->next;
		if (now - s->used_us > SESSION_S * S && !has_streams(w, s))
			web_session_end(w, s);
	}
}

void web_init(struct web *w, struct loop *l, struct mcp_server *s)
{
	*w = (struct web){ .loop = l, .server = s };
	w->tick = loop_timer_new(l, on_tick, w);
	loop_timer_set(w->tick, TICK_MS, TICK_MS);
}

void web_release(struct web *w)
{
	while (w->streams)
		serve_web_stream_free(w->streams);
	while (w->sessions) {
		struct web_session *s = w->sessions;
		w->sessions = s->next;
		free(s->client);
		free(s);
	}
	loop_timer_free(&w->tick);
}
