/* Shared by the files of the guest client only. */
#ifndef SANDBOX_GUEST_GUEST_PRIV_H
#define SANDBOX_GUEST_GUEST_PRIV_H

#include "base/fd.h"
#include "loop/stream.h"
#include "sandbox/guest/guest_client.h"

struct guest_ask; /* a question on its way, or an answer that waits for its turn of the loop */
struct guest_conn;
struct guest_sink;

struct guest {
	struct loop *loop;
	struct stream *stream; /* NULL once the channel has ended */
	const struct guest_ops *ops;
	void *self;
	bool framed, ready, gone;
	unsigned busy; /* depth of callbacks under way: memory stays until they are back */
	bool freed;
	struct guest_info info;
	uint64_t last_id;
	uint32_t oom; /* as the last end of a run had it */
	struct guest_ask **ask;
	size_t nr_asks, cap_asks;
	struct guest_run **run;
	size_t nr_runs, cap_runs;
	struct guest_conn **conn;
	size_t nr_conns, cap_conns;
	struct guest_sink **sink;
	size_t nr_sinks, cap_sinks;
};

void guest_enter(struct guest *g);
void guest_leave(struct guest *g); /* @g may be gone after it */
uint64_t guest_next_id(struct guest *g);
void guest_send(struct guest *g, enum guest_frame type, uint64_t id, const struct buf *body);
void guest_send_stream(struct guest *g, enum guest_frame type, uint64_t id, unsigned stream,
		       const void *bytes, size_t len);
/* The guest broke the protocol: ends the channel from the loop. */
void guest_broken(struct guest *g, const char *what);

/* --- guest_run.c --- */
void guest_run_prepared(struct guest *g, const struct frame *f, int *fds, size_t nr);
void guest_run_echo(struct guest *g, const struct frame *f);
void guest_run_stopped(struct guest *g, const struct frame *f);
void guest_run_ended(struct guest *g, const struct frame *f);
/* Both return false if no run has the frame's id. */
bool guest_run_data(struct guest *g, uint64_t id, unsigned stream, const char *bytes, size_t len);
bool guest_run_credit(struct guest *g, uint64_t id, unsigned stream, uint32_t more);
void guest_runs_lost(struct guest *g);	 /* on_exit(lost) for each that has had none */
void guest_runs_detach(struct guest *g); /* no more callbacks; the handles stay */

/* --- guest_sink.c --- */
/* Reads and throws away what a process left behind still writes to @fd (taken), so that it neither
 * blocks nor dies. */
void guest_sink_new(struct guest *g, int fd);
void guest_sinks_free(struct guest *g);

/* --- guest_conn.c: connections as framed streams --- */
/* Returns the end for the caller, connected to connection @id, or -1. */
int guest_conn_dialled(struct guest *g, uint64_t id, struct err *err);
/* Returns a listening socket to which each connection accepted inside will connect, or -1. */
int guest_conn_listen(struct guest *g, uint64_t id, struct err *err);
void guest_conn_accepted(struct guest *g, uint64_t listener, uint64_t id);
bool guest_conn_data(struct guest *g, uint64_t id, const char *bytes, size_t len);
bool guest_conn_eof(struct guest *g, uint64_t id);
bool guest_conn_credit(struct guest *g, uint64_t id, uint32_t more);
void guest_conns_free(struct guest *g);

/* --- guest_rules.c --- */
/* The ATTACH body. @rules_out: the paths by index, borrowed from @a and static storage; owned
 * array. */
void guest_rules_pack(const struct guest_attach *a, struct buf *out, const char ***rules_out,
		      size_t *nr_out);

/* --- guest_ask.c --- */
struct guest_ask {
	struct guest *g; /* NULL: the guest has been freed, no report */
	enum guest_frame type;
	uint64_t id;
	box_done_fn *done;
	void *self;
	bool late;	    /* asked after the end: its turn of the loop is on its way */
	bool frozen;	    /* FREEZE: which way */
	const char **paths; /* ATTACH: rules by index; their strings are owned too */
	size_t nr_paths;
};
struct guest_ask *ask_take(struct guest *g, uint64_t id);
void ask_over(struct guest_ask *a, const struct err *err);
void ask_too_late(void *self);
void guest_client_on_answer(struct guest *g, const struct frame *f, int *fds, size_t nr);

#endif
