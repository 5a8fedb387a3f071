/* The one gate. Nothing takes effect except through here: policy, holds, budgets, latches,
 * approvals, then one barrier.
 *
 * Order for each action: intent_hash is computed; action.requested appended; policy judges (rules
 * in C; a `when` goes to the judge below); budgets reserve; latches and holds look; action.judged
 * appended. Then
 *   deny             -> action.ended (denied), done
 *   ask, hold, latch -> action.held; waits for gate_decide (as long as it takes; survives a
 *   restart)
 *   allow            -> action.started in the same transaction, ONE barrier, effector->start.
 * A decision is action.decided, re-judged if it edited, intent_hash compared again, one more
 * barrier. Actions of one box that may write run one after another (FIFO) unless spec.parallel. */
#ifndef ACTION_GATE_H
#define ACTION_GATE_H

#include "action/action.h"
#include "action/policy.h"

struct gate;

/* Answers a rule's `when` (the Lua host behind it). Exactly one gate_judged follows per call, or 50
 * ms pass. */
struct gate_judge {
	/* @act is judgement_act's object, borrowed; its "rule":{file,line,name,n} says which
	 * function: n is the host's number. */
	void (*when)(void *self, uint64_t ticket, const char *file, int line, json_t *act);
	void *self;
};

struct gate_ops {
	/* After action.ended of an action that may have written: take a snapshot, then call
	 * gate_settled(action). The next writing action of that sandbox, and the caller of this
	 * one, wait for it. NULL = no snapshots. */
	void (*snapshot)(void *self, uint64_t action, uint64_t box);
	/* A held action has arrived or gone (notification, screens). */
	void (*on_held)(void *self, uint64_t action, bool held);
	/* A budget is used up: the session should ask. */
	void (*on_budget)(void *self, uint64_t agent, const char *what);
	/* Adds the present cost of hosted sandboxes, which are paid by the hour: gate_accrue for
	 * each. */
	void (*accrue)(void *self);
	/* Did a reviewer reject parts of what the action would merge? Then only a decision about it
	 * alone approves it. NULL = no. */
	bool (*rejected)(void *self, uint64_t action);
	/* DECIDE_KILL: a user wants the agent gone (its held action has been ended as killed, the
	 * agent is paused). */
	void (*on_kill)(void *self, uint64_t agent, json_t *who);
	void *self;
};

struct gate *gate_new(struct loop *l, struct record *r, const struct gate_ops *ops);
void gate_free(struct gate **g);

/* Gets what actions put out before anything is replaced in it and before it is recorded: for
 * terminals that show it. One. */
void gate_on_raw(struct gate *g, record_clean_fn *fn, void *self);

/* Policy data: strictest verdict over all sets wins. Takes @p. */
void gate_add_policy(struct gate *g, struct policy *p);
/* Its rules count no longer; actions already checked keep pointing at them. */
void gate_retire_policy(struct gate *g, const struct policy *p);
void gate_set_judge(struct gate *g, const struct gate_judge *j);
/* Facts about a sandbox: its isolation decides the default verdict if no rule matches; its
 * isolation level is part of intents. */
void gate_box(struct gate *g, uint64_t box, enum gate_wall wall, const char *profile,
	      const char *name);
/* its open actions end interrupted or cancelled by their effector */
void gate_box_gone(struct gate *g, uint64_t box);
/* While a sandbox is locked (counted) none of its actions starts; allowed ones queue. Quiet: none
 * of its actions is about to start, and no file action runs (a process can be frozen, a file action
 * can't). */
void gate_box_lock(struct gate *g, uint64_t box, bool locked);
bool gate_box_quiet(const struct gate *g, uint64_t box);
/* The agents with running or starting actions in @box, each once, 0 for the script. Background
 * processes and a user's own commands don't count. Without such an action: the agent of the last
 * one. Returns the number. */
size_t gate_box_users(const struct gate *g, uint64_t box, uint64_t **out); /* *out: owned */
/* The commands and shells that run in @box now, also yours, oldest first. Returns how many. *out:
 * owned; its elements are borrowed */
size_t gate_box_commands(const struct gate *g, uint64_t box, struct action ***out);
void gate_agent(struct gate *g, uint64_t agent, const char *name);
/* An ask whose rule names no timeout is denied after @us without an answer; 0 = it waits for
 * ever. */
