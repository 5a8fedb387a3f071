#include "control/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "control/share.h"
#include "control/socket.h"
#include "loop/stream.h"
#include "wire/control.h"
#include "wire/event.h"

enum {
	CLIENTS_MAX = 64,
	TICKETS_MAX = 4096,	/* open commands of one client, which may serve some hundred programs (app/serve) */
	PUSH_MS = 17,		/* 60 a second */
	PUSH_BEHIND = 64 << 10, /* who has this much unread gets no news until he has read on */
	QUEUE_MAX = 32 << 20,
	SWEEP_MS = 500,
	HELLO_MS = 5000,
	SOCKET_CHECK_MS = 60000, /* a log-out may clear the runtime folder under a detached session */
};

struct client {
	struct control_server *server;
	struct stream *stream;
	uint64_t id;
	uid_t uid;
	pid_t pid;
	json_t *who; /* NULL before HELLO */
	bool watch, stays, leaving;
	bool guest; /* of the group that the session is shared with */
	uint64_t head;	   /* last one told */
	bool state_behind; /* has not got the newest STATE */
	int64_t since_us;  /* connected, before HELLO */
	int64_t slow_us;   /* since when it has been slow; 0 = is not */
	size_t nr_tickets;
	struct client *next;
};

struct ticket {
	uint64_t id, client, frame;
};

struct control_server {
	struct loop *loop;
	const struct control_ops *ops;
	void *self;
	char *program, *session, *name, *file;
	char *path;
	int sock;
	struct loop_fd *watch;
	struct share share;
	char *share_path;
	int share_sock, share_said; /* share_said: share_announce's */
	struct loop_fd *share_watch;
	struct loop_timer *push, *sweep, *check;
	bool push_armed, sweep_armed;
	int64_t pushed_us;
	uint64_t head;
	struct client *clients;
	size_t nr_clients; /* that have said HELLO */
	uint64_t last_client, last_ticket;
	struct ticket *ticket;
	size_t nr_tickets, cap_tickets;
};

/* --- sending --------------------------------------------------------------------------------------------------------
 */

