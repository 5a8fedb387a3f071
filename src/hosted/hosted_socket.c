/* WebSockets of plugins that rent out boxes: as requests are, to hosts that they declare and with
 * keys put in here. */
#include <stdlib.h>
#include <string.h>

#include "hosted/hosted_plugin_priv.h"
#include "supervisor/core/core.h"
#include "base/clock.h"
#include "http/websock.h"

struct socket {
	struct socket *next;
	struct remote_op *op;
	int64_t id, began_us;
	char *url;
	struct websock *ws;
	int64_t bytes;
};

static void socket_free(struct socket *k)
{
	for (struct socket **p = &k->op->sockets; *p; p = &(*p)->next)
		if (*p == k) {
			*p = k->next;
			break;
		}
	websock_free(&k->ws);
	free(k->url);
	free(k);
}

void sockets_end(struct remote_op *op)
{
	while (op->sockets)
		socket_free(op->sockets);
}

void sockets_pause(struct remote_op *op, bool paused)
{
	for (struct socket *k = op->sockets; k; k = k->next)
		websock_pause(k->ws, paused);
}

static void hosted_socket_note(const struct socket *k, int status, const char *why)
{
	const struct call_note n = { .fn = k->op->fn,
				     .method = "GET",
				     .url = k->url,
				     .status = status,
				     .why = why,
				     .bytes = k->bytes,
				     .took_us = clock_mono_us() - k->began_us,
				     .tries = 1 };
	hosted_plugin_note(k->op->lessor, k->op->box, &n);
}

static json_t *hosted_socket_event_of(const struct socket *k)
{
	json_t *ev = json_object();
	json_put_int(ev, "id", k->id);
	return ev;
}

static void hosted_socket_on_open(void *self, const char *protocol)
{
	struct socket *k = self;
	json_t *ev = hosted_socket_event_of(k);
	json_put_str(ev, "open", protocol);
	op_event(k->op, ev, 0);
}

static void hosted_socket_on_message(void *self, bool text, const void *bytes, size_t len)
{
	struct socket *k = self;
	json_t *ev = hosted_socket_event_of(k);
	(void)text;
	k->bytes += (int64_t)len;
	json_put_bytes(ev, "message", bytes, len);
	op_event(k->op, ev, len); /* may end us: nothing after this */
}

static void hosted_socket_on_end(void *self, const struct websock_end *end)
{
	struct socket *k = self;
	struct remote_op *op = k->op;
	json_t *ev = hosted_socket_event_of(k);
	hosted_socket_note(k, end->status, end->text);
	json_put_flag(ev, "over", true);
	if (end->status)
		json_put_int(ev, "status", end->status);
	if (end->code)
		json_put_int(ev, "closed", end->code);
	json_put_bytes(ev, "body", end->body, end->body_len);
	if (end->how != HTTP_OK) {
		json_put_str(ev, "wrong", end->text);
		json_put_flag(ev, "unreached", end->how == HTTP_UNREACHED);
		if (end->how == HTTP_TLS || end->how == HTTP_REFUSED)
			json_put_str(ev, "code", "bad");
	}
	socket_free(k);
	op_event(op, ev, 0);
}

static void hosted_socket_refuse(struct socket *k, const char *why)
{
	struct remote_op *op = k->op;
	json_t *ev = hosted_socket_event_of(k);
	hosted_socket_note(k, 0, why);
	json_put_flag(ev, "over", true);
	json_put_str(ev, "wrong", why);
	json_put_str(ev, "code", "bad");
	socket_free(k);
	op_event(op, ev, 0);
}

void socket_begin(struct remote_op *op, const json_t *todo)
{
	struct socket *k = NEW(struct socket);
	struct err err = ERR_INIT;
	struct strv headers = STRV_INIT;
	*k = (struct socket){ .next = op->sockets,
			      .op = op,
			      .id = json_int(todo, "id", 0),
			      .began_us = clock_mono_us(),
			      .url = op_url(op, todo) };
	op->sockets = k;
	bool filled = op_headers(op, todo, &headers);
	if (filled && lessor_may(op->lessor, k->url, &err) == 0) {
		const struct websock_request r = { .url = k->url,
						   .unix_socket = login_socket(op->lessor, k->url),
						   .headers = (const char *const *)headers.item,
						   .protocols = json_str(todo, "protocols", NULL),
						   .idle_us = json_int(todo, "idle", 0) * 1000000 };
		const struct websock_handler handler = { .open = hosted_socket_on_open,
							 .message = hosted_socket_on_message,
							 .end = hosted_socket_on_end,
							 .self = k };
		k->ws = websock_open(op->lessor->rent->http, &r, &handler);
	}
	headers_release(&headers);
	if (!k->ws)
		hosted_socket_refuse(k, filled ? err.text
					       : "a credential that a header names is not there");
}

void socket_send(struct remote_op *op, const json_t *todo)
{
	CLEANUP(buf_release) struct buf bytes = BUF_INIT;
	bool shut = json_flag(todo, "close", false);
	for (struct socket *k = op->sockets; k; k = k->next) {
		if (k->id != json_int(todo, "to", 0))
			continue;
		if (!shut && json_get_bytes(json_object_get(todo, "data"), &bytes))
			websock_send(k->ws, json_flag(todo, "text", false), bytes.data, bytes.len);
		if (shut) {
			hosted_socket_note(k, 101, NULL);
			socket_free(k);
		}
		return; /* one that is gone already has said so */
	}
}
