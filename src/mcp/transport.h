/* Ways to a server; conn.c has them behind one face. */
#ifndef MCP_TRANSPORT_H
#define MCP_TRANSPORT_H

#include "mcp/conn.h"

/* --- a child and its pipes (transport_stdio.c) --- */
struct mcp_child;
struct mcp_child_ops {
	void (*line)(void *self, const char *text, size_t len);
	void (*log)(void *self, const char *bytes, size_t len);
	void (*ended)(void *self, const struct err *why); /* once; it may be freed inside */
};
NODISCARD int mcp_child_new(struct mcp_child **out, struct loop *l, const struct strv *argv,
			    const struct strv *env, const char *cwd,
			    const struct mcp_child_ops *ops, void *self, struct err *err);
void mcp_child_send(struct mcp_child *c, json_t *msg); /* borrows */
void mcp_child_free(struct mcp_child **c);	       /* ends it in the background */

/* --- streamable HTTP (transport_http.c) --- */
struct mcp_web;
struct mcp_web_ops {
	void (*message)(void *self, const char *text, size_t len);
	/* no answer for request @id will come */
	void (*refused)(void *self, uint64_t id, int status, const char *text);
	void *self;
};
struct mcp_web *mcp_web_new(struct loop *l, struct http *h, const char *url,
			    const struct strv *headers, const struct mcp_web_ops *ops);
void mcp_web_send(struct mcp_web *w, const struct mcp_send *m);
/* closes the stream of a request: in the new era this is the cancel */
void mcp_web_drop(struct mcp_web *w, uint64_t id);
void mcp_web_free(struct mcp_web **w);

#endif
