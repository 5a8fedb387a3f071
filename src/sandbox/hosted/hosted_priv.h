/* Inside of hosted sandboxes (hosted.h): opening in hosted_open.c, the end in hosted_close.c,
 * leftovers of dead supervisors in hosted_sweep.c, files in hosted_files.c, other verbs in
 * hosted.c, commands in hosted_run.c, kills by the memory limit in hosted_oom.c, texts on their way
 * through the provider in hosted_script.c, sleep and keep-alive in hosted_sleep.c. */
#ifndef SANDBOX_HOSTED_HOSTED_PRIV_H
#define SANDBOX_HOSTED_HOSTED_PRIV_H

#include "sandbox/common/layers.h"
#include "sandbox/common/mirror.h"
#include "sandbox/hosted/hosted.h"
#include "sandbox/hosted/hosted_book.h"
#include "sandbox/shell_protocol.h"

#define REMOTE_WORKSPACE "/workspace"

/* of a request to open or close one, doubled after each try */
enum { HOSTED_TRIES = 4, HOSTED_WAIT_MS = 400 };

struct remote_provider {
	struct driver d; /* first */
	struct remote_port port;
	char *name, *about;
	bool swept;
	/* hosted_tree.c: boxes whose files go over now, and those that wait for it */
	struct remote *filling, *to_fill;
};

struct script;

/* Processes that the memory limit has killed. Each run says what the box's counter was when it
 * began and when it ended; runs overlap, and end in any order: what counts is the greatest less the
 * least. */
struct remote_oom {
	/* a run has said; also since the box was woken last, when the counter may have begun
	 * again */
	bool known, since;
	int64_t past;	     /* those before that */
	int64_t least, most; /* since */
};
void hosted_oom_heard(struct remote_oom *o, int64_t before, int64_t after);
void hosted_oom_again(struct remote_oom *o);
int64_t hosted_oom_count(const struct remote_oom *o); /* -1: not known */

struct remote {
	struct box b; /* first */
	struct remote_provider *of;
	struct loop *loop;
	char *name, *base /* directory in the box for what we keep there */, *owner;
	struct strv env;
	json_t *options, *box; /* given; as the plugin keeps it */
	struct book_entry *book;
	bool open, dead, closing;
	bool has_gzip;	/* in the box */
	struct err why; /* it is dead or could not be opened */
	unsigned ids;	/* of runs and files in the box */
	struct remote_oom oom;
	struct buf finished; /* ids whose files in the box can go */
	struct script *scripts;
	struct run *runs;
	unsigned busy; /* scripts under way */
	int64_t opened_us, busy_since_us, busy_us, asleep_since_us, asleep_us;
	/* hosted_run.c: there and back at best, 0 = not known; the box's clock before ours */
	int64_t least_way_us, clock_off_us;
	int64_t uusd_hour; /* what it costs; -1 unknown */
	/* hosted_sleep.c */
	enum { AWAKE, FALLING_ASLEEP, ASLEEP, WAKING } state;
	struct loop_timer *idle, *alive;
	int64_t idle_ms, ttl_s;
	const char *idle_how; /* NULL: never */
	struct remote_op *sleep_op, *alive_op;
	/* hosted_open.c */
	struct remote_op *op;
	box_done_fn *opened, *closed;
	void *opened_self, *closed_self;
	struct script *setup;
	unsigned tries;
	struct loop_timer *again;
	char *setup_done; /* what the box said about itself; NULL not yet */
	int64_t skew_s;	  /* its clock before ours, as it was then */
	void (*progress)(void *self, const char *line, size_t len);
	void *progress_self;
	json_t *asked; /* what open was asked with */
	/* an answer to that was lost: there may be boxes with our tag of which we do not know */
	bool doubtful;
	struct err last; /* why the last try to open it failed */
	json_t *rest;	 /* those, at the end */
	/* hosted_tree.c */
	struct layers layers;
	struct folder *folder;
	struct mirror *mirror;
	loop_fn *tree_done; /* why says how it went */
	struct loop_timer *turn;
	struct remote *next_filled; /* of the list of the provider that it is in */
	/* number of changes of its files by commands; commands under way. Atomic: workers read them
	 * */
	unsigned changes, running;
	unsigned pulled; /* the number of changes that the mirror has; the worker's */
};

/* The box with everything that is to be handed to the plugin as first argument; returns an
 * array. */
json_t *hosted_args(const struct remote *r);
struct remote_op *hosted_ask(struct remote *r, const char *fn, json_t *args,
			     const struct remote_heard *h, void *to);

/* --- hosted_script.c: text that the box's shell runs, sent again with what make says when the
 * connection breaks. --- */
