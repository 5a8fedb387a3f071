/* Streamable HTTP: every message is a POST of its own; its answer is one JSON object or a stream of
 * events. In the old era a stream that ends early is taken up again with GET, as the server asked
 * by `retry:`; in the new one it is lost. */
#include <stdlib.h>
#include <string.h>

#include "mcp/transport.h"
#include "base/hash.h"
#include "base/mem.h"
#include "http/sse.h"

enum { RETRY_MS = 1000, RETRIES = 20, ERROR_TEXT = 200 };

struct web_post {
	struct web_post *next;
	struct mcp_web *web;
	struct http_call *call;
	struct loop_timer *timer;
	uint64_t id; /* of the request; 0: a note */
	int status;
	bool events, answered, modern, too_long, html;
	struct buf body;
	struct sse sse;
	char *last_id, *version;
	unsigned tries;
};

struct mcp_web {
	struct loop *loop;
	struct http *http;
	char *url, *session;
	struct strv headers;
	struct mcp_web_ops ops;
	struct web_post *posts;
	/* messages that came while libcurl was at work: nothing may be sent from there */
	struct strv inbox;
	struct loop_timer *pump;
};

static void on_pump(void *self)
{
	struct mcp_web *w = self;
	struct strv now = w->inbox;
	w->inbox = STRV_INIT;
	for (size_t i = 0; i < now.nr; i++)
		w->ops.message(w->ops.self, now.item[i], now.len[i]);
	strv_release(&now);
}

struct mcp_web *mcp_web_new(struct loop *l, struct http *h, const char *url,
			    const struct strv *headers, const struct mcp_web_ops *ops)
{
	struct mcp_web *w = NEW(struct mcp_web);
	*w = (struct mcp_web){ .loop = l, .http = h, .url = mem_strdup(url), .ops = *ops };
	w->pump = loop_timer_new(l, on_pump, w);
	if (headers)
		strv_copy(&w->headers, headers);
	return w;
}

static void post_free(struct web_post *p)
{
	for (struct web_post **at = &p->web->posts; *at; at = &(*at)->next)
		if (*at == p) {
			*at = p->next;
			break;
		}
	http_cancel(&p->call);
	loop_timer_free(&p->timer);
	buf_release(&p->body);
	sse_release(&p->sse);
	free(p->last_id);
	free(p->version);
	free(p);
}

/* --- headers ---------------------------------------------------------------------------------- */

static bool transport_http_plain_value(const char *s)
{
	size_t n = strlen(s);
	if (!n || s[0] == ' ' || s[n - 1] == ' ' || s[0] == '\t' || s[n - 1] == '\t' ||
	    !strncmp(s, "=?base64?", 9))
		return false;
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || (unsigned char)*s >= 0x7F)
			return false;
	return true;
}

static void transport_http_put_header(struct strv *out, const char *name, const char *value)
{
	CLEANUP(buf_release) struct buf h = BUF_INIT;
	buf_printf(&h, "%s: ", name);
	if (transport_http_plain_value(value)) {
		buf_puts(&h, value);
	} else {
		buf_puts(&h, "=?base64?");
		base64_append(&h, value, strlen(value));
		buf_puts(&h, "?=");
	}
	strv_push(out, buf_cstr(&h));
}

/* Arguments that the tool's schema wants to see as headers. */
static void put_params(struct strv *out, const json_t *properties, const json_t *args)
{
	const char *key;
	json_t *p;
	json_object_foreach((json_t *)(uintptr_t)properties, key, p)
	{
		const char *name = json_str(p, "x-mcp-header", NULL);
		const json_t *v = json_object_get(args, key);
		if (json_is_object(json_object_get(p, "properties")) && json_is_object(v))
			put_params(out, json_object_get(p, "properties"), v);
		if (!name || !v)
			continue;
		CLEANUP(free_ptr) char *full = mem_printf("Mcp-Param-%s", name);
		CLEANUP(free_ptr)
		char *text =
			json_is_string(v) ? mem_strdup(json_string_value(v)) : json_dump_str(v);
		if (json_is_string(v) || json_is_integer(v) || json_is_boolean(v))
			transport_http_put_header(out, full, text);
	}
}

