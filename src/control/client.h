/* The other end of the control socket: for the CLI (blocking calls), the console (a descriptor to
 * poll, no loop needed) and programs with a loop (control_client_watch). One thread at a time.
 *
 * Nothing here blocks but control_client_open and control_client_call, both with a limit. Callbacks
 * come from control_client_pump (which control_client_call uses) and never from
 * control_client_send. */
#ifndef CONTROL_CLIENT_H
#define CONTROL_CLIENT_H

#include "base/json.h"
#include "loop/loop.h"

struct control_client;

struct control_client_ops { /* all may be NULL */
	void (*reply)(void *self, uint64_t id, const json_t *result,
		      const struct err *err); /* one of the two is NULL */
	void (*head)(void *self, uint64_t seq);
	void (*state)(void *self, const json_t *state);
	/* of the terminal that it is tied to */
	void (*tty)(void *self, uint64_t action, const void *bytes, size_t len);
	/* once; the text is what the supervisor said, if it did */
	void (*closed)(void *self, const struct err *err);
};

struct control_client_opts {
	const char *program; /* NULL = "sandglass VERSION" */
	const char *name;    /* who we say we are; NULL = the user's login name */
	const char *tty;     /* NULL = the terminal of descriptor 0, if it is one */
	bool watch;	     /* look only */
	bool stays;	     /* a user sits there (console, line mode), not one command */
	int timeout_ms;	     /* to be let in; 0 = 3000 */
};

/* Connects to the socket at @path and waits for WELCOME. @o and @ops may be NULL. ERR_NOENT,
 * ERR_CLOSED (nobody there), ERR_TIMEOUT (there, but does not answer), ERR_UNSUPPORTED (no common
 * version; the text says what to do). */
NODISCARD int control_client_open(struct control_client **out, const char *path,
				  const struct control_client_opts *o,
				  const struct control_client_ops *ops, void *self,
				  struct err *err);
/* may be called inside a callback other than from _call */
void control_client_free(struct control_client **c);

/* wire/control.h rule 3; borrows */
const json_t *control_client_welcome(const struct control_client *c);
bool control_client_knows(const struct control_client *c, const char *command);
bool control_client_alive(const struct control_client *c);

/* From now on these are called instead (NULL: nobody). */
void control_client_hear(struct control_client *c, const struct control_client_ops *ops,
			 void *self);

/* Sends a command: words[] with the name first. Takes @words and @opts (NULL = none). Returns the
 * id of its reply. */
uint64_t control_client_send(struct control_client *c, json_t *words, json_t *opts);
/* The same, waiting for the reply; other callbacks may run meanwhile. Fills *result_out (owned,
 * never NULL). ERR_TIMEOUT after @timeout_ms (-1: none), ERR_CLOSED, or whatever the supervisor
 * refused with. */
NODISCARD int control_client_call(struct control_client *c, json_t *words, json_t *opts,
				  int timeout_ms, json_t **result_out, struct err *err);

/* Types @bytes at the terminal of @action (wire/control.h rule 10). Never blocks. */
void control_client_type(struct control_client *c, uint64_t action, const void *bytes, size_t len);

/* for poll: POLLIN, and POLLOUT if needed */
int control_client_fd(const struct control_client *c);
bool control_client_wants_write(const struct control_client *c);
/* Reads and writes what is possible now. false when the connection has ended (closed() was
 * called). */
bool control_client_pump(struct control_client *c);
/* Lets a loop do the pumping. Before the loop is freed: control_client_free. */
void control_client_watch(struct control_client *c, struct loop *l);

#endif
