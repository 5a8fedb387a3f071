/* Shared by the files of the egress proxy. */
#ifndef PROXY_EGRESS_PRIV_H
#define PROXY_EGRESS_PRIV_H

#include "base/buf.h"
#include "proxy/egress.h"
#include "proxy/egress_parse.h"
#include "proxy/egress_resolve.h"

enum egress_state {
	EGRESS_HEAD,   /* reading the request */
	EGRESS_ASKING, /* the decision is awaited, without limit */
	EGRESS_LOOKUP,
	EGRESS_CONNECT,
	EGRESS_PUMP,
	EGRESS_LAST, /* an answer of ours is being sent; input is dropped */
};

struct egress_conn {
	struct egress *e; /* NULL: closed, waits for its callbacks to return */
	enum egress_state state;
	uint64_t ticket;
	int client, server;
	struct loop_fd *client_watch, *server_watch;
	unsigned client_events, server_events;
	struct buf up, down;
	struct egress_head head;
	struct egress_chunks chunks;
	uint64_t body_left;
	char host[EGRESS_HOST_MAX + 1];
	bool client_eof, server_eof, up_shut, down_shut;
	bool peeked;	/* rule 6 has been looked at */
	bool body_done; /* plain http: nothing more goes up */
	bool told;	/* ops->ended has been called */
	struct egress_lookup *lookup;
	struct egress_addr addr[EGRESS_ADDRS_MAX];
	size_t nr_addrs, next_addr;
	int64_t deadline_us; /* 0 = none */
	struct egress_end end;
	unsigned busy;
};

struct egress {
	struct loop *loop;
	int listener;
	struct loop_fd *watch;
	struct loop_timer *sweep;
	const struct egress_ops *ops;
	void *self;
	char **allow;
	size_t nr_allow;
	uint16_t *ports;
	size_t nr_ports;
	bool http, local;
	uint64_t max_bytes;
	int64_t idle_us;
	unsigned max_conns;
	uint64_t last_ticket;
	struct egress_conn **conn;
	size_t nr_conns, cap_conns;
	/* the listener is not watched: max_conns are open, or descriptors are short */
	bool paused;
	bool starved;	       /* the last accept failed for want of descriptors or memory */
	int64_t full_since_us; /* 0 = there is room */
};

/* Takes @fd. @head: what its client has sent already, NULL: nothing. */
void egress_conn_new(struct egress *e, int fd, const char *head);
void egress_conn_close(struct egress_conn *c, const char *why);
void egress_conn_answer(struct egress_conn *c, bool allow, const char *why);
void egress_conn_check(struct egress_conn *c, int64_t now_us); /* its time may be over */
void egress_room_changed(struct egress *e);		       /* a connection has ended */
bool egress_port_ok(const struct egress *e, const char *host, const struct egress_head *h);

#endif
