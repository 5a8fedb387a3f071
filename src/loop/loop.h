/* The event loop: descriptors, timers, deferred calls, signals, worker jobs (libuv inside, seen
 * nowhere else).
 *
 * One thread owns a loop; only loop_wake and the worker functions themselves run elsewhere.
 * Callbacks are flat: read bytes, call the owner's one entry function, return. A handle may be
 * freed inside its own callback. */
#ifndef LOOP_LOOP_H
#define LOOP_LOOP_H

#include "base/err.h"

struct loop;
struct loop_fd;
struct loop_timer;
struct loop_wake;
struct loop_job;

enum loop_events { LOOP_READ = 1, LOOP_WRITE = 2, LOOP_HUP = 4 };

typedef void loop_fd_fn(void *self, int fd, unsigned events);
typedef void loop_fn(void *self);

NODISCARD int loop_new(struct loop **out, struct err *err);
void loop_free(struct loop *l); /* every handle must have been freed */
void loop_run(struct loop *l);	/* until loop_stop */
/* Runs one turn: waits at most @timeout_ms (-1: without limit, 0: not at all), and not at all once
 * a timer or a deferred call has run in it, so that "while (!done) loop_turn(l, -1)" ends no matter
 * which callback sets done. */
void loop_turn(struct loop *l, int timeout_ms);
void loop_stop(struct loop *l);
/* something is left that can still call: a descriptor, a timer that runs, a job */
bool loop_alive(const struct loop *l);
int64_t loop_now_us(const struct loop *l); /* monotonic, once per turn */

/* Watches @fd (borrowed, must be non-blocking, not a regular file). A broken descriptor reports all
 * events. */
struct loop_fd *loop_fd_new(struct loop *l, int fd, unsigned events, loop_fd_fn *fn, void *self);
void loop_fd_events(struct loop_fd *w, unsigned events); /* 0 = pause */
void loop_fd_free(struct loop_fd **w); /* before closing the descriptor; NULL inside is fine */

/* One shot unless @repeat_ms > 0. */
struct loop_timer *loop_timer_new(struct loop *l, loop_fn *fn, void *self);
void loop_timer_set(struct loop_timer *t, uint64_t after_ms, uint64_t repeat_ms);
void loop_timer_stop(struct loop_timer *t);
void loop_timer_free(struct loop_timer **t);

/* Calls @fn once at the end of this turn, before the loop sleeps. */
void loop_defer(struct loop *l, loop_fn *fn, void *self);

/* Called by any thread; @fn then runs on the loop, once for any number of calls. */
struct loop_wake *loop_wake_new(struct loop *l, loop_fn *fn, void *self);
void loop_wake_send(struct loop_wake *w);
void loop_wake_free(struct loop_wake **w);

/* Signals arrive as ordinary callbacks. */
struct loop_signal;
typedef void loop_signal_fn(void *self, int signo);
struct loop_signal *loop_signal_new(struct loop *l, int signo, loop_signal_fn *fn, void *self);
void loop_signal_free(struct loop_signal **s);

/* Runs @work on a pool thread, then @done on the loop thread. @work must not touch loop objects. */
void loop_job_run(struct loop *l, loop_fn *work, loop_fn *done, void *self);

/* Raises the soft limit of descriptors to the hard one. Children of proc_spawn get the limit of
 * before: a high one breaks programs that use select. */
void proc_raise_descriptors(void);
/* A child of ours that must never be forked from a big process: vfork. Its signals are at their
 * defaults and not blocked. @fds[i] becomes descriptor i in the child (borrowed; -1 = /dev/null).
 * Fills the pid and a pidfd (owned by caller; poll with loop_fd for its end). */
NODISCARD int proc_spawn(const char *path, char *const argv[], char *const envp[], const int *fds,
			 size_t nr_fds, int *pid_out, int *pidfd_out, struct err *err);
/* Reaps; returns wait status as of waitid: exit code 0..255, or 256 + signal. */
NODISCARD int proc_reap(int pidfd, int *status_out, struct err *err);

#endif