void gate_ask_timeout(struct gate *g, int64_t us);
/* ask and hold become deny, reason "no user" */
void gate_unattended(struct gate *g, bool no_input);
bool gate_person_missed(const struct gate *g); /* that has happened */

/* Submits. Copies @spec (takes a reference of args, which must not change). @eff and @client.self
 * must live until done. Never calls back from inside. Returns the action's id. */
uint64_t gate_submit(struct gate *g, const struct action_spec *spec, const struct effector *eff,
		     const struct action_client *client);
struct action *gate_action(struct gate *g, uint64_t id); /* NULL when gone */
/* NULL: it was not judged (yet) */
const struct judgement *action_judgement(const struct action *a);
bool action_by_person(const struct action *a); /* a user said yes to this very action */
void gate_cancel(struct gate *g, uint64_t id, const char *how, const char *why);
void gate_judged(struct gate *g, uint64_t ticket, bool matched, const char *why,
		 const struct err *failed);
void gate_settled(struct gate *g, uint64_t action);

/* Users. @who is {"uid":..,"name":..,"tty":..,"pid":..}; borrowed. */
enum decision {
	DECIDE_APPROVE,
	DECIDE_DENY,
	DECIDE_DENY_PAUSE,
	DECIDE_EDIT,
	DECIDE_LATER,
	DECIDE_KILL
};
struct decide {
	uint64_t action;
	enum decision decision;
	struct hash intent;  /* what the user saw; all zero = as it is now */
	const char *message; /* note, or the text that the model gets; may be NULL */
	/* DECIDE_EDIT: {"argv":[...]} or {"cmd":"..."} or {"data":...}; borrowed */
	json_t *edit;
	/* approve for session: a pattern (policy.h, struct waiver); may be NULL */
	const char *waiver;
	/* with a waiver: connections to this host pattern, too; may be NULL */
	const char *waiver_host;
	bool waiver_all; /* for every agent, not only this one */
	/* 0 = as long as the session, any number; this approval is not counted */
	int64_t waiver_for_us, waiver_uses;
	/* name of the rule that was added with this decision; may be NULL */
	const char *rule;
	const char *note; /* for the record alone; may be NULL */
	/* what the user typed, when a rule says "confirm": the box's name, else the tool's or
	 * kind's */
	const char *confirm;
	/* approve: the effect is the difference that this dry run made, applied by @with */
	uint64_t promote;
	const struct effector *with; /* must live until the action's end */
	const json_t *others; /* with a session approval or a rule: ids of held actions that it also
			 * answers, as you were shown. Those still held get a decision of their own.
			 * Borrowed; NULL none */
	json_t *others_done;  /* the ids of those are appended here; borrowed, may be NULL */
	/* the gate's own: this one goes with the decision about that one */
	uint64_t with_action;
	json_t *who;
};
/* ERR_NOENT not held (the text names the decision, its author, and its time, if there was one),
 * ERR_INVALID intent differs, the edit or the waiver is wrong, or a high-risk action's sandbox has
 * changed since it was shown (it is held again with the new state; the next approval counts),
 * ERR_BUSY after a crash until its script has submitted it again, ERR_DENIED when a rule requires a
 * typed word that differs from @confirm. Screens ask twice for high risk, the gate doesn't. */
NODISCARD int gate_decide(struct gate *g, const struct decide *d, struct err *err);

/* May @d be decided now? As gate_decide, without doing it. */
NODISCARD int gate_may_decide(struct gate *g, const struct decide *d, struct err *err);

/* Patterns to choose from for DECIDE_APPROVE with .waiver, narrowest first, from the parts that
 * require approval, each with its matches among the actions of this session:
 * [{"pattern","wide","matched":n,"denied":n,"actions":[id...]}], newest first, at most 50 ids.
 * Returns owned; empty when the action is gone, not held by a question, or cannot be waived. */
json_t *gate_waiver_proposals(struct gate *g, uint64_t action);
/* Hosts that a held command would ask to connect to, from addresses in its words and from @seen
 * ([{"host","port"}], of a try; may be NULL), each with what a waiver for it would have matched:
 * [{"host":"example.org:443","matched","denied","actions", "tried"}]. Empty for other actions, and
 * for hosts that are not asked about. Returns owned. */
json_t *gate_waiver_hosts(struct gate *g, uint64_t action, const json_t *seen);
/* The same for a pattern that a user has typed: {"pattern","wide","matched","denied","actions"}
 * or ERR_PARSE. Returns owned or NULL. Both also name the other held actions whose question it
 * would answer, for all agents: "others": [{"action","agent","stays"}]; "stays" says why that one
 * stays held all the same (decide.others). */
