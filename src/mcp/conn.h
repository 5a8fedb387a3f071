/* A connection to one MCP server: the client (client.h) over a child's pipes, over HTTP, or over
 * another owner's pipes. A child is ended with its process group: its input is closed, after 2 s
 * comes TERM, then KILL, to the whole group. Loop thread only; these functions call nothing back
 * themselves. */
#ifndef MCP_CONN_H
#define MCP_CONN_H

#include "mcp/client.h"
#include "http/client.h"

struct mcp_conn;

struct mcp_conn_spec {		       /* one of argv, url, write */
	const struct strv *argv, *env; /* env: all of it, "NAME=value" */
	const char *cwd;	       /* of the child; NULL: ours */
	const char *url;
	const struct strv *headers; /* "Name: value"; with secrets in them */
	struct http *http;	    /* for url; borrowed */
	/* foreign pipes: mcp_conn_feed brings their input */
	void (*write)(void *self, const void *bytes, size_t len);
	int64_t open_us; /* 0: 30 s */
};

struct mcp_conn_ops {
	void (*ready)(void *self, const struct err *err); /* once */
	/* after ready, once: the connection can't be used any longer */
	void (*gone)(void *self, const struct err *why);
	void (*changed)(void *self); /* its tools; may be NULL */
	/* its standard error, and lines of the client in parentheses: tools or messages that were
	 * left out; may be NULL */
	void (*log)(void *self, const char *bytes, size_t len);
};

/* Copies everything that @spec points to. */
NODISCARD int mcp_conn_open(struct mcp_conn **out, struct loop *l, const struct mcp_conn_spec *spec,
			    const struct mcp_conn_ops *ops, void *self, struct err *err);
/* no callback follows; the child's end is seen to in the background */
void mcp_conn_close(struct mcp_conn **c);
struct mcp_client *mcp_conn_client(struct mcp_conn *c);
void mcp_conn_feed(struct mcp_conn *c, const void *bytes, size_t len); /* for spec.write */
void mcp_conn_ended(struct mcp_conn *c, const char *why);

#endif
