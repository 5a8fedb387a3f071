/* Shared by serve.c (requests and answers) and serve_socket.c (those that become a WebSocket). */
#ifndef SERVE_SERVE_PRIV_H
#define SERVE_SERVE_PRIV_H

#include "serve/mcp_session.h"
#include "serve/serve.h"
#include "http/websock_server.h"

enum { AHEAD_MAX = 1 << 20, SOCKETS_MAX = 200 };

struct ask { /* one request */
	struct ask *next;
	struct serve *s;
	struct http_visit *visit; /* NULL: the client went away, or it is a WebSocket now */
	uint64_t call;		  /* that is under way; 0: none */
	uint64_t upload;	  /* its body goes in pieces; 0: not */
	size_t size, sent;	  /* of the body */
	/* it asks for a port of a sandbox: the path that is asked for instead; NULL: it does not */
	char *way;
	int64_t stream; /* 0: none */
	bool socket;	/* it is to be a WebSocket, or is one: counted */

	struct websock_door *door; /* NULL: it is none */
	uint64_t saying;	   /* the call with what the client has said */
	json_t *heard;		   /* what waits behind it */
	size_t heard_bytes;
};

struct serve {
	struct loop *loop;
	struct http_server *http;
	struct mcp_session *session;
	const struct serve_how *how;
	struct ask *asks;
	struct buf token;
	char *host, *url;
	uint64_t hello, uploads;
	size_t uploading; /* bytes of the bodies that go in pieces */
	size_t sockets;	  /* requests for one, and those that are open */
	int pidfd, pid;
	struct loop_fd *watch;
	int status;
	bool told, lost; /* programs know where to ask; the session has ended */
};

void serve_ask_free(struct ask *a);
void serve_want_more(struct ask *a); /* unless enough is on its way to the client */
/* The client has left: its answer and the rest of its body are dropped. Frees @a. */
void serve_leave(struct ask *a);

/* @answer is 101 with a stream: its messages are the stream's, and what the client says goes to the
 * session. */
void serve_socket_open(struct ask *a, const json_t *answer);
/* NULL: the session could not */
void serve_socket_answer(struct ask *a, uint64_t nr, const json_t *answer);

#endif
