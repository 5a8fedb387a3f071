#include "models/ask_model.h"

#include <stdlib.h>
#include <string.h>

#include "secrets/vault.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "http/retry.h"
#include "http/sse.h"
#include "loop/loop.h"

enum { ERROR_MAX = 256 << 10, WHOLE_MAX = 64 << 20, PENDING_MAX = 1 << 20 };

struct ask_model {
	struct tape *tape;
	struct providers *all;
	struct provider *provider;
	const struct ask_model_ops *ops;
	void *self;
	uint64_t id; /* of the call, for the plugin */
	struct vault *vault;
	uint64_t cause, agent;
	json_t *req, *face, *made; /* made: what the plugin wrote */
	struct loop_timer *timer;
	unsigned tries;
	int64_t paid; /* for answers that were asked for again; -1: unknown */
	/* the answer was cut by its limit in a tool call: once more with twice as much */
	bool longer;
	/* of this try */
	struct tape_call *call;
	struct sse sse;
	bool streams, asking, over, paused, full;
	struct buf whole; /* a body without a stream of events */
	json_t *events;	  /* read, not yet given to the plugin */
	size_t pending;
	struct retry_hint hint;
	struct http_end end;
	char *end_text;
};

static uint64_t last_id;

static void ask_model_send_request(struct ask_model *m);

/* --- the end ---------------------------------------------------------------------------------- */

static void ask_model_release(struct ask_model *m)
{
	tape_cancel(&m->call);
	plugin_forget(m->provider->plugin, m);
	vault_forget(m->vault, m);
	plugin_ask(m->provider->plugin, "drop", m->id, NULL, NULL, NULL);
	loop_timer_free(&m->timer);
	sse_release(&m->sse);
	buf_release(&m->whole);
	json_decref(m->req);
	json_decref(m->face);
	json_decref(m->made);
	json_decref(m->events);
	free(m->end_text);
	free(m);
}

void ask_model_cancel(struct ask_model **m)
{
	if (*m)
		ask_model_release(*m);
	*m = NULL;
}

static void ask_model_fail(struct ask_model *m, const char *code, int status, const char *text)
{
	struct buf line = BUF_INIT;
	buf_printf(&line, "%s: %s", m->provider->name, text);
	struct ask_model_failure f = { .code = code, .text = buf_cstr(&line), .status = status };
	m->ops->done(m->self, NULL, json_str(m->req, "model", ""), -1, 0, &f);
	buf_release(&line);
	ask_model_release(m);
}

static void on_wait(void *self)
{
	ask_model_send_request(self);
}

/* Again, or the end. */
static void ask_model_failed(struct ask_model *m, enum http_how how, int status, const char *code,
			     const char *text)
{
	uint32_t dice;
	struct retry_case c = { .how = how,
				.status = status,
				.hint = m->hint,
				.body = buf_cstr(&m->whole),
				.tries = ++m->tries,
				.most = (unsigned)json_int(m->provider->config, "tries", 0) };
	random_bytes(&dice, sizeof(dice));
	int64_t wait = strcmp(code, "limit") ? retry_after_us(&c, dice) : -1;
	if (wait < 0) {
		ask_model_fail(m, code, status, text);
		return;
	}
	struct ask_model_failure f = { .code = code, .text = text, .status = status };
	m->ops->again(m->self, &f, wait, m->tries);
	loop_timer_set(m->timer, (uint64_t)(wait / 1000), 0);
}

/* --- the answer ------------------------------------------------------------------------------- */

static void on_wrong(void *self, const json_t *value, const char *why)
{
	struct ask_model *m = self;
	struct buf text = BUF_INIT;
	const char *msg = json_str(value, "msg", why ? why : "an error without a text");
	bool too_long = json_flag(value, "compact", false);
	buf_printf(&text, "HTTP %d: %s", m->end.status, msg);
	ask_model_failed(m, HTTP_OK, m->end.status, too_long ? "limit" : "model", buf_cstr(&text));
	buf_release(&text);
}

static int64_t cost_of(const struct ask_model *m, const json_t *reply)
{
	return provider_cost(m->all, m->face, json_str(m->req, "model", ""),
			     json_object_get(reply, "usage"));
}

static void on_finish(void *self, const json_t *value, const char *why)
{
	struct ask_model *m = self;
	const json_t *reply = json_object_get(value, "reply"),
		     *wrong = json_object_get(value, "wrong");
	if (!value) {
		ask_model_fail(m, "model", m->end.status, why);
	} else if (reply && !m->longer && !strcmp(json_str(reply, "again", ""), "longer")) {
		m->longer = true;
		m->paid = cost_of(m, reply);
		ask_model_send_request(m);
	} else if (reply) {
		const char *model = json_str(m->req, "model", "");
		int64_t cost = cost_of(m, reply);
		m->ops->done(m->self, reply, model, cost < 0 || m->paid < 0 ? -1 : cost + m->paid,
			     provider_window(m->provider, m->face, model), NULL);
		ask_model_release(m);
	} else if (m->end.how != HTTP_OK) {
		ask_model_failed(m, m->end.how, m->end.status, "net", m->end_text);
	} else {
		bool cut = json_flag(wrong, "cut", false);
		const char *msg = json_str(wrong, "msg", "the answer makes no sense");
		int status = (int)json_int(wrong, "status", 0);
		ask_model_failed(m, cut ? HTTP_CUT : HTTP_OK, status,
				 json_flag(wrong, "compact", false) ? "limit" : "model", msg);
	}
}

