/* The life of an action: requested -> judged -> [held -> decided] -> started -> output... -> ended
 * -> [snapshot].
 *
 * Everything an agent, a script, an inner agent, an MCP client or a user's own shell wants done
 * is one of these and passes one gate. Loop thread only. An action is owned by the gate from
 * action_submit until its done callback has returned; others keep its id (the seq of
 * action.requested) and look it up with gate_action. */
#ifndef ACTION_ACTION_H
#define ACTION_ACTION_H

#include "base/hash.h"
#include "record/record.h"

enum action_kind {
	ACT_EXEC,
	ACT_READ,
	ACT_WRITE,
	ACT_EDIT,
	ACT_CONNECT,
	ACT_MODEL,
	ACT_HOST,
	ACT_MCP,
	ACT_ASK,
	ACT_SNAPSHOT,
	ACT_ROLLBACK,
	ACT_MERGE,
	ACT_PUT,
	ACT_GET,
	ACT_SHELL,
	ACT_FETCH,
	ACT_PORT,
	ACT_KIND_NR
};
const char *action_kind_name(enum action_kind k); /* "exec" ... "fetch"; "host" for host tools */
bool action_kind_find(const char *name, enum action_kind *out);

enum action_state {
	ACTION_JUDGING, /* a `when` is being asked */
	ACTION_HELD,	/* waits for a user or a latch */
	ACTION_QUEUED,	/* may run; another one of its box comes first */
	ACTION_BARRIER, /* action.started is on its way to the disk */
	ACTION_RUNNING,
	ACTION_ENDED,
};

/* How it ended. Outcomes, not errors. */
enum action_end {
	END_OK,	    /* the effect took place; an exit status other than 0 is still OK */
	END_DENIED, /* rule or user; never started */
	END_FAILED, /* the effect could not be brought about (err has why) */
	END_TIMEOUT,
	END_CANCELLED,
	END_KILLED,
	END_INTERRUPTED, /* unknown: a process that carried it died */
	END_BUDGET,
};
const char *action_end_name(enum action_end e); /* "ok" "denied" ... */

/* A requested action. argv, path, and env may hold any bytes but NUL. */
struct action_spec {
	enum action_kind kind;
	uint64_t cause, agent, box;
	/* [{"box","name","dirs"}] of one that concerns several sandboxes, @box among them; the
	 * strictest verdict over all of them counts. dirs: as host_path. Borrowed; NULL: @box
	 * alone */
	json_t *boxes;
	uint64_t within; /* connect: the running action whose command connects; @agent is its agent.
			 * It ends with that action, doesn't stop when its agent is paused, and
			 * isn't counted in its agent's budget. 0: unknown, or none */
	uint64_t call;	 /* the script's number for the call that waits; 0 none */
	/* name a user knows it by: "shell", "run_tests", "sg.host.push"; may be NULL */
	const char *tool;
	struct strv argv; /* exec, shell, host; else empty */
	/* the text as the agent wrote it when argv is {"sh","-c",text}; else NULL */
	const char *cmdline;
	const char *cwd; /* in the box; NULL = /workspace */
	struct strv env; /* "NAME=value", additions only */
	const void *stdin_bytes;
	size_t stdin_len;
	const char *path;      /* read, write, edit, put, get: path in the box */
	const char *host_path; /* put, get, merge */
	const char *host;      /* connect, fetch: name; with @port */
	uint16_t port;
	const void *data; /* write: the new content; edit: unused */
	size_t data_len;
	/* what else the kind needs (edit old/new, model request, host tool arguments); borrowed */
	json_t *args;
	int64_t timeout_us; /* 0 = the default of the box */
	/* may change the box's files: then it is serialized in its box and snapshot after */
	bool may_write;
	bool parallel;	 /* opts out of the serialization */
	bool leaves_box; /* reaches outside: host tools, merge, get, put, connect */
	/* a user's own act (never from a script): latches and budgets let it pass, policy does
	 * not */
	bool person;
	bool hold; /* waits for a user, as if a hold filter matched it */
	/* model: its cost is not known; under a budget in dollars it asks before the first call */
	bool unpriced;
	bool tainted;	  /* follows tainted input */
	const char *said; /* what the agent said with it; may be NULL */
};

