/* One agent's messages and actions in order, for conversation formats (ATIF, Inspect, reports): a
 * user's or system's text, or one answer of a model with its tool calls and their results.
 *
 * 1. A step is complete when it is delivered: one turn of one agent is in memory at a time.
 * 2. An action belongs to the first remaining call of the answer with its tool, in order. Actions
 *    that no answer requested become calls of their own, "a405" for action 405.
 * 3. A call's result for the model is taken from the next request (message of role "tool" for
 *    that call). Reading only; one thread. */
#ifndef EXCHANGE_STEPS_H
#define EXCHANGE_STEPS_H

#include "exchange/act.h"

enum step_who { STEP_SYSTEM, STEP_USER, STEP_AGENT };

struct step_call {
	char *id, *name;
	json_t *args;	 /* an object; owned */
	uint64_t action; /* 0: none was recorded for it */
	uint64_t tool;	 /* its tool.call, for a script's own tool without an action; 0: none */
	bool ended, ok;	 /* tool.end of either was seen, with success */
	char *result;	 /* its text; NULL: none. Owned */
	size_t result_len, result_bytes; /* recorded; before it was cut */
	char *told;			 /* what the model was given back; NULL: unknown. Owned */
	size_t told_len;
};

struct step {
	enum step_who who;
	uint64_t seq; /* the event that it comes from */
	int64_t ts_us;
	char *text;	  /* owned */
	const char *from; /* STEP_USER: "task", or "person"; else "" */
	/* STEP_AGENT: body of model.reply; NULL when no model was asked. Owned */
	json_t *reply;
	uint64_t model;	 /* STEP_AGENT: the action of the model call; 0 = none */
	int64_t took_us; /* of that */
	struct step_call *call;
	size_t nr, cap;
};
void step_release(struct step *st);

struct steps;
/* @agent: seq of its agent.start; 0 = what no agent did. */
NODISCARD int steps_new(struct steps **out, struct session *s, uint64_t agent, struct err *err);
void steps_free(struct steps **st);
/* 1 and a step (release it), 0 at the end, -1 failure. */
int steps_next(struct steps *st, struct step *out, struct err *err);

/* Does it say or do anything at all? */
bool steps_any(struct session *s, uint64_t agent);

/* The agents of a session: seqs of agent.start, ascending. Owned. */
NODISCARD int steps_agents(struct session *s, uint64_t **out, size_t *nr_out, struct err *err);
/* The body of an agent's agent.start, {} for 0. New reference. */
json_t *steps_agent(struct session *s, uint64_t agent);
/* The body of its agent.end, NULL when it has none. New reference. */
json_t *steps_agent_end(struct session *s, uint64_t agent);

#endif