static void take_end(struct ask_model *m)
{
	json_t *args = json_object();
	bool good = m->end.status >= 200 && m->end.status < 300;
	if (good) {
		if (!m->streams)
			json_put_bytes(args, "whole", buf_cstr(&m->whole), m->whole.len);
		plugin_ask(m->provider->plugin, "finish", m->id, args, on_finish, m);
	} else if (m->end.status) {
		json_put_int(args, "status", m->end.status);
		json_put_bytes(args, "text", buf_cstr(&m->whole), m->whole.len);
		plugin_ask(m->provider->plugin, "wrong", m->id, args, on_wrong, m);
	} else {
		json_decref(args);
		ask_model_failed(m, m->end.how, 0, "net", m->end_text);
	}
}

static void ask_model_pump(struct ask_model *m);

static void ask_model_on_events(void *self, const json_t *value, const char *why)
{
	struct ask_model *m = self;
	m->asking = false;
	if (!value) {
		ask_model_fail(m, "model", m->end.status, why);
		return;
	}
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	json_get_bytes(json_object_get(value, "text"), &text);
	if (text.len)
		m->ops->text(m->self, text.data, text.len);
	ask_model_pump(m);
}

static void ask_model_pump(struct ask_model *m)
{
	if (m->asking)
		return;
	if (json_array_size(m->events)) {
		json_t *args = json_object();
		json_put(args, "events", m->events);
		m->events = json_array();
		m->pending = 0;
		m->asking = true;
		if (m->paused && m->call)
			tape_pause(m->call, false);
		m->paused = false;
		plugin_ask(m->provider->plugin, "events", m->id, args, ask_model_on_events, m);
	} else if (m->over) {
		take_end(m);
	}
}

static void ask_model_on_event(void *self, const struct sse_event *ev)
{
	struct ask_model *m = self;
	json_t *e = json_object();
	json_put_str(e, "type", ev->type);
	json_put_bytes(e, "data", ev->data, ev->len);
	json_array_append_new(m->events, e);
	m->pending += ev->len;
}

static void ask_model_on_head(void *self, const struct http_head *head)
{
	struct ask_model *m = self;
	const char *type = http_header(head, "content-type");
	m->hint = retry_hint(head, clock_wall_us() / 1000000);
	m->streams =
		head->status >= 200 && head->status < 300 && type && strstr(type, "event-stream");
}

static void ask_model_on_data(void *self, const void *bytes, size_t len)
{
	struct ask_model *m = self;
	struct err err = ERR_INIT;
	m->ops->bytes(m->self, bytes, len);
	if (!m->streams) {
		if (m->whole.len + len <= WHOLE_MAX)
			buf_append(&m->whole, bytes, len);
		return;
	}
	if (sse_feed(&m->sse, bytes, len, &err) < 0)
		m->full = true;
	ask_model_pump(m);
	if (m->pending > PENDING_MAX && !m->paused) {
		m->paused = true;
		tape_pause(m->call, true);
	}
}

static void ask_model_on_end(void *self, const struct http_end *end)
{
	struct ask_model *m = self;
	m->call = NULL;
	m->end = *end;
	free(m->end_text);
	m->end_text = mem_strdup(m->full ? "an event of the answer is too large" : end->text);
	m->end.text = NULL;
	if (m->streams)
		sse_end(&m->sse);
	m->over = true;
	ask_model_pump(m);
}

/* --- the request ------------------------------------------------------------------------------ */

/* "{key}" in a header stands for the credential. */
static char *with_key(const char *header, const char *key)
{
	const char *at = strstr(header, "{key}");
	if (!at)
		return mem_strdup(header);
	return mem_printf("%.*s%s%s", (int)(at - header), header, key, at + 5);
}

static void add_headers(struct strv *out, const json_t *headers)
{
	const char *name;
	json_t *v;
	json_object_foreach((json_t *)(uintptr_t)headers, name, v)
	{
		CLEANUP(free_ptr)
		char *line =
			mem_printf("%s: %s", name, json_is_string(v) ? json_string_value(v) : "");
		if (json_is_string(v) && !strpbrk(line, "\r\n"))
			strv_push(out, line);
	}
}

static void ask_model_headers_of(struct ask_model *m, const char *key, struct strv *out)
{
	strv_push(out, "Content-Type: application/json");
	strv_push(out, "Accept: text/event-stream, application/json");
	add_headers(out, json_object_get(m->made, "headers"));
	add_headers(out, json_object_get(m->provider->config, "headers"));
	const char *auth = provider_auth(m->provider, m->face);
	if (auth && key) {
		char *line = with_key(auth, key);
		strv_push(out, line);
		explicit_bzero(line, strlen(line));
		free(line);
	}
}

