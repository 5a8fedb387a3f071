/* What the supervisor's files share. super.c composes and ends; host.c speaks with the Lua host;
 * op_*.c bring about what scripts call; super_cmd.c does what people command; super_policy.c loads
 * rules. */
#ifndef SUPERVISOR_CORE_SUPER_PRIV_H
#define SUPERVISOR_CORE_SUPER_PRIV_H

#include "action/gate.h"
#include "supervisor/core/output_excerpt.h"
#include "supervisor/super.h"
#include "control/server.h"
#include "base/mem.h"
#include "record/read/session.h"
#include "sandbox/effect.h"
#include "sandbox/common/launcher_client.h"

struct host;

/* An agent of the session, as the supervisor sees it. */
struct agent {
	uint64_t id; /* seq of agent.start */
	char *name;
	uint64_t parent; /* 0 = the script */
	uint64_t budget; /* 0 = the session's */
	char *say;	 /* a person's messages that wait for its next turn; may be NULL */
	bool tainted;	 /* it has read what came from outside: its actions say so to the policy */
	bool ended;
};

struct super {
	struct loop *loop;
	const struct super_opts *opts;
	struct record *record;
	struct gate *gate;
	struct filter *notify_when; /* NULL: of everything that is held */
	struct vault *vault;	    /* secrets by name */
	struct models *models;	    /* who answers for models */
	struct boxes *boxes;
	struct rent *rent; /* src/hosted: plugins that rent out boxes */
	struct launcher *launcher;
	struct control_server *server;
	size_t nr_clients; /* people attached now */
	struct host *host; /* the script's */
	/* super_policy.c: files that are being read, hosts that answer `when` */
	struct policy_file *policies;
	loop_fn *policies_ready;
	struct added *added; /* super_added.c: a rule that waits for its commit */
	json_t *prompts;     /* of proxies, by placeholder (inside/proxy.h) */
	/* super_box.c: what the session knows of its boxes besides src/sandbox */
	struct super_box *box;
	struct agent *agent;
	size_t nr_agents, cap_agents;
	struct preview *preview;      /* preview.c */
	struct own_shell *own_shells; /* super_shell.c */
	struct redo *redo;	      /* redo.c */
	struct mcp_inbox *mcp;	      /* mcp_inbox.c; NULL while nobody asks */
	struct web *web;	      /* src/web; NULL before it is first used */
	struct otlp_live *otlp;	      /* otlp_live.c; NULL when nobody collects */
	struct box_port *box_ports;   /* box_port.c: listeners that lead into boxes */
	struct proxies *here;	      /* inside/proxy.h: for programs of this machine; NULL */
	struct mcp_hub *mcp_hub;      /* mcp_hub.c: MCP servers that the script uses; may be NULL */
	struct call *calls;	      /* open calls of the script */
	uint64_t session_budget;
	uint64_t start_seq;  /* of session.start: the cause of what has no other */
	char last_merge[33]; /* id of the newest merge back, "" = none; its event below */
	uint64_t last_merge_seq;
	struct resume *resume;	   /* of a session that broke off; NULL for a new one */
	int background;		   /* threads that still work for boxes that may have gone */
	bool keep_boxes;	   /* files of boxes stay: unmerged work, or keep was asked for */
	char *state_dir;	   /* of this session's boxes */
	struct box_states *states; /* box_state.c; NULL before it is made */
	char *hold;		   /* the filter that `hold --on` brings back; may be NULL */
	struct loop_timer *end_timer, *stand_timer;
	/* readiness.c: what is to be told when it stands; NULL = it is told */
	json_t *ready;
	size_t nr_people;  /* who are attached, stay and may decide */
	struct away *away; /* unattended.c; may be NULL */
	struct room *room; /* disk_space.c; may be NULL */
	struct loop_signal *sig[3];
	json_t *store; /* {"name":{"key":value}}, also kept in the record */
	enum record_state record_state;
	char *record_why;
	struct loop_timer *unwind_timer;
	int signalled; /* the signal that asked for the end */
	bool stopped;  /* a person asked for the end */
	/* the script has ended or was stopped: boxes close, then the loop stops */
	bool ending;
	bool person_needed; /* no_input, and somebody was needed: exit status 8 */
	int status;	    /* exit status */
	char *why;	    /* one line with it; may be NULL */
};

