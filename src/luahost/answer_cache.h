/* Recorded answers that the script never got: an action had ended, then the supervisor died or
 * the session was forked there. When the resumed script asks again, the recording answers;
 * nothing is done twice. The link is the host's number of the call, kept in action.requested as
 * "call". */
#ifndef LUAHOST_ANSWER_CACHE_H
#define LUAHOST_ANSWER_CACHE_H

#include "supervisor/core/core.h"

struct recorded;

struct recorded *answer_cache_new(void);
void answer_cache_free(struct recorded **r);

/* Reading, event by event, in order. */
void answer_cache_see(struct recorded *r, const struct event *ev, const json_t *body);

/* The call is in the record (host.call) already. */
bool answer_cache_asked(const struct recorded *r, uint64_t call);
/* The script has another text: none of its calls is. */
void answer_cache_ask_anew(struct recorded *r);
/* An action of the sandbox had ended, but its files are not recorded: it counts as not done, and
 * the sandbox must return to its earlier files. */
bool answer_cache_undone(const struct recorded *r, uint64_t box);

/* The event of a call that is not an action (store.set, agent.start, agent.turn, agent.end,
 * tool.call, ask, box.open, session.labeled). The event has the number of the call as "call", so
 * that a repeated call finds it, whatever events came between. NULL: no event yet. @seq_out: of the
 * event; its body is borrowed. */
const json_t *answer_cache_effect(const struct recorded *r, uint64_t call, enum event_kind kind,
				  uint64_t *seq_out);
/* The same for a call of the script (luahost/call.c), and what puts its number into the body
 * before it is appended. */
const json_t *call_done_before(const struct call *c, enum event_kind kind, uint64_t *seq_out);
/* What events name a call of the agent script by; 0: another script's. call_mark adds it. */
int64_t call_number(const struct call *c);
void call_mark(const struct call *c, json_t *body);
/* The answer of a user to the question @ask; NULL: none yet. */
const json_t *answer_cache_answered(const struct recorded *r, uint64_t ask);

/* Will answer_cache_answer answer it? For an op whose means may be gone while its answer stands. */
bool answer_cache_knows(const struct recorded *r, const struct call *c);
/* True if @c is answered from the record: soon, through what call_action would have called. */
bool answer_cache_answer(struct recorded *r, struct call *c);
/* A call that goes away before its answer. */
void answer_cache_forget(struct recorded *r, const struct call *c);

#endif
