/* The guest: the small program that is PID 1 inside a box, or an ordinary child there (profile
 * reduced), and does what the supervisor says over one channel (wire/guest.h is the specification).
 *
 * One loop, one struct inner. It reads no content but to find the mark that a run waits for, never
 * decides, holds no secret. It is undumpable and its descriptors close on exec, so that a command
 * can neither trace nor read it. Writing to the channel blocks; the supervisor always reads.
 *
 * Landlock: a domain can only be narrowed, and two processes that entered the same rules one after
 * the other are strangers to each other (no /proc/PID/fd, no strace: `fuser -k 3000/tcp` on the
 * server of an earlier command would find nothing). As PID 1 the loop therefore runs in a thread of
 * its own that enters the rules, and all its children are in its one domain. ATTACH ends that
 * thread; the main thread, which never enters anything, opens the new rules and starts the next. As
 * an ordinary child, where a signal could kill the guest, each child enters the rules for itself
 * (rules.shared false). */
#ifndef GUEST_GUEST_PRIV_H
#define GUEST_GUEST_PRIV_H

#include <sys/ioctl.h>

#include <sys/types.h>
#include <linux/filter.h>

#include "base/fd.h"
#include "wire/guest.h"

struct inner_run;
struct inner_pump;

/* Shared with a child until it execs: how it is released and how it reports a failed step. exec
 * removes the mapping, so that a command can't write here. */
struct inner_slot {
	uint32_t go; /* futex */
	uint32_t step, sys;
	/* not 0 while the child is in our memory; the kernel clears it at exec and at the end */
	int32_t shares;
	uint32_t used;
	/* of a run with GUEST_JOB: the program's process and group; the signal that stopped it,
	 * 0: it runs (job.c) */
	int32_t job;
	uint32_t stopped;
};
enum { INNER_RUNS = 2048, INNER_STACK = 16 << 10 };

/* The restrictions of a child, made by ATTACH. */
struct inner_rules {
	bool attached, unconfined, drop_caps;
	bool shared; /* the loop's thread has entered them, children inherit */
	int fd;	     /* landlock ruleset; -1 = none */
	uint64_t mem_bytes, file_bytes;
	uint32_t pids;
	/* system call filters, entered in this order; the guest's, until the next ATTACH */
	struct sock_fprog filters[GUEST_FILTERS];
	size_t nr_filters;
};

/* A process seen in an earlier scan whose origin is known: origin outlives being orphaned. */
struct inner_seen {
	pid_t pid, sid, run;
	uint64_t start;
};

/* A run that has ended and left processes; the supervisor may not know of its end yet. */
struct inner_over {
	uint64_t id;
	pid_t pid;
};
enum { INNER_OVER = 64 }; /* the last ones are remembered */

struct inner {
	/* descriptors read and written: the same one unless they are the standard streams */
	int channel, answers;
	bool socket; /* descriptors can ride along */
	bool init;   /* PID 1 */
	bool caps;   /* has capabilities that children must not have */
	bool frozen;
	bool workspace; /* there has been a /workspace */
	bool over;	/* channel gone or protocol broken */
	struct buf in, out;
	int in_fds[4 * FD_PASS_MAX];
	size_t nr_in_fds;
	int null_fd, children_fd, oom_fd;
	struct inner_rules rules;
	int ahead;	   /* landlock ruleset that waits for the rest (GUEST_AHEAD); -1 = none */
	bool attach_waits; /* ATTACH has come: the loop returns to the main thread */
	uint64_t attach_id;
	struct buf attach;	 /* its body */
	struct buf attached;	 /* the answer, when the rules have been entered */
	struct inner_slot *slot; /* INNER_RUNS, shared memory */
	char *stacks;		 /* one of INNER_STACK bytes per slot */
	struct inner_run **run;
	size_t nr_runs, cap_runs;
	struct inner_pump **pump;
	size_t nr_pumps, cap_pumps;
	struct inner_seen *seen;
	size_t nr_seen, cap_seen;
	struct inner_over ended[INNER_OVER];
	size_t nr_ended; /* so far */
	pid_t *stopped;	 /* were stopped before the freeze: thaw leaves them so */
	size_t nr_stopped, cap_stopped;
	uint64_t last_conn;
};

/* Runs a guest on @channel (taken) until it ends; returns the exit status. @answers (taken): where
 * it writes, -1: to @channel, too. @init: this is PID 1 of its namespace; @machine: of a virtual
 * machine. */
