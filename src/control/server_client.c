/* One client of the control socket: its identity, its rights, its end. */
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "control/server_priv.h"
#include "wire/event.h"

enum {
	QUEUE_MAX = 32 << 20,
	SWEEP_MS = 500,
	HELLO_MS = 5000,
};

/* --- sending --- */

void client_send(struct client *c, enum control_type type, uint64_t id, json_t *body)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	json_dump_buf(body, &b);
	json_decref(body);
	if (b.len > CONTROL_MAX_BODY) {
		struct err err = ERR_INIT;
		err_set(&err, ERR_FULL, "answer too long: %zu bytes", b.len);
		buf_reset(&b);
		json_t *e = control_reply_err(&err);
		json_dump_buf(e, &b);
		json_decref(e);
	}
	CLEANUP(buf_release) struct buf clean = BUF_INIT;
	const struct control_server *s = c->server;
	if (s->ops->clean && s->ops->clean(s->self, b.data, b.len, &clean))
		stream_send(c->stream, (uint16_t)type, id, clean.data, clean.len);
	else
		stream_send(c->stream, (uint16_t)type, id, b.data, b.len);
}

static json_t *clients_json(const struct control_server *s)
{
	json_t *all = json_array();
	for (const struct client *c = s->clients; c; c = c->next) {
		if (!c->who || c->leaving)
			continue;
		json_t *o = json_copy(c->who);
		json_put_int(o, "client", (int64_t)c->id);
		json_put_flag(o, "watch", c->watch);
		json_array_append_new(all, o);
	}
	return all;
}

json_t *server_state(struct control_server *s)
{
	json_t *state = s->ops->state ? s->ops->state(s->self) : NULL;
	if (!state)
		state = json_object();
	json_put(state, "clients", clients_json(s));
	return state;
}
void server_watch_clients(struct control_server *s)
{
	if (!s->sweep_armed)
		loop_timer_set(s->sweep, SWEEP_MS, 0);
	s->sweep_armed = true;
}

/* --- coming and going --- */

uint64_t server_keep(struct control_server *s, const struct client *c, enum event_kind kind,
		     json_t *body)
{
	if (!s->ops->record) {
		json_decref(body);
		return 0;
	}
	json_put_int(body, "client", (int64_t)c->id);
	if (c->who)
		json_put(body, "who", json_incref(c->who));
	return s->ops->record(s->self, kind, body);
}

static void tell_clients(struct control_server *s)
{
	size_t people = 0;
	for (const struct client *c = s->clients; c; c = c->next)
		people += c->who && c->stays && !c->watch && !c->leaving;
	if (s->ops->clients)
		s->ops->clients(s->self, s->nr_clients);
	if (s->ops->people)
		s->ops->people(s->self, people);
}
void client_free(struct client *c, const char *why)
{
	struct control_server *s = c->server;
	for (struct client **p = &s->clients; *p; p = &(*p)->next)
		if (*p == c) {
			*p = c->next;
			break;
		}
	client_forget_tickets(s, c->id);
	bool known = c->who != NULL;
	uint64_t id = c->id;
	if (known)
		s->nr_clients--;
	if (known && !c->watch) {
		json_t *body = json_object();
		json_put_str(body, "why", why);
		server_keep(s, c, EV_CONTROL_DETACH, body);
	}
	stream_free(&c->stream);
	json_decref(c->who);
	free(c);
	if (known) {
		if (s->ops->left)
			s->ops->left(s->self, id);
		control_server_changed(s);
		tell_clients(s);
	}
}

void client_bye(struct client *c, const char *why, const char *fix)
{
	if (c->leaving)
		return;
	client_send(c, CONTROL_BYE, 0, control_bye(why, fix));
	c->leaving = true;
	stream_close_after_flush(c->stream);
	server_watch_clients(c->server); /* if it does not read even that */
	c->since_us = loop_now_us(c->server->loop);
}

