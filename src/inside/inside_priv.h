/* Shared by the files of the proxy: proxies.c keeps the proxies of a sandbox, proxy.c takes
 * requests and finds their route, model_flow.c calls models, gate_tool.c checks their tool calls
 * against policy, plain_flow.c does the rest. */
#ifndef INSIDE_INSIDE_PRIV_H
#define INSIDE_INSIDE_PRIV_H

#include "inside/hook_words.h"
#include "inside/proxy.h"
#include "models/tape.h"
#include "http/server.h"
#include "proxy/answer.h"
#include "proxy/push.h"
#include "record/secrets.h"
#include "supervisor/core/flood.h"

struct flow;

/* One proxy of one box. */
struct proxy {
	struct proxies *all;
	struct proxy *next;
	json_t *spec;
	const char *key; /* placeholder */
	uint64_t agent;
	bool gate, unpriced_asked; /* you were asked about a model without a price */
	bool hooked;		   /* a hook of its agent has asked */
	struct http_server *server;
	struct tool *tools; /* calls that agents carry out now */
	json_t *looks; /* [[id, tool, input]]: calls of which a hook that asks may lack the id */
	int64_t calls, in, out, uusd, refused;
	struct flood *incidents; /* refused requests on their way into the recording */
};

struct proxies {
	struct super *s;
	uint64_t box;
	struct proxy *first;
	struct flow *flows;
	const struct policy *rules; /* lets the routes through */
	struct net *net;	    /* the sandbox's way out; NULL: it has none */
	bool dead;
};

/* One request on its way. */
struct flow {
	struct flow *next;
	struct proxy *proxy;
	const json_t *route;
	struct http_visit *visit; /* NULL: the client went away */
	/* path behind the route's name; query "" or "?..." without a key */
	char *method, *path, *query;
	struct buf body;
	struct buf packed;	  /* the body as it came, if that was compressed */
	size_t room;		  /* taken for both and for req (flow_room.c) */
	struct effector effector; /* of its action */
	uint64_t action;	  /* 0: none is open */
	struct action *running;
	bool zombie; /* freed except for its action, whose end is still unreported */
	struct tape_call *call;
	char *url;
	struct strv headers; /* to send; credentials last */
	size_t nr_plain_headers;
	struct creds *creds;  /* that are being looked up */
	struct secrets *sent; /* those that were: none comes back in an answer; NULL: none */
	/* the end of the answer so far, which could be the beginning of one */
	struct buf held;
	/* the answer is compressed although it was not to be: it cannot be looked through */
	bool coded;
	struct login_ask *login; /* its token is being read */
	void (*login_done)(struct flow *f, const char *why);
	char *token;	     /* that was sent; upstream may refuse it, once */
	bool refused, again; /* upstream did; it is asked once more */
	int status;
	struct loop_timer *alive; /* tells a client that waits long that we are there */
	bool passing;		  /* the head has gone to the client */
	bool plain;
	/* models */
	enum speak speak;
	bool stream, judging;
	/* its client has what it gets: the action's end tells nobody anything */
	bool handled;
	bool late;	   /* the head that the client has is ours: it had waited long */
	uint64_t cause;	   /* the question before, when it is asked again */
	bool before_begun; /* of the answer that this one continues (answer.h, rule 3) */
	size_t before_items;
	bool as_it_is; /* an error or something unknown: passed without a look */
	json_t *req, *face;
	struct provider *provider;
	char *model;
	struct hash same; /* of path and body */
	struct answer answer;
	size_t nr_why, undecided; /* calls that are being judged */
	char **why;		  /* of each call: NULL allowed */
	unsigned refused_in_row;
	int64_t asked_us;
	bool parked, unpriced; /* its agent's hooks wait for a decision first */
	/* hooks */
	enum hook_format hook; /* HOOK_NONE: not from a hook */
	struct tool *asked;    /* the entry that it waits for */
	/* plain */
	struct push push; /* nr 0: it is none */
	struct buf whole; /* an answer whose addresses are rewritten */
	bool rewrite;
	char *type;
};

/* One call of a tool, from the model's answer to the result in the next request. Its action is
 * the permission; tool.end has the result. */
struct tool {
	struct tool *next;
	struct proxy *proxy;
	struct flow *flow; /* while it is judged */
	size_t index;
	char *id;  /* the provider's; empty: unknown */
	char *of;  /* the call whose script runs this command; NULL: it is a call itself */
	char *cmd; /* what it would run, as its agent wrote it; NULL: not a command */
	enum action_kind kind;
	char *what; /* the command or path; may be NULL */
	char *name; /* of the tool, and its input; both may be NULL */
	json_t *input;
	struct effector effector;
	uint64_t action;
	bool open;	       /* its action is */
	bool asked, withdrawn; /* the action is a hook's question and is open; answered elsewhere */
	bool gone;	       /* freed but for its action */
};

/* --- proxy.c --- */
void flow_free(struct flow *f);
/* answers the client in a vendor's form */
void flow_refuse(struct flow *f, int status, const char *why);
/* Ends its action, if one runs; takes @body. */
void flow_end_action(struct flow *f, enum action_end end, json_t *body);
/* Refuses it with HTTP status @status; the flow is freed. */
void flow_fail(struct flow *f, int status, const char *why);
/* From now on @value does not reach the client. */
void flow_hides(struct flow *f, const char *name, const char *value, size_t len);
/* Of an answer, to pass on. NULL: missing, or it gives a credential back. */
const char *flow_content_type(const struct flow *f, const struct http_head *head);
void flow_begin(struct flow *f, const struct http_head *head);
void flow_write(struct flow *f, const void *bytes, size_t len);
void flow_end(struct flow *f, bool whole); /* the client's answer is over */
/* Wipes the lines that were added to f->headers, once they were sent: a request that is sent again
 * gets new ones. */
