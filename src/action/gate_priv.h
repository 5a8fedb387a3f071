/* Between the files of the gate. gate.c: submit, judge. gate_run.c: start, end. gate_decide.c:
 * decisions. gate_waiver.c: session approvals. gate_host.c: their hosts. gate_others.c: other
 * actions answered by a decision. gate_latch.c: pause, step, holds. budget.c: budgets.
 * gate_recover.c: after a crash. gate_body.c: bodies of events, intent hash. */
#ifndef ACTION_GATE_PRIV_H
#define ACTION_GATE_PRIV_H

#include "action/gate.h"
#include "base/mem.h"
#include "query/filter.h"

enum hold_reason {
	HOLD_ASK = 1,
	HOLD_FILTER = 2,
	HOLD_PAUSE = 4,
	HOLD_BUDGET = 8,
	HOLD_PRICE = 16
};
enum todo { TODO_WHEN = 1, TODO_PREPARE = 2, TODO_HELD = 4, TODO_UNHELD = 8, TODO_DONE = 16 };

struct gate_box {
	uint64_t id;
	enum gate_wall wall;
	bool gone;
	unsigned locked;
	char *profile, *name;
	uint64_t last_agent; /* whose action began in it last */
	/* the writing action that runs, or whose snapshot is being taken */
	uint64_t busy;
	struct action **queue; /* allowed, waiting for it, in order */
	size_t nr_queue, cap_queue;
};

struct gate_agent {
	uint64_t id;
	char *name;
	bool paused;
	unsigned steps; /* actions that may pass though paused */
};

struct when {
	uint64_t ticket;
	size_t match, box; /* box: which of several sandboxes */
	bool answered, failed;
};

struct action {
	struct action *next;	  /* in gate.all, oldest first */
	struct action *todo_next; /* in gate.todo */
	bool in_todo;
	struct gate *gate;
	uint64_t id;
	struct action_spec spec; /* our copy */
	const struct effector *eff;
	struct action_client client;
	void *tag;
	enum action_state state;
	uint64_t last_seq; /* cause of its next event */
	struct hash intent, tree;
	struct judgement judgement;
	bool has_judgement;
	struct when *when;
	size_t nr_when, when_left;
	unsigned reasons; /* enum hold_reason */
	unsigned todo;	  /* enum todo: work put off to the end of the turn */
	bool by_person;	  /* you approved this very intent */
	bool released;	  /* a latch let it pass: not held again for a hold or a pause */
	bool prepared, cancelled, edited, started, counted;
	bool settling; /* has ended; its snapshot is being taken */
	bool orphan;   /* recovered, nobody has submitted it again yet */
	bool shown_again;
	int64_t deadline_us; /* monotonic: a question's, or that of its `when`; 0 = none */
	int64_t until_us;    /* the same as wall time, for users */
	int64_t held_us;     /* wall: since when it has been held */
	/* requested; held since, total time held; admitted; its turn */
	int64_t asked_us, hold_us, people_us, admitted_us, begun_us;
	int64_t queued_us; /* time it waited for a turn that a pause took from it */
	int64_t started_us;
	int64_t out_us, box_us; /* action_took; box -1 = not told */
	int64_t reserved[5];	/* in its budgets */
	uint64_t budget;
	uint64_t promoted; /* seq of the dry run whose effect it gets; 0 = it runs itself */
	/* once ended, until the client has heard */
	enum action_end end;
	json_t *body;
	char *why, *rule;
};

struct budget {
	uint64_t id, parent, agent;
	int64_t limit[5], used[5], reserved[5]; /* uusd, tokens, time_us, steps, actions */
	/* millionths of a dollar that open rented boxes have cost: spent when they close */
	int64_t accrued;
	unsigned warned, empty;
};

struct decided { /* who was first */
	uint64_t action;
	enum decision decision;
	const char *by;
	char *name;
	int64_t wall_us;
};

struct gate {
	record_clean_fn *raw;
	void *raw_self;
	struct loop *loop;
	struct record *record;
	struct gate_ops ops;
	struct gate_judge judge;
	struct policy **retired; /* of closed sandboxes; actions may still point at their rules */
	size_t nr_retired, cap_retired;
	struct policy **policy;
	size_t nr_policies, cap_policies;
	struct hash policy_hash;
	struct waiver *waiver;
	size_t nr_waivers, cap_waivers;
	struct gate_box **box;
	size_t nr_boxes, cap_boxes;
	struct gate_agent *agent;
	size_t nr_agents, cap_agents;
	bool all_paused, all_frozen; /* frozen: by a freeze, which a thaw undoes */
	unsigned all_steps;
	bool unattended, person_missed;
	int64_t ask_timeout_us; /* of asks whose rule names none; 0 = none */
	struct action *all, **all_end;
	struct action *todo, **todo_end; /* with something put off, in order */
	struct action *speaking;	 /* whose output is being recorded */
	struct budget *budget;
	size_t nr_budgets, cap_budgets;
	/* models without a price that you approved under a budget in dollars */
	struct strv unpriced;
	struct filter *hold;
	char *hold_text, *hold_before;
	uint64_t hold_seq; /* of its event, which an undo takes back; 0: there is none */
	uint64_t ticket;
	struct loop_timer *timer;
	bool deferred, dead; /* run_todo is due or runs; gate_free was called meanwhile */
	struct decided decided[256];
	size_t nr_decided;
	/* what was wanted before: to show what a waiver would have covered */
	struct action_spec *past;
	bool *past_denied;
	uint64_t *past_parts; /* those that were not allowed; 0 = none */
	size_t nr_past, cap_past;
};