struct script_how {
	void (*make)(void *self, struct buf *text);
	/* true: that was the last one */
	bool (*line)(void *self, char kind, const char *text, size_t len);
	/* once; NULL: complete; ERR_CLOSED: the box is gone */
	void (*end)(void *self, const struct err *err);
	bool once; /* must not be sent twice */
};
struct script *script_begin(struct remote *r, const struct script_how *how, void *self);
/* A script that @rests is not work: for its sake no sandbox stays awake, or wakes. It waits while
 * the sandbox sleeps. */
struct script *script_go_on(struct remote *r, const struct script_how *how, void *self, bool rests);
void script_rest(struct script *s, bool rests);
void script_as_utf8(struct buf *text); /* as it is sent */
void script_cancel(struct script **s); /* no callback follows; its command continues */
void script_pause(struct script *s, bool paused);
void scripts_go(struct remote *r); /* the box has woken */
/* it is about to sleep, for none but resting ones are there */
void scripts_park(struct remote *r);
void hosted_died(struct remote *r, const struct err *err); /* the box is gone: everything ends */

/* --- hosted_sleep.c --- */
bool hosted_awake(struct remote *r); /* false: it will be, then scripts_go */
void hosted_quiet(struct remote *r); /* nothing runs in it now */
void hosted_alive_begin(struct remote *r);
void hosted_sleep_end(struct remote *r);

/* --- hosted_run.c --- */
struct run *hosted_run_prepare(struct box *b, const struct run_opts *o, const struct run_ops *ops,
			       void *self);
void hosted_run_go(struct run *r);
void hosted_run_stdin(struct run *r, const void *bytes, size_t len, bool eof);
size_t hosted_run_stdin_queued(const struct run *r);
void hosted_run_signal(struct run *r, int signo);
void hosted_run_resize(struct run *r, const struct winsize *size);
void hosted_run_pause(struct run *r, bool paused);
void hosted_run_turn(struct run *r, enum run_turn turn, const char *mark);
void hosted_run_free(struct run *r);
void hosted_run_quiet(struct run *r);	 /* it changes nothing that the mirror does not know of */
void hosted_runs_drop(struct remote *r); /* frees the first */
/* the box is about to sleep; it does not, or with its processes */
void hosted_runs_park(struct remote *r, bool park);
/* it sleeps in such a way that none outlives it: parked runs have ended */
void hosted_runs_slept(struct remote *r);

/* hosted_files.c: a file outside of the workspace, from what gzip has made of it; the box has
 * gzip. */
void hosted_put_packed(struct remote *r, const char *path, const void *gz, size_t len, int mode,
		       box_done_fn *done, void *self);

/* --- hosted_tree.c --- */
extern const struct box_tree_ops hosted_tree;
NODISCARD int hosted_tree_take(struct remote *r, const struct box_opts *o, struct err *err);
void hosted_tree_fill(struct remote *r, loop_fn *done); /* the directory here; then done(r) */
/* our program and the files over there; then done(r) */
void hosted_tree_send(struct remote *r, loop_fn *done);
void hosted_tree_over(struct remote *r); /* nobody waits for its files now */
void hosted_tree_free(struct remote *r);

/* --- hosted_open.c, hosted_close.c --- */
struct box *hosted_open(struct remote_provider *of, struct loop *l, const struct box_opts *o,
			box_done_fn *done, void *self);
void hosted_close(struct box *b, box_done_fn *done, void *self);
/* {"open_us","exec_us","asleep_us","uusd_hour","uusd"} */
json_t *hosted_cost(const struct remote *r);

/* --- hosted.c --- */
struct remote *hosted_of(struct box *b);

/* --- hosted_files.c --- */
void hosted_box_read(struct box *b, const char *path, size_t max, box_done_fn *done, void *self);
void hosted_box_write(struct box *b, const char *path, const void *data, size_t len, int mode,
		      box_done_fn *done, void *self);
void hosted_box_write_taken(struct box *b, const char *path, struct buf *data, int mode,
			    box_done_fn *done, void *self);
void hosted_box_list(struct box *b, const char *path, box_done_fn *done, void *self);
void hosted_box_stat(struct box *b, const char *path, box_done_fn *done, void *self);
void hosted_box_kill(struct box *b);

/* --- hosted_sweep.c --- */
void hosted_open_sweep(struct remote_provider *of, const char *owner);

/* --- hosted_close.c --- */
json_t *tags_of(const struct remote *r);
bool can_list(const struct remote *r);
/* It could not be opened: returns its parts, then gives the opener the reason. */
void hosted_open_fail(struct remote *r, const struct err *err);
void hosted_open_fail_early(void *self);

#endif
