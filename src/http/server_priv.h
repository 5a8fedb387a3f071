/* Between server.c (connections and requests) and server_answer.c (answers). */
#ifndef HTTP_SERVER_PRIV_H
#define HTTP_SERVER_PRIV_H

#include "base/mem.h"
#include "http/server.h"
#include "loop/loop.h"

enum {
	READ_CHUNK = 64 << 10,
	ARRIVE_MS = 60000,
	IDLE_MS = 120000,
	TAKE_MS = 60000,
	LINGER_MS = 1000,
	AGAIN_MS = 200
};

enum state {
	HEAD, /* waits for, or reads, a request */
	BODY,
	BUSY, /* the owner has it */
	/* the last answer is out: what still comes is thrown away, so that the answer arrives */
	LINGER,
	DEAD,
};

struct http_visit { /* a connection; as a visit it lives in BUSY */
	struct http_visit *next;
	struct http_server *server;
	int sock;
	struct loop_fd *watch;
	struct loop_timer *timer, *kick; /* kick: continues outside of the owner's call */
	enum state state;
	struct buf in, body, out;
	size_t room; /* taken for body */
	size_t sent;
	struct http_ask ask;
	struct http_chunks chunks;
	bool last;    /* no request after this one */
	bool inside;  /* take_in is running */
	bool tell;    /* DEAD: the owner does not know yet */
	bool drained; /* the owner will be notified of this from the loop */
	bool begun;   /* a stream of the owner's is under way */
	char *host;   /* of a connection from elsewhere; NULL: the client names it */
	void *tag;
};

struct http_server {
	struct loop *loop;
	const struct http_server_ops *ops;
	void *self;
	int sock;
	struct loop_fd *watch;
	struct loop_timer *again; /* descriptors had run out */
	struct http_visit *visits;
	size_t nr, body_max;
	uint16_t port;
	bool local;
};

/* --- server.c --- */
void visit_drop_body(struct http_visit *v);
void http_server_die(struct http_visit *v);
void http_server_send_some(struct http_visit *v);

#endif
