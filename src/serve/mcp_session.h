/* The session behind `sandglass mcp serve`: a supervisor of its own, started when the first tool is
 * called (a client that only looks at the list starts nothing), reached through its control socket
 * like any other. Loop thread only. */
#ifndef SERVE_MCP_SESSION_H
#define SERVE_MCP_SESSION_H

#include "base/json.h"
#include "loop/loop.h"

struct mcp_session;
struct mcp_session_ops {
	/* @answer: args of the op mcp.answer, or NULL with @err. Once for each call that was not
	 * cancelled. */
	void (*answer)(void *self, uint64_t call, const json_t *answer, const struct err *err);
	/* The state has changed (pending actions). */
	void (*state)(void *self);
	/* The session has ended; all calls have had their answer. NULL: the next call starts
	 * another one; else none does. */
	void (*closed)(void *self, const struct err *why);
};

/* @opts: of the supervisor (sessions/spawn.h); takes it. */
struct mcp_session *mcp_session_new(struct loop *l, json_t *opts, const struct mcp_session_ops *ops,
				    void *self);
/* tells the script that nobody is left, so that it ends */
void mcp_session_free(struct mcp_session **s);

/* Returns the call's number (not 0), or 0 and @err when no session can be started. @args is
 * borrowed. */
uint64_t mcp_session_call(struct mcp_session *s, const char *tool, json_t *args, const char *client,
			  struct err *err);
void mcp_session_cancel(struct mcp_session *s, uint64_t call);
/* The same, but its answer comes all the same: it may be on its way, with something that is to be
 * given back. */
void mcp_session_break(struct mcp_session *s, uint64_t call);
/* The number of unanswered requests, cancels included. */
size_t mcp_session_under_way(const struct mcp_session *s);
void mcp_session_leave(struct mcp_session *s, const char *client); /* the client's sandboxes go */
/* If an action of the tool @tool is pending approval, appends a line with this and how to
 * decide. */
bool mcp_session_held(const struct mcp_session *s, const char *tool, struct buf *out);
const char *mcp_session_id(const struct mcp_session *s); /* NULL before the first call */

#endif
