/* Brings actions about in open boxes: the effector between the gate (src/action) and the drivers
 * (driver.h).
 *
 * One struct boxes per session. A box is opened once its box.open event is durable; from then on
 * boxes_effector serves exec, shell, read, write and edit for it. Time-outs (TERM, 2 s, KILL),
 * cancellation and back-pressure live here and not in drivers, so that they are alike for all. Loop
 * thread only. */
#ifndef SANDBOX_EFFECT_H
#define SANDBOX_EFFECT_H

#include "action/gate.h"
#include "base/mem.h"
#include "sandbox/driver.h"

struct boxes;

/* box_opts whose pointers belong to us. */
struct owned_opts {
	struct box_opts o;
	struct arena arena;
};
/* Between options and the body of a box.open event, which holds all that it takes to open the same
 * box again (effect_opts.c has the table). box_opts_get leaves name and state_dir to the caller. */
void box_opts_put(json_t *body, const struct box_opts *o);
void box_opts_get(struct owned_opts *to, const json_t *body);
void box_opts_copy(struct owned_opts *to, const struct box_opts *from);
void box_opts_free(struct owned_opts *o);

struct boxes_ops {
	/* A box is there (result of driver->open, borrowed) or could not be opened. */
	void (*opened)(void *self, uint64_t box, json_t *result, const struct err *err);
	/* A box that had been opened has gone: closed on demand, or died (@err). */
	void (*gone)(void *self, uint64_t box, const struct err *err);
	/* May be NULL. A third-party agent in the sandbox has started a program with these words
	 * (array of bytes): for which of its tool calls (an event or an action)? 0: for none.
	 * @how_out: "words" its command is in them, "time" the only call under way. */
	uint64_t (*caller)(void *self, uint64_t box, const json_t *argv, const char **how_out);
	/* May be NULL: box_opts.state_dir is given. The state directory of a sandbox whose id is
	 * known now; returned owned. */
	char *(*state_dir)(void *self, uint64_t box, const struct box_opts *o);
	/* May be NULL. The program of a running action with args.interactive has been stopped by
	 * @signo; 0: it continues. */
	void (*stopped)(void *self, uint64_t action, int signo);
	void *self;
};

struct boxes *boxes_new(struct loop *l, struct record *r, struct gate *g,
			const struct boxes_ops *ops);
void boxes_free(struct boxes **b); /* every box must be gone */

/* Appends box.open and opens behind its barrier. @o is copied. Returns the box's id;
 * boxes_ops.opened follows. */
uint64_t boxes_open(struct boxes *b, const struct driver *d, const struct box_opts *o,
		    uint64_t cause, uint64_t agent);
/* Every program in @box finds the variable ("NAME=value"), which is in no event and no copy of the
 * sandbox's options. Call it in the turn of boxes_open. False, and nothing is done: the options
 * have one of that name. */
bool boxes_env(struct boxes *b, uint64_t box, const char *entry);
/* Kills what is in it; boxes_ops.gone follows. Boxes that are being opened are closed when they are
 * there. */
void boxes_close(struct boxes *b, uint64_t box);
/* Kills what runs in the box, also what actions left behind; their actions end as killed, with
 * @why. */
void boxes_kill(struct boxes *b, uint64_t box, const char *why);
/* Counts what open rented boxes have cost so far in the budgets of those that opened them
 * (gate_accrue). */
void boxes_accrue(struct boxes *b);
size_t boxes_count(const struct boxes *b);	      /* opening, open and closing ones */
struct box *boxes_get(struct boxes *b, uint64_t box); /* NULL while opening and when gone */
bool boxes_lost(struct boxes *b, uint64_t box); /* it has died, as an action in it has found */
const char *boxes_name(struct boxes *b, uint64_t box); /* borrows; "" when unknown */
/* what it was opened with; borrows; NULL when gone */
const struct box_opts *boxes_opts(struct boxes *b, uint64_t box);
uint64_t boxes_find(struct boxes *b, const char *name); /* by name; 0 = none */
uint64_t boxes_at(struct boxes *b, size_t i);		/* id of the i-th; 0 past the end */

/* NULL when the sandbox does not exist */
const struct effector *boxes_effector(struct boxes *b, uint64_t box);

/* Input of a running exec or shell of action @id. The caller has recorded it and passed the
 * barrier. ERR_NOENT when it is not running. */
NODISCARD int boxes_stdin(struct boxes *b, uint64_t id, const void *bytes, size_t len, bool eof,
			  struct err *err);
/* Before that: ERR_BUSY when so much was said to connection @id, and not taken by its other side,
 * that no more may be. */