void flow_drop_headers(struct flow *f);
const char *route_name(const struct flow *f);
/* Its action is over (from its done callback). true: so is the flow. */
bool flow_action_over(struct flow *f);
/* Adds the route's own credentials to f->headers, each looked up by name; @done comes once from the
 * loop, @why NULL if all were found. */
void flow_credentials(struct flow *f, void (*done)(struct flow *f, const char *why));
/* Upstream refused the token of the route's login: requests another one, once. False: this was
 * the second one, or a login is missing. */
bool flow_login_refused(struct flow *f, void (*done)(struct flow *f, const char *why));
void flow_forget(struct flow *f); /* no credential will come */

bool proxy_is_model(const json_t *route);
enum { BODY_MAX = 64 << 20 };			/* of a request */
extern const struct http_server_ops server_ops; /* self: the proxy */

/* --- proxies.c --- */
/* Records that a request was refused. */
void proxy_incident(struct proxy *p, const char *method, const char *path, const char *why);

/* --- tls_route.c --- */
void proxy_on_connect(void *self, struct http_visit *v);

/* --- model_flow.c --- */
/* Rule 4. True: an older flow continues for it. */
bool model_again(struct proxies *all, struct flow *f);
void model_begin(struct flow *f);
void model_gone(struct flow *f);     /* the client went away */
void model_drop(struct flow *f);     /* everything ends */
void model_judged(struct flow *f);   /* all calls of its answer are decided */
void models_unpark(struct proxy *p); /* requests that waited for hooks of @p, if none is open */

/* --- gate_tool.c --- */
void tools_judge(struct flow *f);   /* f->answer's calls */
void tools_observe(struct flow *f); /* not gated: they are only told */
void tools_results(struct proxy *p, enum speak speak, const json_t *req);
/* judged, and its result is awaited; 0: none */
uint64_t tools_allowed(const struct proxy *p, enum action_kind kind, const char *id,
		       const char *what);
/* As tools_allowed, for a hook's question @spec: the same command, path, or input, and ids that
 * don't contradict each other, so that no approval answers for a second call. */
uint64_t tools_joined(const struct proxy *p, const struct action_spec *spec, const char *id);
/* Keeps of @spec what tools_joined compares. */
void tool_describe(struct tool *t, const struct action_spec *spec);
/* For hooks: a call without a flow; its end; why it was refused (owned). tool_release frees what
 * was gone already. */
struct tool *tool_add(struct proxy *p, const char *id);
void tool_drop(struct tool *t);
void tool_release(struct tool *t);
char *tool_refusal(const struct action_result *res);
void tools_forget(struct flow *f); /* what is being judged is cancelled */
void tools_free(struct proxy *p);
/* Which call that agents of the box carry out now began a program with these words: its action or
 * event, 0 none. */
uint64_t tools_caller(const struct proxies *all, const json_t *argv, const char **how_out);

/* --- packed_body.c --- */
/* Unpacks the body, which came with Content-Encoding @coding (may be NULL), to at most @max bytes.
 * NULL, or why it can't be read (static). */
const char *packed_body_open(struct flow *f, const char *coding, size_t max);
/* The body was changed: sends it uncompressed. */
void packed_body_changed(struct flow *f);

/* --- flow_room.c --- */
/* Takes the body of @v, with its room in memory (http_room_take). */
void flow_room_begin(struct flow *f, struct http_visit *v);
/* Before the body is parsed: takes room for the unpacked body and its values. NULL: it has room.
 * Else why it is refused (static), with the HTTP status. */
const char *flow_room_json(struct flow *f, int *status_out);
void flow_room_end(struct flow *f);

/* --- hook_flow.c --- */
/* A request POST /sandglass-hook/FORMAT: an event of the agent's own hooks. A call that was allowed
 * at the proxy is allowed at once; another becomes an entry of the queue, one for all questions
 * with its id. */
void hook_begin(struct flow *f, const char *format);
void hook_gone(struct flow *f); /* the client went away: the entry is withdrawn with the last one */
/* Call @id was decided in the agent's own interface: its entry is withdrawn. Returns its action, 0
 * without one. */
uint64_t hooks_answered(struct proxy *p, const char *id);
/* Records agent.told with what "hooks". */
void hooks_note(struct proxy *p, const char *step, const char *say);
bool hooks_open(const struct proxy *p); /* a question is open: the next model call waits */

/* --- plain_flow.c --- */
void plain_begin(struct flow *f);
/* On the list of its route, or any GET and HEAD where the route has none. */
bool plain_allowed(const struct flow *f);
void plain_gone(struct flow *f);
void plain_drop(struct flow *f);

/* --- model_flow.c for model_record.c, and what that records --- */
struct super *model_flow_super_of(const struct flow *f);
uint64_t model_flow_append(struct flow *f, enum event_kind kind, json_t *body);
/* Where the events of @f belong. */
struct event model_flow_place(const struct flow *f);
void model_flow_record_call(struct flow *f);
void record_sent(struct flow *f);
json_t *model_flow_record_reply(struct flow *f);
json_t *record_heard(struct flow *f);

#endif
