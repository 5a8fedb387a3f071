#include "control/client.h"

#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "control/socket.h"
#include "wire/control.h"
#include "wire/frame.h"

struct control_client {
	int sock;
	const struct control_client_ops *ops;
	void *self;
	struct buf in, out;
	size_t sent; /* of out */
	json_t *welcome;
	uint64_t last_id;
	bool dead;
	bool opening;	/* news that comes on the heels of WELCOME becomes part of it */
	struct err why; /* what BYE said */
	struct loop_fd *watch;
	struct loop *loop;
	/* control_client_call waits for this one */
	uint64_t call_id;
	json_t *call_reply;
	unsigned depth; /* callbacks under way */
	bool freed;
};

static const struct control_client_ops no_ops;

static void really_free(struct control_client *c)
{
	fd_close(&c->sock);
	buf_release(&c->in);
	buf_release(&c->out);
	json_decref(c->welcome);
	json_decref(c->call_reply);
	free(c);
}

static void control_client_unwatch(struct control_client *c)
{
	loop_fd_free(&c->watch);
	c->loop = NULL;
}

void control_client_free(struct control_client **cp)
{
	struct control_client *c = *cp;
	*cp = NULL;
	if (!c)
		return;
	control_client_unwatch(c);
	if (c->depth)
		c->freed = true;
	else
		really_free(c);
}

static void queue_json(struct control_client *c, enum control_type type, uint64_t id, json_t *body)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	json_dump_buf(body, &b);
	json_decref(body);
	if (!c->dead)
		frame_append(&c->out, (uint16_t)type, id, b.data, b.len);
}

/* --- in and out -------------------------------------------------------------------------------
 */

