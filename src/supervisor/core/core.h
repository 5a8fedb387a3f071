/* Shared by all parts of a session: its agents, warnings, and end. Data of one module only is not
 * here but an object of that module (parts.h). Loop thread only. */
#ifndef SUPERVISOR_CORE_CORE_H
#define SUPERVISOR_CORE_CORE_H

#include "action/gate.h"
#include "supervisor/core/super_opts.h"
#include "control/server.h"
#include "base/mem.h"
#include "record/read/session.h"
#include "sandbox/effect.h"
#include "sandbox/common/launcher_client.h"

struct box_observer;
struct call;
struct host;
struct luahost_ops;
struct super_parts;

/* An agent of the session, as the supervisor sees it. */
struct agent {
	uint64_t id; /* seq of agent.start */
	char *name;
	uint64_t parent; /* 0 = the script */
	uint64_t budget; /* 0 = the session's */
	char *say;	 /* a user's messages that wait for its next turn; may be NULL */
	bool tainted;	 /* it has read what came from outside: its actions say so to the policy */
	bool ended;
};

struct super {
	struct loop *loop;
	const struct super_opts *opts;
	struct super_parts *parts; /* objects that modules keep (parts.h) */
	struct record *record;
	struct gate *gate;
	struct vault *vault;   /* secrets by name */
	struct models *models; /* who answers for models */
	struct boxes *boxes;
	struct launcher *launcher;
	struct control_server *server;
	struct host *host; /* the script's */
	/* what hosts ask of the session (luahost.h) */
	const struct luahost_ops *host_calls;
	const struct box_observer *box_observer; /* super_box.h; never NULL */
	/* super_box_snapshot, for those below it */
	void (*box_snapshot)(struct super *s, uint64_t box, uint64_t action);
	struct agent *agent;
	size_t nr_agents, cap_agents;
	struct call *calls; /* open calls of the script */
	uint64_t session_budget;
	uint64_t start_seq;    /* of session.start: the cause of events without another */
	struct resume *resume; /* of a session that broke off; NULL for a new one */
	int background;	       /* threads that still work for boxes that may have gone */
	size_t nr_people;      /* who are attached, stay and may decide */
	/* the script has ended or was stopped: boxes close, then the loop stops */
	bool ending;
	int status; /* exit status */
	char *why;  /* one line with it; may be NULL */
};

struct agent *super_agent(struct super *s, uint64_t id); /* NULL when unknown */
struct agent *super_agent_named(struct super *s, const char *name);
/* Ends the session: the script's exit, a signal, or a command. First call wins. */
void super_end(struct super *s, int status, const char *fmt, ...) PRINTF(3, 4);
void super_warn(struct super *s, const char *fix, const char *fmt, ...) PRINTF(3, 4);
/* asks the script to unwind, or ends at once */
void super_stop(struct super *s, bool now, const char *why);
/* looks at the end of this turn whether an ending session has come to its end */
void super_maybe_finish(struct super *s);
struct agent *super_agent_add(struct super *s, uint64_t id, const char *name);

/* The session's state has changed: sends it to the attached clients. */
void super_changed(struct super *s);

#endif