NODISCARD int boxes_stdin_room(struct boxes *b, uint64_t id, struct err *err);
/* Bytes given to action @id that wait here until it takes them; 0 when it is not running. */
size_t boxes_stdin_queued(struct boxes *b, uint64_t id);
/* Must what is given to action @id now stay out of the record? Its terminal does not echo: a
 * password, or a program that draws its own screen. Where that can't be known, the last line it
 * printed decides ("Password: "). */
bool boxes_stdin_hidden(struct boxes *b, uint64_t id);
NODISCARD int boxes_signal(struct boxes *b, uint64_t id, int signo, struct err *err);
/* Of one that does not run yet: the size that it starts with. */
NODISCARD int boxes_resize(struct boxes *b, uint64_t id, const struct winsize *size,
			   struct err *err);

/* Does the terminal of running action @id echo what is typed? false also where that can't be
 * seen. */
bool boxes_echoes(struct boxes *b, uint64_t id);

/* Asks for all boxes (0) or one to be frozen or thawed; box.frozen is recorded when it is so. */
void boxes_freeze(struct boxes *b, uint64_t box, bool frozen, uint64_t cause);
/* The same; @done once all of them are frozen (or continue), with the first reason why one is not.
 * It may be called from inside. */
typedef void boxes_frozen_fn(void *self, const struct err *err);
void boxes_freeze_then(struct boxes *b, uint64_t box, bool frozen, uint64_t cause,
		       boxes_frozen_fn *done, void *self);
/* @agent continues: thaws the frozen sandboxes that it uses (gate_box_users; one without users is
 * its opener's), but not those that another agent uses, too, which was not continued since the
 * freeze and is not @over. @stays, for each of those. */
struct thaw_ops {
	bool (*over)(void *self, uint64_t agent); /* it has ended */
	void (*stays)(void *self, uint64_t box, uint64_t agent);
	void *self;
};
void boxes_thaw_for(struct boxes *b, uint64_t agent, uint64_t cause, const struct thaw_ops *ops);
bool boxes_frozen(struct boxes *b, uint64_t box); /* as asked for */
/* Freezes the sandbox for the sake of action @cause, which waits for your approval (0: no longer,
 * because of @why), but not while another action works in it. Freezes and thaws of yours are left
 * alone. */
void boxes_auto_freeze(struct boxes *b, uint64_t box, uint64_t cause, const char *why);
/* Another owner holds the sandbox frozen: requests meanwhile are remembered and recorded, no
 * process of it runs. */
void boxes_pin(struct boxes *b, uint64_t box, bool pinned);
/* A worker looks at its files: a box that is to be closed is closed when the last hold has gone.
 * Each one is given back. */
void boxes_hold(struct boxes *b, uint64_t box, bool held);
/* The same while the driver owes an answer that the guest may have to give (a dial, a read). A
 * sandbox that closes while it is frozen lets its guest answer; its processes stay stopped. */
void boxes_hold_answer(struct boxes *b, uint64_t box, bool held);
/* A connection of the sandbox was refused or cut: the end of command @within (0: unknown, so of
 * every running one) names @host, @port (0: none) and @why, because the program itself may print
 * only a status. */
void boxes_refused(struct boxes *b, uint64_t box, uint64_t within, const char *host, unsigned port,
		   const char *why);
/* Pauses reading the output of exec or shell @id: it stays in the sandbox's pipe and so slows
 * its writer down. Does nothing once its end was requested. */
void boxes_hold_output(struct boxes *b, uint64_t id, bool held);
/* Reports the programs that run in a sandbox where its options ask for it (driver.h,
 * box_opts.trace), for runs of others, too: the value for run_opts.trace; the listener of
 * run_ops.on_trace, for a run that stands for @a now; that it stands for another action; that the
 * run has ended. @owner is NULL or a watch from then on, and must live until watch_leave. */
struct watch;
enum trace_want boxes_watched(struct boxes *b, uint64_t box);
void boxes_watch(struct boxes *b, uint64_t box, struct action *a, int listener, int sys,
		 struct watch **owner);
void watch_turn(struct watch *w, struct action *a); /* NULL is fine */
void watch_leave(struct watch **owner);

/* The @i-th action that runs in it; 0 past the end. */
uint64_t boxes_running(struct boxes *b, uint64_t box, size_t i);
/* Number of the box's processes that actions left behind (spawned or in the background). */
int boxes_alive(struct boxes *b, uint64_t box);
/* Of those the ones whose action has ended. What a shell that is open has in the background is its
 * own. */
int boxes_left(struct boxes *b, uint64_t box);
/* Checks whether they still live, unless something runs in it. For the code that froze the sandbox
 * after the end of an action: a frozen sandbox does not report it. */
void boxes_alive_look(struct boxes *b, uint64_t box);

#endif