int inner_main(int channel, int answers, bool init, bool machine);

/* --- oom.c --- */
int inner_oom_open(bool machine);		  /* a file that counts, or -1 */
uint32_t inner_oom_killed(const struct inner *g); /* so far, or GUEST_OOM_UNKNOWN */

/* --- port.c: the channel --- */
/* Reads what is there. 1 something came, 0 nothing, -1 the end. */
int inner_port_fill(struct inner *g);
/* @fd (-1 = none) stays the caller's. */
void inner_send(struct inner *g, enum guest_frame type, uint64_t id, const struct buf *body,
		int fd);
/* ANSWER with the outcome in front of @more (may be NULL). */
void inner_answer(struct inner *g, uint64_t id, unsigned step, int sys, const struct buf *more,
		  int fd);
/* Takes up to @nr descriptors that came with frame @f into @fds, closes the rest; false if there
 * are not exactly @nr.
 */
bool inner_take_fds(struct inner *g, const struct frame *f, int *fds, size_t nr);

/* --- mark.c --- */
struct inner_mark *inner_mark_new(const char *bytes);
void inner_mark_free(struct inner_mark **m);
/* These have come out, too: the mark has, and after it its first byte once more. */
bool inner_mark_complete(struct inner_mark *m, const char *bytes, size_t len);

/* --- run.c: runs --- */
struct inner_run {
	uint64_t id;
	pid_t pid;		   /* of the leader: session and process group too */
	struct inner_child *child; /* until it has left our memory */
	struct inner_slot *slot;
	bool gone;		 /* go has been said */
	uint64_t after;		 /* goes when this one has ended; 0: at once */
	struct inner_mark *mark; /* or when this has come out of its terminal; NULL */
	bool ours;		 /* GUEST_OURS: goes and ends however frozen the box is */
	bool reaped;		 /* leader ended; waits for its pumps */
	bool dropped;		 /* nobody listens */
	unsigned draining;	 /* pumps that have something from before the end */
	uint32_t stopped;	 /* as GF_STOPPED said it last */
	struct guest_ended_body ended;
};
void inner_prepare(struct inner *g, const struct frame *f);
/* @mark: GO with one; NULL without. */
void inner_go(struct inner *g, struct inner_run *r, uint64_t after, const char *mark);
/* These bytes have come out of the terminal of @r, and were sent. */
void inner_came_out(struct inner *g, const struct inner_run *r, const char *bytes, size_t len);
void inner_thawed(struct inner *g); /* starts those released while frozen */
bool inner_preparing(const struct inner *g);
struct inner_run *inner_run_find(const struct inner *g, uint64_t id); /* NULL if there is none */
void inner_signal(struct inner *g, struct inner_run *r, int signo, bool all);
void inner_drop_run(struct inner *g, struct inner_run *r);
void inner_drop_left(struct inner *g, uint64_t id); /* what a run that has ended has left */
/* Collects every child that has ended. false: there are no children at all. */
bool inner_reap(struct inner *g);
/* A pump of @r has passed on everything written before the end. */
void inner_run_drained(struct inner *g, struct inner_run *r);

/* --- child.c: between clone and exec --- */
struct inner_child { /* stays as it is while the child reads it */
	char *frame; /* what body points into; owned, like env */
	struct guest_prepare_body body;
	char **env;
	int fd[3]; /* stdin, stdout, stderr; -1 = /dev/null */
	int tty;   /* the terminal's slave, or -1 */
	int trace; /* where the listener of its filter goes, or -1 */
	bool trace_must;
	bool offline;
	bool job; /* GUEST_JOB: a copy of the guest, not in its memory */
	int null_fd;
	bool die_with_guest;
	bool no_workspace; /* there has been no /workspace so far */
	bool cwd_no_link;  /* GUEST_CWD_NO_LINK */
	struct inner_rules rules;
	struct inner_slot *slot;
};
int inner_child_main(void *child); /* does not return */

/* --- job.c: programs that can stop themselves --- */
/* In a child with GUEST_JOB that leads a session with a terminal: returns in the program's process
 * only, 0 or -errno. */
long inner_job_fork(struct inner_slot *s);
/* The leader of @r has stopped: reports a stop of the program and continues the leader. */
void inner_job_look(struct inner *g, struct inner_run *r);