static void transport_http_put_common(struct mcp_web *w, struct strv *out, const char *version)
{
	for (size_t i = 0; i < w->headers.nr; i++)
		strv_push(out, w->headers.item[i]);
	if (version)
		transport_http_put_header(out, "MCP-Protocol-Version", version);
	if (w->session)
		transport_http_put_header(out, "Mcp-Session-Id", w->session);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void transport_http_hand_on(struct web_post *p, const char *text, size_t len)
{
	struct rpc_msg m;
	struct err err = ERR_INIT;
	if (rpc_parse(&m, text, len, &err) == 0 && (m.kind == RPC_RESULT || m.kind == RPC_ERROR) &&
	    json_is_integer(m.id) && (uint64_t)json_integer_value(m.id) == p->id)
		p->answered = true;
	rpc_msg_release(&m);
	strv_push_bytes(&p->web->inbox, text, len);
	loop_timer_set(p->web->pump, 0, 0);
}

static bool is_whole(const char *text, size_t len)
{
	struct rpc_msg m;
	struct err err = ERR_INIT;
	int rc = rpc_parse(&m, text, len, &err);
	rpc_msg_release(&m);
	return rc == 0;
}

static void transport_http_on_event(void *self, const struct sse_event *ev)
{
	struct web_post *p = self;
	if (ev->last && !is_whole(ev->data, ev->len))
		return; /* cut off: it will come again, and its id may be half an id */
	if (*ev->id && !ev->last) {
		if (!p->last_id || strcmp(p->last_id, ev->id) != 0)
			p->tries = 0; /* it gets on */
		free(p->last_id);
		p->last_id = mem_strdup(ev->id);
	}
	if (ev->len && !strcmp(ev->type, "message"))
		transport_http_hand_on(p, ev->data, ev->len);
}

static void transport_http_on_head(void *self, const struct http_head *head)
{
	struct web_post *p = self;
	const char *type = http_header(head, "content-type"),
		   *session = http_header(head, "mcp-session-id");
	p->status = head->status;
	p->events = head->status == 200 && type && !strncasecmp(type, "text/event-stream", 17);
	p->html = type && strcasestr(type, "html");
	if (session && !p->web->session && head->status == 200 && !p->modern)
		p->web->session = mem_strdup(session);
}

static void take_up_again(void *self);

/* Its answer is longer than any may be: nothing more of it is read. */
static void transport_http_stop(struct web_post *p)
{
	if (p->too_long)
		return;
	p->too_long = true;
	http_cancel(&p->call);
	buf_release(&p->body);
	p->timer = p->timer ? p->timer : loop_timer_new(p->web->loop, take_up_again, p);
	loop_timer_set(p->timer, 0, 0);
}

static void transport_http_on_data(void *self, const void *bytes, size_t len)
{
	struct web_post *p = self;
	struct err err = ERR_INIT;
	if (p->events) {
		if (sse_feed(&p->sse, bytes, len, &err) < 0)
			transport_http_stop(p);
	} else if (p->body.len + len <= RPC_LINE_MAX) {
		buf_append(&p->body, bytes, len);
	} else {
		transport_http_stop(p);
	}
}

static void transport_http_lose(struct web_post *p, int status, const char *text)
{
	struct mcp_web *w = p->web;
	uint64_t id = p->id;
	post_free(p);
	if (id)
		w->ops.refused(w->ops.self, id, status, text);
}

/* An answer that is JSON-RPC counts, whatever its status. */
static void transport_http_take_body(struct web_post *p)
{
	struct mcp_web *w = p->web;
	struct rpc_msg m;
	struct err err = ERR_INIT;
	bool good = p->body.len && rpc_parse(&m, p->body.data, p->body.len, &err) == 0 &&
		    (m.kind == RPC_RESULT || m.kind == RPC_ERROR);
	/* it has forgotten our session, and has not looked at the request */
	if (p->status == 404 && w->session && p->id) {
		free(w->session);
		w->session = NULL;
		if (p->body.len)
			rpc_msg_release(&m);
		transport_http_lose(p, 404, "it has forgotten the session");
		return;
	}
	bool nameless = good && m.kind == RPC_ERROR && (!m.id || json_is_null(m.id));
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	if (nameless && p->id) { /* it could not even read which request this is */
		json_object_set_new(m.root, "id", json_integer((json_int_t)p->id));
		json_dump_buf(m.root, &text);
	}
	if (p->body.len)
		rpc_msg_release(&m);
	if (good && !p->answered) {
		transport_http_hand_on(p, text.len ? text.data : p->body.data,
				       text.len ? text.len : p->body.len);
	}
	if (!p->answered && p->id) {
		CLEANUP(buf_release) struct buf why = BUF_INIT;
		bool html = p->html || (p->body.len && p->body.data[0] == '<');
		if (html)
			buf_puts(&why, "an HTML page; this is not an MCP server");
		for (size_t i = 0; !html && i < p->body.len && i < ERROR_TEXT; i++)
			buf_putc(&why,
				 (unsigned char)p->body.data[i] < 0x20 ? ' ' : p->body.data[i]);
		transport_http_lose(p, p->status ? p->status : 502, buf_cstr(&why));
		return;
	}
	post_free(p);
}

static void on_http_end(void *self, const struct http_end *end)
{
	struct web_post *p = self;
	p->call = NULL;
	if (p->events && p->sse.had_data)
		sse_end(&p->sse);
	if (p->answered || (!p->id && end->how == HTTP_OK)) {
		post_free(p);
	} else if (p->id && !p->modern && (p->events || p->tries) &&
		   (p->last_id || p->sse.retry_ms >= 0) && p->tries++ < RETRIES) {
		p->timer = p->timer ? p->timer : loop_timer_new(p->web->loop, take_up_again, p);
		loop_timer_set(p->timer,
			       p->sse.retry_ms >= 0 ? (uint64_t)p->sse.retry_ms : RETRY_MS, 0);
	} else if (end->how != HTTP_OK) {
		transport_http_lose(p, 0, end->text);
	} else if (p->events) {
		transport_http_lose(p, 0, "the server has closed the stream before its answer");
	} else {
		transport_http_take_body(p);
	}
}

/* @once: it may have done something although no answer came. */
static void transport_http_send_request(struct web_post *p, const char *method,
					const struct strv *headers, const char *body, size_t len,
					bool once)
{
	const struct http_handler h = { .head = transport_http_on_head,
					.data = transport_http_on_data,
					.end = on_http_end,
					.self = p };
	const struct http_request rq = {
		.method = method,
		.url = p->web->url,
		.headers = (const char *const *)(uintptr_t)headers->item,
		.body = body,
		.body_len = len,
		.first_us = -1,
		.idle_us = -1,
		.once = once,
	};
	p->call = http_send(p->web->http, &rq, &h);
}

static void take_up_again(void *self)
{
	struct web_post *p = self;
	struct strv headers = STRV_INIT;
	if (p->too_long) {
		CLEANUP(free_ptr)
		char *text =
			mem_printf("a message of the server is longer than %d bytes", RPC_LINE_MAX);
		transport_http_lose(p, 0, text);
		return;
	}
	p->events = false;
	transport_http_put_common(p->web, &headers, p->version);
	strv_push(&headers, "Accept: text/event-stream");
	if (p->last_id)
		transport_http_put_header(&headers, "Last-Event-ID", p->last_id);
	int64_t retry = p->sse.retry_ms;
	sse_release(&p->sse);
	sse_init(&p->sse, 0, transport_http_on_event, p);
	p->sse.retry_ms = retry;
	transport_http_send_request(p, "GET", &headers, NULL, 0, false);
	strv_release(&headers);
}

void mcp_web_send(struct mcp_web *w, const struct mcp_send *m)
{
	struct web_post *p = NEW(struct web_post);
	struct strv headers = STRV_INIT;
	*p = (struct web_post){ .next = w->posts,
				.web = w,
				.id = m->id,
				.modern = m->modern,
				.version = m->version ? mem_strdup(m->version) : NULL };
	w->posts = p;
	sse_init(&p->sse, 0, transport_http_on_event, p);
	transport_http_put_common(w, &headers, m->version);
	strv_push(&headers, "Content-Type: application/json");
	strv_push(&headers, "Accept: application/json, text/event-stream");
	if (m->modern && m->method)
		transport_http_put_header(&headers, "Mcp-Method", m->method);
	if (m->modern && m->name)
		transport_http_put_header(&headers, "Mcp-Name", m->name);
	if (m->modern && m->tool)
		put_params(&headers,
			   json_object_get(json_object_get(m->tool, "inputSchema"), "properties"),
			   m->args);
	CLEANUP(free_ptr) char *text = json_dump_str(m->msg);
	transport_http_send_request(p, "POST", &headers, text, strlen(text), m->name != NULL);
	strv_release(&headers);
}

void mcp_web_drop(struct mcp_web *w, uint64_t id)
{
	for (struct web_post *p = w->posts; p; p = p->next)
		if (p->id == id) {
			post_free(p);
			return;
		}
}

void mcp_web_free(struct mcp_web **wp)
{
	struct mcp_web *w = *wp;
	*wp = NULL;
	if (!w)
		return;
	while (w->posts)
		post_free(w->posts);
	for (size_t i = 0; i < w->headers.nr; i++)
		explicit_bzero(w->headers.item[i], strlen(w->headers.item[i]));
	strv_release(&w->headers);
	strv_release(&w->inbox);
	loop_timer_free(&w->pump);
	free(w->url);
	free(w->session);
	free(w);
}
