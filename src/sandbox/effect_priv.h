/* Shared by effect.c and effect_file.c: the open sandboxes of a session and their runs. */
#ifndef SANDBOX_EFFECT_PRIV_H
#define SANDBOX_EFFECT_PRIV_H

#include "base/mem.h"
#include "sandbox/effect.h"
#include "sandbox/prompt.h"

/* One exec or shell that has been prepared. */
struct job {
	struct job *next;
	struct slot *slot;
	struct action *action;
	struct run *run; /* NULL: it ended before it was let go */
	/* so: the command cannot be executed; NULL: the sandbox died under it */
	struct run_end *unrun;
	struct loop_timer *timer; /* time-out, later the grace before KILL */
	struct loop_timer *flood;
	struct several *batch;	       /* NULL: it is one command */
	struct long_command *long_one; /* NULL: its words can be run as they are */
	bool paused, unread; /* for the recorder's sake; because nobody takes the output */
	/* its sandbox is frozen: it has not been released yet, and its input is in early */
	bool waits;
	struct buf early;
	bool early_eof;
	int64_t bytes[2];     /* stdout and pty, stderr */
	struct prompt prompt; /* the line that it printed last */
	enum action_end end;
	struct watch *watch; /* effect_trace.c; NULL: its programs are not watched */
	int64_t begun_us;
	int stopped; /* the signal with which its starter ends it; 0 none */
	/* what its driver says about how it was lost, or why nothing was executed; NULL nothing */
	char *lost_why;
	json_t *refused;       /* action.ended of it; NULL nothing */
	int64_t refused_more;  /* beyond those in refused */
	struct oom_look *look; /* effect_oom.c; NULL: it runs */
};

/* How a run has ended. */
struct run_end {
	int code, signal, left;
	int64_t oom; /* processes of its box that the memory limit killed meanwhile */
};

struct slot {
	struct boxes *boxes;
	uint64_t id, agent;
	char *name;
	const struct driver *driver;
	char *killed_why; /* why all in it was killed last; NULL: it was not */
	int64_t killed_us;
	struct box *box;
	struct owned_opts opts;
	struct box_opts given; /* opts, and what boxes_env has added */
	struct strv env;
	struct effector effector;
	bool open, closing, close_wanted, frozen, pinned;
	bool silent; /* it does not answer any longer */
	bool lost;   /* it died under an action, or would have */
	int64_t oom; /* kills by its memory limit at the last reading */
	struct job *jobs;
	struct dialled *dials; /* effect_dial.c: connections into it */
	struct watch *watches; /* of runs whose processes live, also of ended actions */
	bool trace_warned;
	unsigned said;	  /* lines */
	unsigned holds;	  /* workers in its files; while there are any it is not closed */
	unsigned answers; /* of these: answers that the driver owes */
	int alive;	  /* processes that ended actions left behind, as the box says */
	struct alive_look *alive_look; /* effect_alive.c: it is being asked; NULL it is not */
	/* auto_freeze.c: the action for whose sake it is to stand still; 0 = none */
	uint64_t still;
	bool stilled; /* and it does */
	struct loop_timer *still_timer;
	/* thaw.c: agents that may continue, though it is frozen for the sake of others */
	uint64_t *let_go;
	size_t nr_let_go, cap_let_go;
};

/* The size of a terminal whose action has not been prepared yet; 0: none. */
struct size_wish {
	uint64_t action;
	struct winsize size;
};
enum { SIZE_WISHES = 32 };

struct boxes {
	struct size_wish wish[SIZE_WISHES];
	size_t next_wish;
	struct loop *loop;
	struct record *record;
	struct gate *gate;
	struct boxes_ops ops;
	struct slot **item;
	size_t nr, cap;
};

struct slot *slot_find(struct boxes *b, uint64_t id);
/* effect_alive.c: do those that were left behind still live? The answer comes later; an end in
 * between asks anew. */
void alive_look(struct slot *s);
void alive_forget(struct slot *s);
void effector_init(struct slot *s);
void boxes_freeze_why(struct boxes *b, uint64_t box, bool frozen, uint64_t cause, const char *why);
/* effect.c: all its runs are reported as ended so */
void end_jobs(struct slot *s, enum action_end end);
/* For what meets a sandbox that has died: cause, @what that means here, remedy. Returns owned. */
char *effect_died(const struct slot *s, const char *what);
void slot_forget_let_go(struct slot *s); /* thaw.c: it freezes or thaws */
void slot_works(struct slot *s);	 /* auto_freeze.c: an action begins in it */

/* --- effect_oom.c --- */
typedef void run_over_fn(struct job *j, const struct run_end *e);
/* Reads how many processes its sandbox has lost to its memory limit, then @over; the job is no
 * longer running. False: the count is not available. */
bool oom_look(struct job *j, const struct run_end *e, run_over_fn *over);
void oom_over(struct job *j); /* at once, without the look; j->look is there */
void oom_forget(struct job *j);

/* --- effect_trace.c --- */
bool box_traced(const struct slot *s);		  /* its programs are recorded */
bool box_holds_execs(const struct slot *s);	  /* and some of it waits for a user */
void trace_not_here(struct slot *s);		  /* warns if its driver cannot show them */
void job_trace(void *job, int listener, int sys); /* run_ops.on_trace */
void slot_untrace(struct slot *s);

/* --- effect.c, for effect_freeze.c and effect_running.c --- */
void let_all_go(struct slot *s);
void hold_output(struct job *j, bool held);
void effect_tell(struct job *j, int signo);
void wish_size(struct boxes *b, uint64_t id, const struct winsize *size);

#endif