/* Those who never introduce themselves, and those who do not read. */
void server_sweep(void *self)
{
	struct control_server *s = self;
	int64_t now = loop_now_us(s->loop);
	bool again = false;
	s->sweep_armed = false;
	loop_fd_events(s->watch, LOOP_READ);
	if (s->share_watch)
		loop_fd_events(s->share_watch, LOOP_READ);
	for (struct client *c = s->clients, *next; c; c = next) {
		next = c->next;
		size_t queued = stream_queued(c->stream);
		if ((!c->who || c->leaving) && now - c->since_us > HELLO_MS * 1000LL) {
			client_free(c, "refused");
			continue;
		}
		if (queued <= CONTROL_SLOW)
			c->slow_us = 0;
		else if (!c->slow_us)
			c->slow_us = now;
		if (queued > QUEUE_MAX ||
		    (c->slow_us && now - c->slow_us > CONTROL_SLOW_MS * 1000LL)) {
			client_free(c, "slow");
			continue;
		}
		again = again || !c->who || c->leaving || queued > PUSH_BEHIND;
	}
	if (again)
		server_watch_clients(s);
}

bool client_may(const struct client *c, const struct command *cmd)
{
	return !c->guest || cmd->flags & COMMAND_LOOKS ||
	       (c->server->share.decide && cmd->flags & COMMAND_DECIDES);
}

static json_t *server_client_welcome(const struct client *c, int version)
{
	struct control_server *s = c->server;
	json_t *o = json_object(), *names = json_array();
	for (size_t i = 0; i < command_count(); i++)
		if (command_at(i)->where == COMMAND_SUPERVISOR && client_may(c, command_at(i)))
			json_array_append_new(names, json_string(command_at(i)->name));
	json_put_int(o, "version", version);
	json_put_str(o, "program", s->program);
	json_put_str(o, "session", s->session);
	json_put_str(o, "name", s->name);
	json_put(o, "path", json_bytes_z(s->file));
	json_put_int(o, "pid", getpid());
	json_put_int(o, "uid", geteuid());
	json_put_int(o, "head", (int64_t)s->head);
	json_put(o, "commands", names);
	if (c->guest)
		json_put_str(o, "role", s->share.decide ? "decide" : "watch");
	json_put(o, "state", server_state(s));
	return o;
}

static void put_claim(json_t *who, const char *key, const json_t *hello)
{
	const json_t *claim = json_object_get(hello, key);
	if (json_is_string(claim) && json_string_length(claim) <= 256)
		json_put_str(who, key, json_string_value(claim));
}

void client_hello(struct client *c, const json_t *hello)
{
	struct control_server *s = c->server;
	int version = control_agree(hello);
	if (c->who)
		return;
	if (!version) {
		bool older = json_int(hello, "version", 0) < CONTROL_MIN;
		client_bye(
			c, "no common version of the protocol",
			older ? "your program is too old for this session, use a newer one"
			      : "this session's supervisor is too old for your program, end it with its own version");
		return;
	}
	c->who = json_object();
	json_put_int(c->who, "uid", c->uid);
	json_put_int(c->who, "pid", c->pid);
	if (c->guest) {
		CLEANUP(free_ptr) char *user = share_user(c->uid);
		json_put_str(c->who, "name", user); /* what the system says, not what they say */
		json_put_str(c->who, "group", s->share.group);
	} else {
		put_claim(c->who, "name", hello);
	}
	put_claim(c->who, "tty", hello);
	c->watch = json_flag(hello, "watch", false) || (c->guest && !s->share.decide);
	c->stays = json_flag(hello, "stays", false);
	c->head = s->head;
	s->nr_clients++;
	/* looking leaves no trace: who may read the file may read it without us, too */
	if (!c->watch) {
		json_t *body = json_object();
		json_put_int(body, "version", version);
		json_put_str(body, "program", json_str(hello, "program", ""));
		server_keep(s, c, EV_CONTROL_ATTACH, body);
	}
	client_send(c, CONTROL_WELCOME, 0, server_client_welcome(c, version));
	control_server_changed(s);
	c->state_behind = false; /* WELCOME had it */
	tell_clients(s);
}
