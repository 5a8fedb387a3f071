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
#include "control/peer_place.h"
#include "control/server_priv.h"
#include "control/socket.h"

enum {
	CLIENTS_MAX = 64,
	PUSH_MS = 17, /* 60 a second */
	/* a log-out may clear the runtime directory under a detached session */
	SOCKET_CHECK_MS = 60000,
};

/* --- news --- */

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
			client_send(c, CONTROL_HEAD, 0, o);
			c->head = s->head;
		}
		if (c->state_behind) {
			if (!state)
				state = server_state(s);
			client_send(c, CONTROL_STATE, 0, json_incref(state));
			c->state_behind = false;
		}
	}
	json_decref(state);
	if (behind) {
		arm_push(s, 6 * PUSH_MS);
		server_watch_clients(s);
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
/* --- the socket --- */

static void control_server_on_frame(void *self, const struct frame *f, int *fds, size_t nr_fds)
{
	struct client *c = self;
	struct err err = ERR_INIT;
	for (size_t i = 0; i < nr_fds; i++)
		close(fds[i]);
	if (c->leaving)
		return;
	if (f->type == CONTROL_TTY_IN) { /* bytes, not JSON */
		if (c->who && !c->watch && c->server->ops->typed)
			c->server->ops->typed(c->server->self, c->id, f->id, f->body, f->len);
		return;
	}
	CLEANUP(json_release) json_t *body = json_parse(f->body, f->len, "control frame", &err);
	if (!json_is_object(body) || (!c->who && f->type != CONTROL_HELLO)) {
		client_bye(c, body ? "a frame makes no sense" : err.text, NULL);
		return;
	}
	if (f->type == CONTROL_HELLO)
		client_hello(c, body);
	else if (f->type == CONTROL_COMMAND)
		client_command(c, f->id, body);
	else if (f->type == CONTROL_PING)
		client_send(c, CONTROL_PONG, f->id, json_object());
	/* others: rule 9 */
}

static void control_server_on_close(void *self, const struct err *err)
{
	struct client *c = self;
	client_free(c, c->leaving ? "refused" : err ? "error" : "left");
}

static const struct stream_ops control_server_stream_ops = { .on_frame = control_server_on_frame,
							     .on_close = control_server_on_close };

static struct client *client_numbered(const struct control_server *s, uint64_t id)
{
	for (struct client *c = s->clients; c; c = c->next)
		if (c->id == id && c->who && !c->leaving)
			return c;
	return NULL;
}

size_t control_server_unread(struct control_server *s, uint64_t client)
{
	const struct client *c = client_numbered(s, client);
	return c ? stream_queued(c->stream) : 0;
}

void control_server_tty(struct control_server *s, uint64_t client, uint64_t action,
			const void *bytes, size_t len)
{
	struct client *c = client_numbered(s, client);
	if (!c)
		return;
	stream_send(c->stream, CONTROL_TTY_OUT, action, bytes, len);
	if (stream_queued(c->stream) > PUSH_BEHIND)
		server_watch_clients(s);
}

/* Our own uid and root are at home at either socket; at the shared one also who is in the group. */
static int who_is_it(const struct control_server *s, int sock, bool shared, struct client *c,
		     struct err *err)
{
	if (!shared)
		return control_peer(sock, &c->uid, &c->pid, err);
	if (control_peer_any(sock, &c->uid, &c->pid, err) < 0)
		return -1;
	c->guest = c->uid != geteuid() && c->uid != 0;
	if (c->guest && !share_member(sock, s->share.gid))
		return err_set(err, ERR_DENIED, "uid %u is not in group '%s'", c->uid,
			       s->share.group);
	return 0;
}

static void add_client(struct control_server *s, int sock, bool shared)
{
	struct err err = ERR_INIT;
	struct client *c = NEW(struct client);
	if (who_is_it(s, sock, shared, c, &err) < 0 || peer_place_check(sock, c->pid, &err) < 0) {
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
	c->stream = stream_new(s->loop, sock, CONTROL_MAX_BODY, &control_server_stream_ops, c);
	server_watch_clients(s);
	if (nr >= CLIENTS_MAX)
		client_bye(c, "too many are attached", "detach one of the others");
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
		log_warn("control socket: can't accept: %s", strerror(errno));
		/* out of descriptors: it would be readable again at once, endlessly */
		loop_fd_events(watch, 0);
		server_watch_clients(s);
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

static void control_server_on_check(void *self)
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
	s->session = mem_strdup(info->session);
	if (listen_now(s, err) < 0) {
		free(s->session);
		free(s);
		return -1;
	}
	s->program = mem_strdup(info->program);
	s->name = mem_strdup(info->name);
	s->file = mem_strdup(info->path);
	s->push = loop_timer_new(l, on_push, s);
	s->sweep = loop_timer_new(l, server_sweep, s);
	s->check = loop_timer_new(l, control_server_on_check, s);
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
	unlink(s->path); /* first, so that no client finds it */
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
			client_send(c, CONTROL_BYE, 0,
				    control_bye(why ? why : "session ended", NULL));
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