/* --- calls of the script (wire/host.h "call") --- */

struct call {
	struct call *next;
	struct super *super;
	struct host *host; /* that asked */
	uint64_t id;	   /* the host's number for it */
	char *op;
	uint64_t agent;	 /* 0 = the script itself */
	json_t *args;	 /* borrowed from body */
	const char *at;	 /* "fix.lua:12"; borrowed from body, may be NULL */
	uint64_t action; /* while an action serves it */
	int64_t began_us;
	struct shown out[2]; /* stdout and pty, stderr */
	bool stream, slowed; /* wants chunks; does not take them, so its command waits */
	uint64_t off[2];
	const char *tool, *said; /* borrowed from body */
	json_t *body;		 /* the whole frame; owned */
	struct strv secrets;	 /* names that it waits for */
	size_t secrets_left;
	struct strv kept; /* texts of call_bytes */
	void (*done)(struct call *c, const struct action_result *res);
	void (*on_output)(struct call *c, enum record_stream s, const void *bytes, size_t len);
	void *data; /* of the op; freed with free_data if set */
	void (*free_data)(void *data);
	void (*cancel)(struct call *c); /* optional: how to stop it when no action serves it */
	bool cancelled;
};

/* What an op is: one row in op_table.c. OP_ANYWHERE: also for policy and configuration files.
 * OP_ENDING: also while the session ends, for the cleanup of a script that unwinds. OP_SECRETS:
 * args may hold {"$secret":NAME}; @start is called when the vault has their values (vault_value);
 * args keep the names. Every other op refuses them. @start answers now or later with call_answer or
 * call_fail, exactly once. */
struct op {
	const char *name;
	void (*start)(struct call *c);
	enum { OP_ANYWHERE = 1, OP_ENDING = 2, OP_SECRETS = 4 } flags;
};
const struct op *op_find(const char *name);

void call_answer(struct call *c, json_t *value); /* takes @value (NULL = null); frees @c */
/* code: "denied" "timeout" "cancelled" "limit" "backend" "io" "budget" "exit" "script"
 * "interrupted" "model". */
void call_fail(struct call *c, const char *code, const char *why, const char *rule, uint64_t event,
	       const char *fmt, ...) PRINTF(6, 7);
void call_fail_err(struct call *c, const struct err *err);
void call_chunk(struct call *c, int stream, const void *bytes, size_t len);
/* Submits an action for @c; its result goes through @done (which must answer) or, if NULL, to
 * op_action_done. */
void call_action(struct call *c, struct action_spec *spec, const struct effector *eff,
		 void (*done)(struct call *c, const struct action_result *res));
/* The usual end: failed outcomes become errors, else @value_of(result) is the answer. */
/* What an action of @c puts out, and how it ended: from the gate, or from the record. */
void call_output(struct call *c, enum record_stream stream, const void *bytes, size_t len);
void call_result(struct call *c, const struct action_result *res);
/* false: it was no success and has been answered */
bool call_outcome(struct call *c, const struct action_result *res);
/* *out: the text args.KEY, which may be bytes that are not UTF-8; it lives as long as @c; NULL
 * absent. false: answered with an error. */
bool call_bytes(struct call *c, const char *key, const char **out);
/* args.box; answers with an error and returns NULL if gone */
struct box *call_box(struct call *c, uint64_t *id_out);

/* RES of wire/host.h for an action that has ended. Returns owned. */
json_t *call_res(struct call *c, const struct action_result *res);

/* --- host.c --- */
struct host_ops {
	/* policy, config: RESULT; borrowed */
	void (*on_result)(void *self, json_t *data);
	/* plugin: VALUE; borrowed; may be NULL */
	void (*on_value)(void *self, uint64_t ticket, const json_t *body);
	void (*on_idle)(void *self); /* it has answered every frame that it was sent; may be NULL */
	/* END, or it died without one; once */
	void (*on_end)(void *self, const json_t *end, const struct err *died);
};
struct host_start {
	const char *mode; /* "script" "policy" "config" "plugin" */
	const char *name; /* of the chunk: "fix.lua" */
	const char *dir;  /* where its `require` looks; may be NULL */
	const char *text;
	size_t len;
	json_t *args; /* array of strings; borrowed, may be NULL */
	json_t *env;  /* borrowed, may be NULL */
};
NODISCARD int luahost_new(struct host **out, struct super *s, const struct host_start *st,
			  const struct host_ops *ops, void *self, struct err *err);
