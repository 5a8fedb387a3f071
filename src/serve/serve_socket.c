#include "serve/serve_priv.h"

#include "base/mem.h"

/* HEARD_EACH: what a message costs beside its bytes, be it empty. */
enum {
	HEARD_MAX = 1 << 20,
	HEARD_EACH = 256,
	SAID_MAX = 256 << 10,
	CLOSE_NORMAL = 1000,
	CLOSE_WRONG = 1011,
	CLOSE_LONG = 1009
};

/* No client is left to receive the rest. */
static void not_heard(struct ask *a, const char *why)
{
	websock_server_close(&a->door, CLOSE_WRONG, why);
	if (a->call)
		mcp_session_cancel(a->s->session, a->call);
	serve_leave(a);
}

/* Passes on the client's messages, one after the other. */
static void say_next(struct ask *a)
{
	struct err err = ERR_INIT;
	if (a->saying || !json_array_size(a->heard))
		return;
	json_t *args = json_incref(json_array_get(a->heard, 0));
	json_array_remove(a->heard, 0);
	a->heard_bytes -= (size_t)json_int(args, "size", 0) + HEARD_EACH;
	json_put_int(args, "stream", a->stream);
	a->saying = mcp_session_call(a->s->session, "said", args, "serve", &err);
	json_decref(args);
	if (!a->saying) { /* what follows would be heard without it */
		not_heard(a, err.text);
		return;
	}
	websock_server_pause(a->door, a->heard_bytes > HEARD_MAX);
}

static void serve_socket_on_message(void *self, bool text, const void *bytes, size_t len)
{
	struct ask *a = self;
	if (len > SAID_MAX) {
		websock_server_close(&a->door, CLOSE_LONG, "a message may have 256 KiB here");
		serve_leave(a);
		return;
	}
	json_t *args = json_object();
	json_put_flag(args, "text", text);
	json_put_int(args, "size", (int64_t)len);
	json_put_bytes(args, "body", len ? bytes : "", len);
	json_array_append_new(a->heard, args);
	a->heard_bytes += len + HEARD_EACH;
	websock_server_pause(a->door, a->heard_bytes > HEARD_MAX);
	say_next(a);
}

static void serve_socket_on_drained(void *self)
{
	serve_want_more(self);
}

static void serve_socket_on_gone(void *self)
{
	struct ask *a = self;
	if (a->call)
		mcp_session_cancel(a->s->session, a->call);
	serve_leave(a);
}

void serve_socket_open(struct ask *a, const json_t *answer)
{
	static const struct websock_door_ops ops = { .message = serve_socket_on_message,
						     .drained = serve_socket_on_drained,
						     .gone = serve_socket_on_gone };
	a->door = websock_server_open(a->s->loop, a->visit, json_str(answer, "protocol", NULL),
				      &ops, a);
	a->visit = NULL;
	if (!a->door) {
		serve_leave(a);
		return;
	}
	a->heard = json_array();
	serve_want_more(a);
}

static void serve_socket_on_piece(struct ask *a, const json_t *answer)
{
	CLEANUP(buf_release) struct buf body = BUF_INIT;
	if (answer && json_get_bytes(json_object_get(answer, "body"), &body))
		websock_server_send(a->door, json_flag(answer, "text", false), buf_cstr(&body),
				    body.len);
	if (answer && !json_flag(answer, "over", false)) {
		serve_want_more(a);
		return;
	}
	bool broken = !answer || json_flag(answer, "broken", false);
	websock_server_close(&a->door,
			     (int)json_int(answer, "code", broken ? CLOSE_WRONG : CLOSE_NORMAL),
			     json_str(answer, "reason", ""));
	serve_ask_free(a);
}

void serve_socket_answer(struct ask *a, uint64_t nr, const json_t *answer)
{
	if (nr == a->call) {
		a->call = 0;
		serve_socket_on_piece(a, answer);
		return;
	}
	a->saying = 0;
	if (!answer || json_str(answer, "wrong", NULL)) {
		not_heard(a,
			  answer ? json_str(answer, "wrong", "") : "the session did not accept it");
		return;
	}
	say_next(a);
}