static void send_json(struct client *c, enum control_type type, uint64_t id, json_t *body)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	json_dump_buf(body, &b);
	json_decref(body);
	if (b.len > CONTROL_MAX_BODY) {
		struct err err = ERR_INIT;
		err_set(&err, ERR_FULL, "the answer of %zu bytes is longer than a frame may be", b.len);
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

static json_t *state_json(struct control_server *s)
{
	json_t *state = s->ops->state ? s->ops->state(s->self) : NULL;
	if (!state)
		state = json_object();
	json_put(state, "clients", clients_json(s));
	return state;
}

static void arm_sweep(struct control_server *s)
{
	if (!s->sweep_armed)
		loop_timer_set(s->sweep, SWEEP_MS, 0);
	s->sweep_armed = true;
}

static void arm_push(struct control_server *s, int64_t after_ms)
{
	if (s->push_armed)
		return;
	s->push_armed = true;
	loop_timer_set(s->push, (uint64_t)after_ms, 0);
}

static void arm_push_soon(struct control_server *s)
{
	int64_t since_ms = (loop_now_us(s->loop) - s->pushed_us) / 1000;
	arm_push(s, since_ms >= PUSH_MS ? 0 : PUSH_MS - since_ms);
}

static void on_push(void *self)
{
	struct control_server *s = self;
	json_t *state = NULL;
	bool behind = false;
	s->push_armed = false;
	s->pushed_us = loop_now_us(s->loop);
	for (struct client *c = s->clients; c; c = c->next) {
		if (!c->who || c->leaving || (c->head == s->head && !c->state_behind))
			continue;
		if (stream_queued(c->stream) > PUSH_BEHIND) {
			behind = true;
			continue;
		}
		if (c->head != s->head) {
			json_t *o = json_object();
			json_put_int(o, "head", (int64_t)s->head);
			send_json(c, CONTROL_HEAD, 0, o);
			c->head = s->head;
		}
		if (c->state_behind) {
			if (!state)
				state = state_json(s);
			send_json(c, CONTROL_STATE, 0, json_incref(state));
			c->state_behind = false;
		}
	}
	json_decref(state);
	if (behind) {
		arm_push(s, 6 * PUSH_MS);
		arm_sweep(s);
	}
}

void control_server_head(struct control_server *s, uint64_t seq)
{
	if (seq <= s->head)
		return;
	s->head = seq;
	if (s->nr_clients)
		arm_push_soon(s);
}

void control_server_changed(struct control_server *s)
{
	for (struct client *c = s->clients; c; c = c->next)
		c->state_behind = true;
	if (s->nr_clients)
		arm_push_soon(s);
}

/* --- clients come and go --------------------------------------------------------------------------------------------
 */

static uint64_t keep(struct control_server *s, const struct client *c, uint16_t kind, json_t *body)
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

static void forget_tickets(struct control_server *s, uint64_t client)
{
	size_t kept = 0;
	for (size_t i = 0; i < s->nr_tickets; i++)
		if (s->ticket[i].client != client)
			s->ticket[kept++] = s->ticket[i];
	s->nr_tickets = kept;
}

static void client_free(struct client *c, const char *why)
{
	struct control_server *s = c->server;
	for (struct client **p = &s->clients; *p; p = &(*p)->next)
		if (*p == c) {
			*p = c->next;
			break;
		}
	forget_tickets(s, c->id);
	bool known = c->who != NULL;
	if (known)
		s->nr_clients--;
	if (known && !c->watch) {
		json_t *body = json_object();
		json_put_str(body, "why", why);
		keep(s, c, EV_CONTROL_DETACH, body);
	}
	stream_free(&c->stream);
	json_decref(c->who);
	free(c);
	if (known) {
		control_server_changed(s);
		tell_clients(s);
	}
}

static void say_bye(struct client *c, const char *why, const char *fix)
{
	if (c->leaving)
		return;
	send_json(c, CONTROL_BYE, 0, control_bye(why, fix));
	c->leaving = true;
	stream_close_after_flush(c->stream);
	arm_sweep(c->server); /* if it does not read even that */
	c->since_us = loop_now_us(c->server->loop);
}

/* Those who never introduce themselves, and those who do not read. */
static void on_sweep(void *self)
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
		if (queued > QUEUE_MAX || (c->slow_us && now - c->slow_us > CONTROL_SLOW_MS * 1000LL)) {
			client_free(c, "slow");
			continue;
		}
		again = again || !c->who || c->leaving || queued > PUSH_BEHIND;
	}
	if (again)
		arm_sweep(s);
}

static bool allowed(const struct client *c, const struct command *cmd)
{
	return !c->guest || cmd->flags & COMMAND_LOOKS || (c->server->share.decide && cmd->flags & COMMAND_DECIDES);
}

static json_t *welcome(const struct client *c, int version)
{
	struct control_server *s = c->server;
	json_t *o = json_object(), *names = json_array();
	for (size_t i = 0; i < command_count(); i++)
		if (command_at(i)->where == COMMAND_SUPERVISOR && allowed(c, command_at(i)))
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
	json_put(o, "state", state_json(s));
	return o;
}

static void put_claim(json_t *who, const char *key, const json_t *hello)
{
	const json_t *claim = json_object_get(hello, key);
	if (json_is_string(claim) && json_string_length(claim) <= 256)
		json_put_str(who, key, json_string_value(claim));
}