enum { PAST_MAX = 2000, PAST_TEXT_MAX = 4096 };

/* gate.c */
void gate_todo(struct action *a, unsigned what);
void gate_arm_timer(struct gate *g);
void action_judge(struct action *a);
void action_admit(struct action *a); /* it may run: queue or barrier */
void action_finish(struct action *a, enum action_end end, json_t *body, const char *why,
		   const char *rule);
uint64_t action_event(struct action *a, enum event_kind kind, json_t *body); /* takes @body */
/* Where the next event of @a belongs; its seq becomes a->last_seq. */
struct event action_place(const struct action *a);
struct gate_box *gate_find_box(struct gate *g, uint64_t id);	 /* NULL if unknown */
struct gate_box *gate_make_box(struct gate *g, uint64_t id);	 /* made if unknown */
struct gate_agent *gate_find_agent(struct gate *g, uint64_t id); /* made if unknown */
void action_subject(const struct action *a, struct policy_subject *out);
struct action *gate_add_action(struct gate *g);

/* gate_run.c: the recorder's tap. What an action's client gets is what was kept of the output,
 * cleaned of secrets, at the very offsets of the record. */
void gate_on_output(void *self, uint64_t action, enum record_stream s, const void *bytes,
		    size_t len);

/* gate_latch.c. paused, and no step left; takes a step, for good */
bool gate_latched(struct gate *g, struct action *a);
bool gate_holds(struct gate *g, const struct action *a);
void action_hold(struct action *a, unsigned reasons);
void action_unhold(struct action *a);
/* it left the hold, or held anew: adds up its time pending approval */
void action_waited(struct action *a);
/* Takes @what from the reasons of a held action; with none left it goes its way. */
void action_release(struct action *a, unsigned what, const char *by);

/* gate_decide.c */
bool action_tree_changed(struct action *a);   /* its box's files, since it was shown */
bool action_rejected(const struct action *a); /* gate_ops.rejected */
/* Decides a held @a as @d says (approve or deny), recorded as a decision of its own; without
 * further checks. */
void decision_carry_out(struct action *a, const struct decide *d);
void action_timed_out(struct action *a);
/* The word that an approval of it must be given with; NULL = none. */
const char *action_confirm(const struct action *a);
void waiver_add(struct action *a, const struct decide *d);
/* Adds "tried", "matched", "denied", "actions" to @out (gate_waiver_proposals). */
void waiver_count_past(struct gate *g, const struct waiver *w, json_t *out);
/* Drops what has run out; counts a use of what lifted something of @a. */
void waivers_expire(struct gate *g);
void waivers_used(struct action *a);
/* the same, whatever its judgement was when it was held */
void waivers_used_by(const struct action *a);
/* the same for a recorded action */
void waivers_touched(struct gate *g, uint64_t agent, const struct policy_subject *subject);
void waiver_drop(struct gate *g, uint64_t seq);
json_t *waivers_json(struct gate *g); /* [{"event","kind","pattern","agent","until_us","uses"}] */
/* Takes @f, which is what @text says. */
void hold_set(struct gate *g, struct filter *f, const char *text, uint64_t seq);
void past_push(struct gate *g, const struct action *a);
void past_judged(struct gate *g, const struct action *a);
void past_denied(struct gate *g, const struct action *a);

/* gate_others.c: the held actions but @but whose question these policies and waivers answer with
 * @v: [{"action","agent", "stays": why it stays held all the same}]. Returns owned. */
json_t *others_json(struct gate *g, const struct action *but, enum verdict v,
		    struct policy *const *policies, size_t nr_policies,
		    const struct waiver *waivers, size_t nr_waivers);
json_t *others_with_waiver(struct gate *g, const struct action *but, const struct waiver *w);
void others_decide(struct gate *g, const struct decide *d);

/* budget.c: HOLD_BUDGET if it cannot be reserved, HOLD_PRICE if what it costs is not known and a
 * budget in dollars waits for it. */
unsigned budget_reserve(struct action *a);
/* You approved @a: its model is not asked about again, and what waits for the same answer goes
 * on. */
void price_accepted(struct action *a);
void budget_settle(struct action *a, const json_t *body, int64_t dur_us);
void budget_drop(struct action *a);
json_t *budgets_json(const struct gate *g);

/* gate_body.c */
void spec_copy(struct action_spec *to, const struct action_spec *from);
void intent_of(const struct action_spec *s, const char *profile, struct hash *out);
json_t *requested_body(const struct action *a);
json_t *ran_json(const struct action_spec *s); /* what an edited action came to be */
void put_hash(json_t *o, const char *key, const struct hash *h);
bool hash_is_zero(const struct hash *h);

#endif