/* --- rules.c: landlock and limits --- */
int inner_landlock_abi(void);
int inner_lower_limits(void); /* for ourselves and all that come from us; -1 on failure */
/* Does what g->attach says, in no domain: opens the rules. Answers, unless they are to be shared:
 * inner_confine does.
 */
void inner_attach(struct inner *g);
/* This thread and its children enter the rules. */
void inner_confine(struct inner *g);
/* In the child. 0, or -errno with the step that failed. */
long inner_rules_enter(const struct inner_rules *r, unsigned *step_out);

/* --- filter.c: the system calls of commands --- */
/* Takes those of @a into @r, which has none; none where the kernel has no filters and @a allows
 * that. -1 with errno. */
int inner_filters_take(struct inner_rules *r, const struct guest_attach_body *a);
void inner_filters_drop(struct inner_rules *r);
/* This thread and its children, with no_new_privs. 0 or -errno. */
long inner_filters_enter(const struct inner_rules *r);

/* --- trace.c: its execve and connect calls wait for an answer from outside --- */
/* In the child: installs the filter and sends its listener to @sock. 0 or -errno, which has been
 * sent too. */
long inner_trace(int sock);

/* --- offline.c: it can make no socket --- */
/* In the child, with no_new_privs: 0 or -errno. */
long inner_offline(void);

/* --- tty.c: terminals --- */
/* false with errno; the caller closes open descriptors then. No columns: no size. */
bool inner_tty_open(const struct winsize *size, int *master, int *tty);

/* --- procs.c: who lives here --- */
struct inner_proc {
	pid_t pid, ppid, sid;
	pid_t run; /* pid of the leader it came from, 0 = unknown */
	char state;
	uint64_t start, bytes, cpu_us;
	char name[32];
};
/* SIGKILL for all of a session; false: there is nobody. */
bool inner_session_kill(pid_t sid);
/* Live processes that came from @run, which has just ended. */
unsigned inner_left(struct inner *g, pid_t run);
/* Sends @signo to everything that came from @run; with SIGKILL until nothing new appears. */
void inner_signal_all(struct inner *g, pid_t run, int signo);
void inner_freeze(struct inner *g, uint64_t id, bool frozen);
void inner_ps(struct inner *g, uint64_t id);
/* Kills everything but the guest and waits up to 2 s. Fills the counts. */
void inner_kill_all(struct inner *g, unsigned *killed_out, unsigned *left_out);

/* --- pump.c: framed streams --- */
enum { INNER_LOOK_NS = 30000000 };
enum inner_pump_kind { PUMP_READ, PUMP_WRITE, PUMP_TTY, PUMP_CONN, PUMP_LISTEN, PUMP_CONNECTING };
/* Takes @fd (made non-blocking). @r may be NULL. */
struct inner_pump *inner_pump_new(struct inner *g, enum inner_pump_kind kind, uint64_t id,
				  unsigned stream, int fd, struct inner_run *r);
void inner_pump_data(struct inner *g, const struct frame *f);
void inner_pump_eof(struct inner *g, const struct frame *f);
void inner_pump_credit(struct inner *g, const struct frame *f);
void inner_pump_connecting(struct inner_pump *p, bool pass); /* DIAL is under way */
/* closes the listener or connection; false if there is none */
bool inner_pump_drop(struct inner *g, uint64_t id);
void inner_pump_run_ended(struct inner *g, struct inner_run *r); /* starts the drain */
/* closes, or throws away from now on */
void inner_pump_run_done(struct inner *g, struct inner_run *r);
void inner_pump_resize(struct inner *g, uint64_t id, const struct winsize *size);
struct pollfd;
bool inner_pump_looks(struct inner *g); /* inner_pump_look is to be called in INNER_LOOK_NS */
void inner_pump_look(struct inner *g);	/* says which terminals echo */
size_t inner_pump_poll(struct inner *g, struct pollfd *fds); /* fills one entry per pump */
void inner_pump_serve(struct inner *g, const struct pollfd *fds, size_t nr);

/* --- net.c: sockets on the box's loopback --- */
void inner_loopback_up(void);
void inner_listen(struct inner *g, const struct frame *f);
void inner_dial(struct inner *g, const struct frame *f);
/* A connection has come about (@sys 0) or not: answers and passes the socket on. Takes @fd. */
void inner_dialled(struct inner *g, uint64_t id, int fd, bool pass, int sys);

#endif