static void on_hello(struct client *c, const json_t *hello)
{
	struct control_server *s = c->server;
	int version = control_agree(hello);
	if (c->who)
		return;
	if (!version) {
		bool older = json_int(hello, "version", 0) < CONTROL_MIN;
		say_bye(c, "no common version of the protocol",
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
	if (!c->watch) { /* looking leaves no trace: who may read the file may read it without us, too */
		json_t *body = json_object();
		json_put_int(body, "version", version);
		json_put_str(body, "program", json_str(hello, "program", ""));
		keep(s, c, EV_CONTROL_ATTACH, body);
	}
	send_json(c, CONTROL_WELCOME, 0, welcome(c, version));
	control_server_changed(s);
	c->state_behind = false; /* WELCOME had it */
	tell_clients(s);
}

/* --- commands -------------------------------------------------------------------------------------------------------
 */

enum { REFUSED_WORDS = 16, REFUSED_BYTES = 200 };

/* What was refused is whatever somebody sent: the record keeps so much of it that one can tell what it was to be. Returns owned. */
static json_t *refused_words(const json_t *words)
{
	json_t *kept = json_array();
	const json_t *first = json_array_get(words, 0);
	const struct command *command = json_is_string(first) ? command_find(json_string_value(first)) : NULL;
	for (size_t i = 0; i < json_array_size(words); i++) {
		CLEANUP(buf_release) struct buf word = BUF_INIT;
		if (i == REFUSED_WORDS) {
			json_array_append_new(kept, json_sprintf("(%zu words)", json_array_size(words)));
			break;
		}
		size_t len = json_get_bytes(json_array_get(words, i), &word) ? word.len : 0;
		if (len > REFUSED_BYTES || (i && command && command->flags & COMMAND_CARRIES))
			json_array_append_new(kept, json_sprintf("(%zu bytes)", len));
		else
			json_array_append_new(kept, json_bytes(buf_cstr(&word), len));
	}
	return kept;
}

static void refuse_frame(struct client *c, uint64_t frame, const json_t *words, const struct err *err)
{
	json_t *body = json_object();
	json_put(body, "words", refused_words(words));
	json_put_str(body, "code", err_code_name(err->code));
	json_put_str(body, "text", err->text);
	keep(c->server, c, EV_CONTROL_REFUSED, body);
	send_json(c, CONTROL_REPLY, frame, control_reply_err(err));
}

static int check(const struct client *c, const struct command_line *l, struct err *err)
{
	const char *name = l->command->name;
	if (l->command->where != COMMAND_SUPERVISOR)
		return err_set(err, ERR_USAGE, "'%s' is not for a supervisor, run it yourself: sandglass %s", name,
			       name);
	if (c->guest && !c->server->share.decide && !(l->command->flags & COMMAND_LOOKS))
		return err_set(err, ERR_DENIED, "'%s' changes something; this session is shared with group '%s' to watch", name,
			       c->server->share.group);
	if (!allowed(c, l->command))
		return err_set(err, ERR_DENIED, "'%s' is for its owner; this session is shared with group '%s' to decide what waits",
			       name, c->server->share.group);
	if (c->guest && command_has(l, "rule"))
		return err_set(err, ERR_DENIED, "rules of the project are its owner's; --session lasts as long as this session");
	if (c->watch && !(l->command->flags & COMMAND_LOOKS))
		return err_set(err, ERR_DENIED, "'%s' changes something and you only watch, attach without --watch",
			       name);
	if (c->nr_tickets >= TICKETS_MAX)
		return err_set(err, ERR_BUSY, "%d commands of yours are under way, wait for an answer", TICKETS_MAX);
	return 0;
}

/* Bytes that a command carries are recorded where they go, cleaned of secrets; in base64 nobody would find one. */
static json_t *kept_opts(const struct command_line *l)
{
	json_t *o = command_line_opts(l);
	const char *carried = command_opt(l, "base64");
	if (carried)
		json_put_int(o, "base64", (int64_t)strlen(carried));
	return o;
}

/* What a command carries to a script stands in the script's own frame. */
static json_t *kept_words(const struct command_line *l)
{
	if (!(l->command->flags & COMMAND_CARRIES))
		return command_line_words(l);
	json_t *words = json_array();
	json_array_append_new(words, json_string(l->command->name));
	for (size_t i = 0; i < l->words.nr; i++)
		json_array_append_new(words, json_sprintf("(%zu bytes)", l->words.len[i]));
	return words;
}

static void on_command(struct client *c, uint64_t frame, const json_t *body)
{
	struct control_server *s = c->server;
	struct command_line line = COMMAND_LINE_INIT;
	struct err err = ERR_INIT;
	json_t *words = json_object_get(body, "words");
	if (command_line_from_json(&line, words, json_object_get(body, "opts"), &err) < 0 ||
	    check(c, &line, &err) < 0) {
		refuse_frame(c, frame, words, &err);
		command_line_release(&line);
		return;
	}
	GROW(s->ticket, s->nr_tickets, s->cap_tickets);
	s->ticket[s->nr_tickets++] = (struct ticket){ .id = ++s->last_ticket, .client = c->id, .frame = frame };
	c->nr_tickets++;
	struct control_request rq = {
		.ticket = s->last_ticket, .client = c->id, .line = &line, .who = json_incref(c->who)
	};
	if (!(line.command->flags & COMMAND_LOOKS)) {
		json_t *o = json_object();
		json_put(o, "words", kept_words(&line));
		json_put(o, "opts", kept_opts(&line));
		rq.cause = keep(s, c, EV_CONTROL_COMMAND, o);
	}
	s->ops->command(s->self, &rq);
	json_decref(rq.who);
	command_line_release(&line);
}

static struct client *take_ticket(struct control_server *s, uint64_t id, uint64_t *frame_out)
{
	for (size_t i = 0; i < s->nr_tickets; i++) {
		if (s->ticket[i].id != id)
			continue;
		uint64_t client = s->ticket[i].client;
		*frame_out = s->ticket[i].frame;
		s->ticket[i] = s->ticket[--s->nr_tickets];
		for (struct client *c = s->clients; c; c = c->next)
			if (c->id == client) {
				c->nr_tickets--;
				return c->leaving ? NULL : c;
			}
	}
	return NULL;
}

void control_answer(struct control_server *s, uint64_t ticket, json_t *result)
{
	uint64_t frame;
	struct client *c = take_ticket(s, ticket, &frame);
	if (c)
		send_json(c, CONTROL_REPLY, frame, control_reply_ok(result));
	else
		json_decref(result);
	if (c && stream_queued(c->stream) > PUSH_BEHIND)
		arm_sweep(s);
}

void control_refuse(struct control_server *s, uint64_t ticket, const struct err *err)
{
	uint64_t frame;
	struct client *c = take_ticket(s, ticket, &frame);
	if (c)
		send_json(c, CONTROL_REPLY, frame, control_reply_err(err));
}

/* --- the socket -----------------------------------------------------------------------------------------------------
 */

static void on_frame(void *self, const struct frame *f, int *fds, size_t nr_fds)
{
	struct client *c = self;
	struct err err = ERR_INIT;
	for (size_t i = 0; i < nr_fds; i++)
		close(fds[i]);
	if (c->leaving)
		return;
	CLEANUP(json_release) json_t *body = json_parse(f->body, f->len, "control frame", &err);
	if (!json_is_object(body) || (!c->who && f->type != CONTROL_HELLO)) {
		say_bye(c, body ? "a frame makes no sense" : err.text, NULL);
		return;
	}
	if (f->type == CONTROL_HELLO)
		on_hello(c, body);
	else if (f->type == CONTROL_COMMAND)
		on_command(c, f->id, body);
	else if (f->type == CONTROL_PING)
		send_json(c, CONTROL_PONG, f->id, json_object());
	/* others: rule 9 */
}

static void on_close(void *self, const struct err *err)
{
	struct client *c = self;
	client_free(c, c->leaving ? "refused" : err ? "error" : "left");
}

static const struct stream_ops stream_ops = { .on_frame = on_frame, .on_close = on_close };

/* Our own uid and root are at home at either socket; at the shared one also who is in the group. */
static int who_is_it(const struct control_server *s, int sock, bool shared, struct client *c, struct err *err)
{
	if (!shared)
		return control_peer(sock, &c->uid, &c->pid, err);
	if (control_peer_any(sock, &c->uid, &c->pid, err) < 0)
		return -1;
	c->guest = c->uid != geteuid() && c->uid != 0;
	if (c->guest && !share_member(sock, s->share.gid))
		return err_set(err, ERR_DENIED, "uid %u is not in group '%s'", c->uid, s->share.group);
	return 0;
}

static void add_client(struct control_server *s, int sock, bool shared)
{
	struct err err = ERR_INIT;
	struct client *c = NEW(struct client);
	if (who_is_it(s, sock, shared, c, &err) < 0) {
		log_warn("control socket: %s, closed", err.text);
		close(sock);
		free(c);
		return;
	}
	size_t nr = 0;
	for (const struct client *o = s->clients; o; o = o->next)
		nr++;
	c->server = s;
	c->id = ++s->last_client;
	c->since_us = loop_now_us(s->loop);
	c->next = s->clients;
	s->clients = c;
	c->stream = stream_new(s->loop, sock, CONTROL_MAX_BODY, &stream_ops, c);
	arm_sweep(s);
	if (nr >= CLIENTS_MAX)
		say_bye(c, "too many are attached", "detach one of the others");
}

static void accept_from(struct control_server *s, int fd, struct loop_fd *watch, bool shared)
{
	for (int i = 0; i < 16; i++) {
		int sock = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (sock >= 0) {
			add_client(s, sock, shared);
			continue;
		}
		if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)
			return;
		log_warn("control socket: cannot accept: %s", strerror(errno));
		/* out of descriptors: it would be readable again at once, for ever */
		loop_fd_events(watch, 0);
		arm_sweep(s);
		return;
	}
}

static void on_connect(void *self, int fd, unsigned events)
{
	struct control_server *s = self;
	(void)events;
	accept_from(s, fd, s->watch, false);
}

static void on_connect_shared(void *self, int fd, unsigned events)
{
	struct control_server *s = self;
	(void)events;
	accept_from(s, fd, s->share_watch, true);
}

int control_server_share(struct control_server *s, const struct share *share, struct err *err)
{
	if (share_listen(s->file, share, &s->share_path, &s->share_sock, err) < 0)
		return -1;
	s->share_said = share_announce(s->file);
	s->share = *share;
	s->share_watch = loop_fd_new(s->loop, s->share_sock, LOOP_READ, on_connect_shared, s);
	return 0;
}

static int listen_now(struct control_server *s, struct err *err)
{
	char *path;
	int sock;
	if (control_listen(s->session, &path, &sock, err) < 0)
		return -1;
	loop_fd_free(&s->watch);
	fd_close(&s->sock);
	free(s->path);
	s->path = path;
	s->sock = sock;
	s->watch = loop_fd_new(s->loop, sock, LOOP_READ, on_connect, s);
	return 0;
}

static void on_check(void *self)
{
	struct control_server *s = self;
	struct stat st;
	struct err err = ERR_INIT;
	if (lstat(s->path, &st) == 0 || errno != ENOENT)
		return;
	if (listen_now(s, &err) < 0)
		log_warn("control socket: %s", err.text);
}

int control_server_new(struct control_server **out, struct loop *l, const struct control_info *info,
		       const struct control_ops *ops, void *self, struct err *err)
{
	struct control_server *s = NEW(struct control_server);
	s->loop = l;
	s->ops = ops;
	s->self = self;
	s->sock = s->share_sock = s->share_said = -1;
	s->session = xstrdup(info->session);
	if (listen_now(s, err) < 0) {
		free(s->session);
		free(s);
		return -1;
	}
	s->program = xstrdup(info->program);
	s->name = xstrdup(info->name);
	s->file = xstrdup(info->path);
	s->push = loop_timer_new(l, on_push, s);
	s->sweep = loop_timer_new(l, on_sweep, s);
	s->check = loop_timer_new(l, on_check, s);
	loop_timer_set(s->check, SOCKET_CHECK_MS, SOCKET_CHECK_MS);
	*out = s;
	return 0;
}

void control_server_free(struct control_server **sp, const char *why)
{
	struct control_server *s = *sp;
	*sp = NULL;
	if (!s)
		return;
	unlink(s->path); /* first, so that nobody finds it any more */
	if (s->share_path)
		unlink(s->share_path);
	loop_fd_free(&s->watch);
	loop_fd_free(&s->share_watch);
	fd_close(&s->sock);
	fd_close(&s->share_sock);
	fd_close(&s->share_said);
	while (s->clients) {
		struct client *c = s->clients;
		s->clients = c->next;
		if (c->who && !c->leaving)
			send_json(c, CONTROL_BYE, 0, control_bye(why ? why : "session ended", NULL));
		stream_free(&c->stream);
		json_decref(c->who);
		free(c);
	}
	loop_timer_free(&s->push);
	loop_timer_free(&s->sweep);
	loop_timer_free(&s->check);
	free(s->ticket);
	free(s->program);
	free(s->session);
	free(s->name);
	free(s->file);
	free(s->path);
	free(s->share_path);
	free(s);
}

const char *control_server_path(const struct control_server *s)
{
	return s->path;
}

size_t control_server_clients(const struct control_server *s)
{
	return s->nr_clients;
}
