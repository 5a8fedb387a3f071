/* The supervisor's end of the control socket (wire/control.h): many clients, none of whom is waited
 * for.
 *
 * Loop thread only. The server knows the clients and their rights; its owner executes commands.
 * Callbacks come from the loop. */
#ifndef CONTROL_SERVER_H
#define CONTROL_SERVER_H

#include "control/registry.h"
#include "loop/loop.h"
#include "wire/event.h"

struct control_server;

/* A command that has passed the table: known, well formed, meant for the supervisor, allowed to
 * this client. */
struct control_request {
	uint64_t ticket;		 /* for the answer */
	uint64_t client;		 /* number of who asked, from 1 on */
	uint64_t cause;			 /* seq of its control.command event; 0 if it only looks */
	const struct command_line *line; /* borrowed for the call */
	json_t *who;			 /* {"uid","pid","name","tty"}; borrowed for the call */
};

struct control_ops {
	/* Exactly one control_answer or control_refuse follows, now or later. */
	void (*command)(void *self, const struct control_request *rq);
	/* The present state, for STATE and WELCOME. Returns owned; the server adds "clients".
	 * May be NULL. */
	json_t *(*state)(void *self);
	/* Keeps an event of control/events.def; takes @body, returns its seq. May be NULL
	 * (tests). */
	uint64_t (*record)(void *self, enum event_kind kind, json_t *body);
	/* If the JSON text that is to be sent holds a secret, fills @out with it cleaned and
	 * returns true. May be NULL. */
	bool (*clean)(void *self, const char *text, size_t len, struct buf *out);
	/* How many are attached now; called when it changes. May be NULL. */
	void (*clients)(void *self, size_t nr);
	/* How many users are there who see what waits and may decide it; called with clients. May
	 * be NULL. */
	void (*people)(void *self, size_t nr);
	/* @client types at the terminal of @action. May be NULL. */
	void (*typed)(void *self, uint64_t client, uint64_t action, const void *bytes, size_t len);
	/* @client has gone, for any reason, while the server still runs. May be NULL. */
	void (*left)(void *self, uint64_t client);
};

struct control_info {
	const char *program;		   /* "sandglass 0.1.0" */
	const char *session, *name, *path; /* of the session file */
};

/* Listens at RUNTIME/SESSION.sock. Copies @info. @ops and @self are borrowed. */
NODISCARD int control_server_new(struct control_server **out, struct loop *l,
				 const struct control_info *info, const struct control_ops *ops,
				 void *self, struct err *err);
/* Says goodbye with @why (NULL: "session ended"), removes the socket. Open tickets are
 * forgotten. */
void control_server_free(struct control_server **s, const char *why);
/* Lets the members of a group in as well, at the socket beside the session file (control/share.h).
 * Once. */
struct share;
NODISCARD int control_server_share(struct control_server *s, const struct share *share,
				   struct err *err);
const char *control_server_path(const struct control_server *s); /* of the socket; borrows */
size_t control_server_clients(const struct control_server *s);

/* Everything up to @seq is committed: tells all, at most 60 times a second and once a turn. */
void control_server_head(struct control_server *s, uint64_t seq);
/* The standing state has changed: tells all, with the same measure. */
void control_server_changed(struct control_server *s);

/* How many bytes @client has still to read; 0 also when it has gone. */
size_t control_server_unread(struct control_server *s, uint64_t client);
/* Sends bytes of the terminal of @action to @client. */
void control_server_tty(struct control_server *s, uint64_t client, uint64_t action,
			const void *bytes, size_t len);

/* Answers; a ticket whose client has gone is ignored. Takes @result (NULL = null). */
void control_answer(struct control_server *s, uint64_t ticket, json_t *result);
void control_refuse(struct control_server *s, uint64_t ticket, const struct err *err);

#endif
