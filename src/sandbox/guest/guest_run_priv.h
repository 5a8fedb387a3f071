/* Shared by the files of a run: guest_run.c (its life, from prepare to on_exit) and
 * guest_stream.c (its bytes). */
#ifndef SANDBOX_GUEST_GUEST_RUN_PRIV_H
#define SANDBOX_GUEST_GUEST_RUN_PRIV_H

#include "sandbox/guest/guest_priv.h"

/* One stream of a run. With descriptors: @fd is our end. Framed: credit both ways, and what came
 * while paused. */
struct end {
	struct guest_run *run;
	unsigned nr; /* enum guest_stream_nr */
	int fd;
	struct loop_fd *watch;
	unsigned events;
	bool over;	 /* nothing more comes */
	size_t drain;	 /* after the end: bytes that are from before it */
	size_t credit;	 /* framed stdin: what we may send */
	size_t got;	 /* framed output: received and not given back */
	struct buf held; /* framed output: came while paused */
};

struct guest_run {
	struct guest *g; /* NULL: detached */
	uint64_t id;
	const struct run_ops *ops;
	void *self;
	int pid;
	bool pty, job, framed;
	bool silent; /* framed: the guest says that its terminal does not echo */
	struct end end[4];
	struct buf in; /* towards stdin or the terminal */
	bool in_eof, in_over;
	bool paused, ended, exited, freed, timed_out;
	unsigned busy;
	struct winsize size;
	int64_t timeout_us;
	struct loop_timer *timer;
	struct guest_ended_body how;
	int trace; /* the listener comes here */
	struct loop_fd *trace_watch;
};

/* --- guest_run.c --- */
struct guest_run *run_find(const struct guest *g, uint64_t id);
void run_leave(struct guest_run *r);	 /* undoes busy++; the run may be gone after it */
void run_check_end(struct guest_run *r); /* tells the end once all output is out */
void run_end_close(struct end *e);

/* --- guest_stream.c --- */
struct end *run_in_end(struct guest_run *r); /* stdin or the terminal */
void run_deliver(struct guest_run *r, unsigned stream, const void *bytes, size_t len);
/* the run may be freed inside: the caller holds it by busy */
void run_read_some(struct guest_run *r, struct end *e);
void run_write_in(struct guest_run *r);
void run_update(struct guest_run *r); /* what is watched after anything has changed */

#endif