/* The request, from the body of a recorded action.requested: for policy over old sessions
 * (policy_judge), and for actions held again. A recording has no environment values and no stdin.
 * Owns its contents; release it. ERR_PARSE. */
NODISCARD int action_spec_from_json(struct action_spec *out, const json_t *requested,
				    struct err *err);
void action_spec_release(struct action_spec *s);

/* Works outside of every sandbox: host tools, fetch, MCP servers of the host. */
bool action_on_host(const struct action_spec *s);
/* fetch: "url" and "method" of its args; NULL for other kinds. Borrowed. */
const char *action_url(const struct action_spec *s);
const char *action_method(const struct action_spec *s);

struct action;
/* The answer for the caller; borrowed for the callback. */
struct action_result {
	uint64_t id;
	enum action_end end;
	/* the body of action.ended; kind specific fields in it: code, signal, bytes, oid ... */
	json_t *body;
	/* denied: the user's or the rule's text; failed: the error; may be NULL */
	const char *why;
	const char *rule; /* denied: name of the rule; may be NULL */
	bool edited;	  /* a user changed it before it ran: argv/data are in body "ran" */
};
/* "denied: REASON", of a result that is END_DENIED. */
void action_denied_err(const struct action_result *res, struct err *err);
typedef void action_done_fn(void *self, const struct action_result *res);
/* Output while it runs: the bytes that the recorder keeps (secrets replaced, also those split over
 * chunks; what could be the beginning of one comes later, at the latest before done), each stream
 * in order, nothing left out but recorded gaps. */
typedef void action_output_fn(void *self, enum record_stream s, const void *bytes, size_t len);

struct action_client {
	action_done_fn *done;
	action_output_fn *output; /* may be NULL */
	void *self;
};

/* --- Who brings it about. Drivers, models, host tools implement this; the gate calls it only
 * behind a barrier. ------ */
struct effector {
	const char *name;
	/* Optional: called when the request is judged allow, at the same time as the barrier is
	 * under way: may fork and set up, must not have an effect. */
	void (*prepare)(void *self, struct action *a);
	/* The effect. Exactly one action_ended (or action_fail) follows, now or later; output in
	 * between. */
	void (*start)(void *self, struct action *a);
	/* Asks for the end; action_ended still follows. @how: "cancel" (TERM, then KILL) or "kill".
	 * May come before start when prepared: then the preparation is thrown away and action_ended
	 * still follows. */
	void (*cancel)(void *self, struct action *a, const char *how);
	/* Optional: is what it would do still what was shown? Returns the hash of the box's tree
	 * now (null hash = unknown). */
	void (*tree)(void *self, struct action *a, struct hash *out);
	void *self;
};

uint64_t action_id(const struct action *a);
/* what runs: after an edit the edited form */
const struct action_spec *action_spec(const struct action *a);
enum action_state action_state(const struct action *a);
void *action_tag(const struct action *a); /* the effector's own pointer */
void action_set_tag(struct action *a, void *tag);
const struct hash *action_intent(const struct action *a);

/* From the effector, while RUNNING. Raw bytes: the recorder cleans them before anybody gets
 * them. */
void action_output(struct action *a, enum record_stream s, const void *bytes, size_t len);
/* Flushes the bytes of @s so far in full, also those that could start a secret; returns their
 * number as recorded. For an effect that is several commands: where one ends and the next
 * starts. */
uint64_t action_output_mark(struct action *a, enum record_stream s);
/* The time of the way into the sandbox, and of the run there; before action_ended. The rest of its
 * time is the way back. Not called: all time was spent in the sandbox. */
void action_took(struct action *a, int64_t out_us, int64_t box_us);
/* recorder behind: stop reading until it is false (poll per turn) */
bool action_flooded(const struct action *a);
/* takes @body (may be NULL) */
void action_ended(struct action *a, enum action_end end, json_t *body);
/* END_FAILED with the error's text */
void action_fail(struct action *a, const struct err *err);

#endif
