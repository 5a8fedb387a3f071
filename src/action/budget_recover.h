/* Budgets after a crash or in a fork, rebuilt from the recording: limits, extensions, and amounts
 * used; a resumed session doesn't count from zero. Loop thread only; called by gate_recover with
 * the events in order. */
#ifndef ACTION_BUDGET_RECOVER_H
#define ACTION_BUDGET_RECOVER_H

#include "base/json.h"
#include "wire/event.h"

struct gate;

/* The newest budget of @agent; of 0: the session's own, the oldest one without a parent. 0: there
 * is none. */
uint64_t gate_budget_of(const struct gate *g, uint64_t agent);

/* a budget.* event */
void budget_recover(struct gate *g, const struct event *ev, const json_t *body);
/* The budget that an action is counted in, by the body of its action.requested; 0: in none. */
uint64_t budget_recover_of(struct gate *g, uint64_t agent, const json_t *requested);
/* body of its action.ended */
void budget_recover_use(struct gate *g, uint64_t budget, const json_t *ended);

#endif