static void ask_model_wipe(struct strv *v)
{
	for (size_t i = 0; i < v->nr; i++)
		explicit_bzero(v->item[i], v->len[i]);
	strv_release(v);
}

static void reset_try(struct ask_model *m)
{
	sse_release(&m->sse);
	sse_init(&m->sse, 0, ask_model_on_event, m);
	buf_reset(&m->whole);
	json_decref(m->events);
	m->events = json_array();
	m->pending = 0;
	m->streams = m->asking = m->over = m->paused = m->full = false;
	m->hint = (struct retry_hint){ .should = -1, .after_us = -1 };
	m->end = (struct http_end){ 0 };
}

/* The body is one string or a list of pieces. */
static json_t *ask_model_pieces_of(const json_t *body)
{
	if (json_is_array(body))
		return json_incref((json_t *)(uintptr_t)body);
	json_t *list = json_array();
	json_array_append(list, (json_t *)(uintptr_t)body);
	return list;
}

static void send_http(struct ask_model *m, const char *key)
{
	struct strv headers = STRV_INIT;
	CLEANUP(free_ptr) char *base = provider_url(m->provider, m->face);
	CLEANUP(free_ptr) char *url = mem_printf("%s%s", base, json_str(m->made, "path", ""));
	CLEANUP(json_release)
	json_t *pieces = ask_model_pieces_of(json_object_get(m->made, "body"));
	CLEANUP(buf_release) struct buf body = BUF_INIT;
	size_t i;
	json_t *piece;
	json_array_foreach(pieces, i, piece)
		buf_append(&body, json_is_string(piece) ? json_string_value(piece) : "",
			   json_string_length(piece));
	struct http_handler handler = { .head = ask_model_on_head,
					.data = ask_model_on_data,
					.end = ask_model_on_end,
					.self = m };
	ask_model_headers_of(m, key, &headers);
	reset_try(m);
	m->ops->sending(m->self, url, pieces);
	struct http_request r = {
		.url = url,
		.headers = (const char *const *)headers.item,
		.body = buf_cstr(&body),
		.body_len = body.len,
		.first_us = json_int(m->provider->config, "first_us", 0),
		.idle_us = json_int(m->provider->config, "idle_us", 0),
		.lines = true,
		.once = true,
	};
	m->call = tape_send(m->tape, json_str(m->made, "path", ""), &r, &handler);
	ask_model_wipe(&headers);
}

static void ask_model_on_key(void *self, const char *value, size_t len, const struct err *err)
{
	struct ask_model *m = self;
	(void)len;
	if (!value)
		ask_model_fail(m, "model", 0, err->text);
	else
		send_http(m, value);
}

static void ask_model_on_request(void *self, const json_t *made, const char *why)
{
	struct ask_model *m = self;
	if (!made) {
		ask_model_fail(m, "model", 0, why);
		return;
	}
	json_decref(m->made);
	m->made = json_incref((json_t *)(uintptr_t)made);
	CLEANUP(free_ptr) char *key = provider_key(m->provider, m->face);
	if (*key && !tape_plays(m->tape))
		vault_get(m->vault, key, "model call", m->cause, m->agent, ask_model_on_key, m);
	else
		send_http(m, NULL);
}

static void ask_model_send_request(struct ask_model *m)
{
	json_t *args = json_object();
	json_put(args, "req", json_incref(m->req));
	if (m->longer)
		json_put_str(args, "retry", "longer");
	plugin_ask(m->provider->plugin, "request", m->id, args, ask_model_on_request, m);
}

static void ask_model_on_face(void *self, const json_t *face, const char *why)
{
	struct ask_model *m = self;
	if (!face) {
		ask_model_fail(m, "model", 0, why);
		return;
	}
	m->face = json_incref((json_t *)(uintptr_t)face);
	json_put_str(m->req, "model", provider_model(face, json_str(m->req, "model", "")));
	ask_model_send_request(m);
}

struct ask_model *ask_model(const struct ask_model_env *env, struct provider *p, const json_t *req,
			    uint64_t cause, uint64_t agent, const struct ask_model_ops *ops,
			    void *self)
{
	struct ask_model *m = NEW(struct ask_model);
	m->tape = env->tape;
	m->all = env->providers;
	m->vault = env->vault;
	m->cause = cause;
	m->agent = agent;
	m->provider = p;
	m->ops = ops;
	m->self = self;
	m->id = ++last_id;
	m->req = json_copy((json_t *)(uintptr_t)req);
	m->events = json_array();
	json_put(m->req, "caps", p->caps ? json_copy(p->caps) : json_object());
	json_object_update(json_object_get(m->req, "caps"), json_object_get(p->config, "caps"));
	json_put_str(m->req, "version", json_str(p->config, "version", NULL));
	const char *name = json_str(req, "model", "");
	CLEANUP(free_ptr)
	char *bare = mem_strdup(name + strcspn(name, ":") + (strchr(name, ':') != NULL));
	json_put_str(m->req, "model", bare);
	m->timer = loop_timer_new(env->loop, on_wait, m);
	sse_init(&m->sse, 0, ask_model_on_event, m);
	plugin_face(p->plugin, ask_model_on_face, m);
	return m;
}