/* Brings a new host to where that of a session that broke off stood (host_feed.c). */
struct host_resume {
	const char *name, *dir;
	uint64_t start_seq; /* of its host.start */
	uint64_t until_seq; /* the last event that the old supervisor wrote */
	/* calls whose actions had reached outside and never ended; borrowed */
	const uint64_t *lost;
	size_t nr_lost;
	const char *text; /* other text of the script, or NULL; borrowed */
	size_t len;
	uint64_t told; /* what of the last turn is in the record */
	/* it stands there; calls that wait are asked again after this */
	void (*caught_up)(void *self);
	void *self;
};
NODISCARD int luahost_resume(struct host **out, struct super *s, const struct host_resume *r,
			     const struct host_ops *ops, void *self, struct err *err);
void luahost_free(struct host **h); /* kills it; no callback */
/* takes both; one is NULL */
void luahost_answer(struct host *h, uint64_t call, json_t *value, json_t *error);
void luahost_chunk(struct host *h, uint64_t call, const char *stream, const void *bytes, size_t len,
		   uint64_t off);
/* 0: the whole script unwinds */
void luahost_stop(struct host *h, uint64_t agent, const char *why);
void luahost_break_off(struct host *h, uint64_t agent, const char *why); /* its turn only */
void luahost_message(struct host *h, uint64_t agent, const char *text, json_t *who);
/* for sg.on, if observed; takes */
void luahost_event(struct host *h, const char *name, json_t *body);
/* from now on every chat of the script asks this one */
void luahost_model_moved(struct host *h, const char *model);
/* the script knows it as @box; it lies there now */
void luahost_box_moved(struct host *h, uint64_t box, const char *workspace);
void luahost_judge(struct host *h, uint64_t ticket, int line, json_t *act);
/* takes; the answer comes through on_value */
void luahost_ask(struct host *h, uint64_t ticket, json_t *body);
const char *luahost_dir(const struct host *h);
/* much of what it was sent is not taken yet; calls_drained when it is */
bool luahost_full(const struct host *h);

/* --- call.c --- */
void call_begin(struct host *h, struct super *s, uint64_t id, const json_t *body);
void call_tell(struct super *s, const json_t *body);
void call_record(struct host *h, uint64_t id, const json_t *body); /* host.call */
void call_cancel(struct super *s, uint64_t id);
void calls_drained(struct super *s); /* the script takes chunks again */
void call_drop(struct call *c);	     /* without an answer: the host has gone */

/* --- op_box.c, op_agent.c --- */
void op_procs_free(struct super *s);
/* before the gate goes: copies on their way to the disk end without their actions */
void op_copy_leave(void);
void op_shells_free(struct super *s);
/* the box has gone, and with it the shells in it */
void op_shells_end(struct super *s, uint64_t box);
void op_agents_continue(struct super *s); /* turns that waited for a latch */
void op_agents_step(struct super *s, uint64_t agent);

/* --- super.c --- */
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

/* --- notify_command.c --- */

/* Something waits for a person: the notification command runs, with @text in SANDGLASS_TEXT. */
void super_held(struct super *s, uint64_t id, const char *text);
void super_notify(struct super *s, const char *title, const char *text);

/* --- super_policy.c --- */
/* Reads the policy files (system, user, project, named) through a Lua host, then calls @ready once.
 * A wrong file ends the session with status 3. */
void policy_load(struct super *s, loop_fn *ready);
void policy_hosts_free(struct super *s);

/* --- super_cmd.c --- */
NODISCARD int super_listen(struct super *s, struct err *err); /* opens the control socket */
NODISCARD int super_share(struct super *s, struct err *err);  /* --share; after super_listen */
/* the standing state has changed: whoever is attached learns it */
void super_changed(struct super *s);

#endif