static int control_client_write_some(struct control_client *c, struct err *err)
{
	while (c->sent < c->out.len) {
		ssize_t n = send(c->sock, c->out.data + c->sent, c->out.len - c->sent,
				 MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return 0;
		if (n < 0)
			return err_sys(err, "connection to the supervisor lost");
		c->sent += (size_t)n;
	}
	buf_reset(&c->out);
	c->sent = 0;
	return 0;
}

static int control_client_read_some(struct control_client *c, struct err *err)
{
	/* few: keys of the terminal are read between two pumps */
	for (int round = 0; round < 4; round++) {
		buf_reserve(&c->in, 65536);
		ssize_t n = recv(c->sock, c->in.data + c->in.len, 65536, MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return 0;
		if (n < 0)
			return err_sys(err, "connection to the supervisor lost");
		if (n == 0)
			return err_set(err, ERR_CLOSED, "the supervisor has ended");
		c->in.len += (size_t)n;
		c->in.data[c->in.len] = 0;
	}
	return 0;
}

static void control_client_on_reply(struct control_client *c, uint64_t id, json_t *body)
{
	struct err err = ERR_INIT;
	json_t *result = NULL;
	if (id == c->call_id) {
		c->call_reply = json_incref(body);
		c->call_id = 0;
		return;
	}
	if (!c->ops->reply)
		return;
	if (control_reply_read(body, &result, &err) < 0)
		c->ops->reply(c->self, id, NULL, &err);
	else
		c->ops->reply(c->self, id, result, NULL);
}

static void on_bye(struct control_client *c, const json_t *body)
{
	const char *fix = json_str(body, "fix", "");
	err_set(&c->why, ERR_CLOSED, "%s%s%s",
		json_str(body, "why", "the supervisor closed the connection"), *fix ? ": " : "",
		fix);
	if (!c->welcome && json_int(body, "version", 0) > 0)
		c->why.code = ERR_UNSUPPORTED;
}

static void control_client_on_frame(struct control_client *c, const struct frame *f, json_t *body)
{
	switch ((enum control_type)f->type) {
	case CONTROL_WELCOME:
		if (!c->welcome)
			c->welcome = json_incref(body);
		break;
	case CONTROL_REPLY:
		control_client_on_reply(c, f->id, body);
		break;
	case CONTROL_HEAD:
		if (c->opening && c->welcome)
			json_object_set(c->welcome, "head", json_object_get(body, "head"));
		else if (c->ops->head)
			c->ops->head(c->self, (uint64_t)json_int(body, "head", 0));
		break;
	case CONTROL_STATE:
		if (c->opening && c->welcome)
			json_object_set(c->welcome, "state", body);
		else if (c->ops->state)
			c->ops->state(c->self, body);
		break;
	case CONTROL_BYE:
		on_bye(c, body);
		break;
	case CONTROL_PING:
		queue_json(c, CONTROL_PONG, f->id, json_object());
		break;
	case CONTROL_HELLO:
	case CONTROL_COMMAND:
	case CONTROL_PONG:
	case CONTROL_TTY_OUT: /* before JSON is looked for */
	case CONTROL_TTY_IN:
		break;
	}
	/* numbers of a newer supervisor fall through: rule 9 */
}

static int control_client_deliver(struct control_client *c, struct err *err)
{
	size_t at = 0, used;
	struct frame f;
	int rc = 0;
	while (!c->freed && (rc = frame_parse(c->in.data + at, c->in.len - at, CONTROL_MAX_BODY, &f,
					      &used, err)) > 0) {
		at += used;
		if (f.type == CONTROL_TTY_OUT) {
			if (c->ops->tty)
				c->ops->tty(c->self, f.id, f.body, f.len);
			continue;
		}
		json_t *body = json_parse(f.body, f.len, "control frame", err);
		if (!json_is_object(body)) {
			rc = body ? err_set(err, ERR_PARSE,
					    "expected a JSON object from the supervisor")
				  : -1;
			json_decref(body);
			break;
		}
		control_client_on_frame(c, &f, body);
		json_decref(body);
	}
	buf_drop(&c->in, at);
	return rc < 0 ? -1 : 0;
}

static void control_client_die(struct control_client *c, const struct err *err)
{
	c->dead = true;
	loop_fd_free(&c->watch);
	if (c->why.code == ERR_NONE)
		c->why = *err;
	if (c->ops->closed)
		c->ops->closed(c->self, &c->why);
}

static void on_loop(void *self, int fd, unsigned events)
{
	(void)fd;
	(void)events;
	control_client_pump(self);
}

static void watch_again(struct control_client *c)
{
	if (c->watch)
		loop_fd_events(c->watch, LOOP_READ | (c->out.len ? (unsigned)LOOP_WRITE : 0U));
}

bool control_client_pump(struct control_client *c)
{
	struct err err = ERR_INIT, read_err = ERR_INIT;
	if (c->dead)
		return false;
	c->depth++;
	/* what came before the end counts, also when it ended */
	int end = control_client_read_some(c, &read_err);
	if (control_client_deliver(c, &err) < 0)
		end = -1;
	else if (end < 0)
		err = read_err;
	if (!c->freed && end == 0)
		end = control_client_write_some(c, &err);
	if (!c->freed && end < 0)
		control_client_die(c, &err);
	c->depth--;
	if (c->freed) {
		if (!c->depth)
			really_free(c);
		return false;
	}
	watch_again(c);
	return !c->dead;
}

void control_client_watch(struct control_client *c, struct loop *l)
{
	if (c->dead)
		return;
	c->loop = l;
	c->watch = loop_fd_new(l, c->sock, LOOP_READ, on_loop, c);
	watch_again(c);
}

int control_client_fd(const struct control_client *c)
{
	return c->sock;
}

bool control_client_wants_write(const struct control_client *c)
{
	return c->out.len > 0;
}

bool control_client_alive(const struct control_client *c)
{
	return !c->dead;
}

/* --- calls ------------------------------------------------------------------------------------
 */

/* Pumps until @done says true. */
static int pump_until(struct control_client *c, bool (*done)(const struct control_client *c),
		      int timeout_ms, struct err *err)
{
	int64_t end = clock_mono_us() + (int64_t)timeout_ms * 1000;
	while (!done(c)) {
		int left = -1;
		if (timeout_ms >= 0) {
			int64_t us = end - clock_mono_us();
			if (us <= 0)
				return err_set(err, ERR_TIMEOUT, "no answer from the supervisor");
			left = (int)((us + 999) / 1000);
		}
		struct pollfd p = { .fd = c->sock,
				    .events = (short)(POLLIN | (c->out.len ? POLLOUT : 0)) };
		if (poll(&p, 1, left) < 0 && errno != EINTR)
			return err_sys(err, "can't wait for the supervisor");
		if (!control_client_pump(c) && !done(c)) {
			*err = c->why;
			return -1;
		}
	}
	return 0;
}

static bool control_client_welcomed(const struct control_client *c)
{
	return c->welcome != NULL;
}

static bool control_client_replied(const struct control_client *c)
{
	return c->call_id == 0;
}

static json_t *control_client_hello(const struct control_client_opts *o)
{
	char tty[256] = "";
	const char *named = getenv("SANDGLASS_USER"); /* the setting `user` */
	const struct passwd *pw = o->name ? NULL : getpwuid(getuid());
	if (!o->tty && (!isatty(0) || ttyname_r(0, tty, sizeof(tty)) != 0))
		tty[0] = 0;
	json_t *j = control_hello(o->program ? o->program : "sandglass " SANDGLASS_VERSION,
				  o->name	    ? o->name
				  : named && *named ? named
				  : pw		    ? pw->pw_name
						    : "",
				  o->tty ? o->tty : tty, o->watch);
	json_put_flag(j, "stays", o->stays);
	return j;
}

/* Over a connected stream socket, which it takes, also after a failure. */
static int control_client_open_fd(struct control_client **out, int sock,
				  const struct control_client_opts *opts,
				  const struct control_client_ops *ops, void *self, struct err *err)
{
	struct control_client_opts o = opts ? *opts : (struct control_client_opts){ 0 };
	struct control_client *c = NEW(struct control_client);
	c->sock = sock;
	c->ops = ops ? ops : &no_ops;
	c->self = self;
	queue_json(c, CONTROL_HELLO, 0, control_client_hello(&o));
	/* a refusal at the door is this call's error, not a callback */
	const struct control_client_ops *later = c->ops;
	c->ops = &no_ops;
	c->opening = true;
	int rc = control_client_write_some(c, err);
	if (rc == 0)
		rc = pump_until(c, control_client_welcomed, o.timeout_ms ? o.timeout_ms : 3000,
				err);
	c->ops = later;
	c->opening = false;
	if (rc < 0) {
		really_free(c);
		return -1;
	}
	*out = c;
	return 0;
}

int control_client_open(struct control_client **out, const char *path,
			const struct control_client_opts *o, const struct control_client_ops *ops,
			void *self, struct err *err)
{
	int sock;
	if (control_connect(path, o && o->timeout_ms ? o->timeout_ms : 3000, &sock, err) < 0)
		return -1;
	if (control_client_open_fd(out, sock, o, ops, self, err) < 0)
		return err_wrap(err, "'%s'", path);
	return 0;
}

const json_t *control_client_welcome(const struct control_client *c)
{
	return c->welcome;
}

bool control_client_knows(const struct control_client *c, const char *command)
{
	const json_t *names = json_object_get(c->welcome, "commands");
	for (size_t i = 0; i < json_array_size(names); i++) {
		const char *name = json_string_value(json_array_get(names, i));
		if (name && !strcmp(name, command))
			return true;
	}
	return false;
}

uint64_t control_client_send(struct control_client *c, json_t *words, json_t *opts)
{
	struct err err = ERR_INIT;
	json_t *body = json_object();
	json_put(body, "words", words);
	json_put(body, "opts", opts ? opts : json_object());
	queue_json(c, CONTROL_COMMAND, ++c->last_id, body);
	if (!c->dead && control_client_write_some(c, &err) < 0)
		buf_reset(&c->out); /* the next pump sees the end and tells */
	watch_again(c);
	return c->last_id;
}

void control_client_type(struct control_client *c, uint64_t action, const void *bytes, size_t len)
{
	struct err err = ERR_INIT;
	if (c->dead)
		return;
	frame_append(&c->out, CONTROL_TTY_IN, action, bytes, len);
	if (control_client_write_some(c, &err) < 0)
		buf_reset(&c->out); /* the next pump sees the end and tells */
	watch_again(c);
}

void control_client_hear(struct control_client *c, const struct control_client_ops *ops, void *self)
{
	c->ops = ops ? ops : &no_ops;
	c->self = self;
}

int control_client_call(struct control_client *c, json_t *words, json_t *opts, int timeout_ms,
			json_t **result_out, struct err *err)
{
	json_t *result = NULL;
	if (c->dead) {
		json_decref(words);
		json_decref(opts);
		*err = c->why;
		return -1;
	}
	c->call_id = control_client_send(c, words, opts);
	if (pump_until(c, control_client_replied, timeout_ms, err) < 0) {
		c->call_id = 0; /* a late reply is an ordinary one */
		return -1;
	}
	CLEANUP(json_release) json_t *reply = take(&c->call_reply);
	if (control_reply_read(reply, &result, err) < 0)
		return -1;
	*result_out = result ? json_incref(result) : json_null();
	return 0;
}
