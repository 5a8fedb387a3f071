/* Shared by the three parts of the supervisor's end of the control socket: the socket and the news
 * (server.c), who is at the other side of a connection (server_client.c), what a client asks for
 * (server_command.c). */
#ifndef CONTROL_SERVER_PRIV_H
#define CONTROL_SERVER_PRIV_H

#include "control/server.h"
#include "control/share.h"
#include "loop/stream.h"
#include "wire/control.h"

enum { PUSH_BEHIND = 64 << 10 }; /* who has this much unread gets no news until he has read on */

struct client {
	struct control_server *server;
	struct stream *stream;
	uint64_t id;
	uid_t uid;
	pid_t pid;
	json_t *who; /* NULL before HELLO */
	bool watch, stays, leaving;
	bool guest;	   /* of the group that the session is shared with */
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
/* --- server_client.c --- */

/* Takes @body; a body longer than a frame becomes an error. */
void client_send(struct client *c, enum control_type type, uint64_t id, json_t *body);
/* First frame of a client: its claimed identity, and its rights. */
void client_hello(struct client *c, const json_t *hello);
bool client_may(const struct client *c, const struct command *cmd);
/* Says why, and closes once that is read. @fix may be NULL. */
void client_bye(struct client *c, const char *why, const char *fix);
/* At once; @why is recorded of one that could act. */
void client_free(struct client *c, const char *why);
/* The present state. Returns owned. */
json_t *server_state(struct control_server *s);
/* Records an event about @c; takes @body. Returns its seq, 0 if nobody records. */
uint64_t server_keep(struct control_server *s, const struct client *c, enum event_kind kind,
		     json_t *body);
/* Timer of the next two: those who never introduce themselves, and those who do not read, are sent
 * away. @self: the server. */
void server_sweep(void *self);
void server_watch_clients(struct control_server *s);

/* --- server_command.c --- */

void client_command(struct client *c, uint64_t frame, const json_t *body);
void client_forget_tickets(struct control_server *s, uint64_t client);

#endif