json_t *gate_waiver_try(struct gate *g, uint64_t action, const char *pattern, struct err *err);

/* Would @filter, held, hold @a? Known before: filter_known_before. */
bool gate_finds(const struct gate *g, const struct filter *filter, const struct action *a);

/* Latches. @agent 0 = everybody. What users do themselves (their shell, rollback, merge) is not
 * held by them. Continue also lets go what a hold filter stopped ("until the next hold"); questions
 * still want their answer. A step leaves the agent paused; with nothing held it is kept for the
 * next action. A pause stops what waits for its turn in a box, too: it is held when that comes. An
 * approval lets its one action run though its agent is paused. */
void gate_pause(struct gate *g, uint64_t agent, json_t *who);
void gate_continue(struct gate *g, uint64_t agent, json_t *who);
/* Everybody is paused by a freeze; a thaw undoes that, and no pause, step or hold of a user
 * besides. Continue ends both. */
void gate_freeze(struct gate *g, json_t *who);
void gate_thaw(struct gate *g, json_t *who);
void gate_step(struct gate *g, uint64_t agent, json_t *who); /* lets exactly one action through */
bool gate_paused(const struct gate *g, uint64_t agent);
/* Hold filters (breakpoints) over fields known before the action; "" clears. ERR_PARSE with column
 * and "did you mean". */
NODISCARD int gate_hold(struct gate *g, const char *filter, json_t *who, struct err *err);
/* The event of the newest hold or waiver that can be taken back; 0: there is none. */
uint64_t gate_newest_set(struct gate *g);
/* The earlier filter applies again, or the session approval is revoked: @said gets which. False:
 * @seq is neither. */
bool gate_take_back(struct gate *g, uint64_t seq, json_t *who, struct buf *said);

/* Budgets: a tree of reservations. An action is counted in the newest budget of its agent (else in
 * that of agent 0) and in all above it: actions by one, time_us by how long it ran, uusd and tokens
 * by "cost_uusd" and "tokens" in the body of action.ended. "reserve":{"uusd","tokens"} in its args
 * is reserved before it runs. An exhausted budget requires approval: the action is held for the
 * reason "budget" until you extend the budget, approve this one action, or deny it (END_BUDGET).
 * Questions to you, snapshots, and your own actions are not counted. */
struct budget_limits {
	int64_t uusd, tokens, time_us, steps, actions;
}; /* 0 = no limit */
/* returns id */
uint64_t gate_budget(struct gate *g, uint64_t parent, uint64_t agent,
		     const struct budget_limits *lim);
void gate_budget_extend(struct gate *g, uint64_t budget, const struct budget_limits *more,
			json_t *who);
void gate_budget_spend(struct gate *g, uint64_t budget, const struct budget_limits *used);
/* Dollars that no action spent: of a rented box that @agent opened (0: the script). Recorded as
 * budget.spent. */
void gate_charge(struct gate *g, uint64_t agent, int64_t uusd);
/* The same of one that is still open, so far; only within gate_ops.accrue, and not recorded. */
void gate_accrue(struct gate *g, uint64_t agent, int64_t uusd);
/* "83 of 51 tokens": what of it, or of one that it is a part of, is used up; returns owned, NULL
 * nothing. */
char *gate_budget_empty(struct gate *g, uint64_t budget);
/* Is a limit in dollars set for @agent, or above it? */
bool gate_counts_dollars(struct gate *g, uint64_t agent);
json_t *gate_budget_left(struct gate *g, uint64_t budget); /* returns owned {"uusd":..,...} */

/* {"held":[{...}], "paused":[...], "hold":"...", "budgets":[...]}: state for clients that attach
 * later. Returns owned. */
json_t *gate_state(struct gate *g);
/* Is @a held for a decision? An action kept back only by a pause is not: you resume its agent. */
bool gate_waits(const struct action *a);
/* The same of a row of gate_state's "held"; and how many of them do. */
bool gate_row_waits(const json_t *row);
size_t gate_state_waits(const json_t *state);
/* After a crash, and where a fork begins: closes every open intent of the record as interrupted,
 * except those that were held: these are held again under the same id when their owner submits the
 * same intent (by hash) in the resumed run. */
NODISCARD int gate_recover(struct gate *g, const char *session_path, struct err *err);

#endif
