/* Between mcp_hub.c (servers and their operations), mcp_box.c (a server in a sandbox), and
 * mcp_tool.c (calls of tools). */
#ifndef OPS_MCP_HUB_PRIV_H
#define OPS_MCP_HUB_PRIV_H

#include "ops/mcp_hub.h"
#include "mcp/conn.h"

enum { SERVERS_MAX = 64, WRITE_AGAIN_MS = 20, PROGRESS_LINES = 1000, LOG_LINES_MAX = 1 << 20 };

/* The name of a call that reads a resource, unless the server has a tool of this name. */
#define MCP_READ "resources/read"

struct server {
	struct server *next;
	struct mcp_hub *hub;
	/* of the action that opened it: no other server of this session, its past or its forks has
	 * had it */
	uint64_t id;
	char *name;
	struct mcp_conn *conn;
	struct action *opening; /* the action that waits for it to be ready */
	struct call *call;	/* the same for a server in a box */
	uint64_t box_action;	/* the command in the box; 0: on the host */
	struct buf out;		/* for the box, until its command runs */
	struct loop_timer *timer;
	bool box, dead, writing;
	bool over, closed; /* its command in the box has ended; the script has closed it */
	uint64_t changed;
	char *why;
};

struct tool_call {
	struct tool_call *next;
	struct mcp_hub *hub;
	struct action *action;
	struct server *server;
	uint64_t call;
	unsigned lines;
};

struct mcp_hub {
	struct super *super;
	struct http *http;
	struct effector open, call;
	struct server *servers;
	struct tool_call *calls;
	struct mcp_conn **late;	      /* to be closed at the end of the turn */
	size_t nr_late, cap_late, nr; /* nr: servers that live */
	bool deferred;
};

/* --- mcp_hub.c --- */
extern const struct mcp_conn_ops mcp_hub_conn_ops;
void mcp_hub_die(struct server *v);
void server_free(struct server *v);
void mcp_hub_on_ready(void *self, const struct err *err);
struct server *server_new(struct mcp_hub *h, const char *name);
struct mcp_hub *hub_of(struct super *s);
struct server *server_of(struct mcp_hub *h, uint64_t id);
enum action_end end_for(const char *how);

/* --- mcp_tool.c --- */
void start_call(void *self, struct action *a);
void cancel_call(void *self, struct action *a, const char *how);

/* --- mcp_box.c --- */
void open_in_box(struct call *c, struct strv *argv);

#endif
