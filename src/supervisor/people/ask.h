/* Questions of scripts to users (sg.ask): stored, shown in the queue, answered by the command
 * `answer`. */
#ifndef SUPERVISOR_PEOPLE_ASK_H
#define SUPERVISOR_PEOPLE_ASK_H

#include "supervisor/core/core.h"

void ask_begin(struct call *c);
/* @id is the seq of the ask event. ERR_NOENT when it does not wait, ERR_INVALID for a choice that
 * it does not have. */
NODISCARD int ask_answer(struct super *s, uint64_t id, const char *choice, json_t *form,
			 json_t *who, struct err *err);
/* [{"ask":id,"text":..,"choices":[..],...}]: what waits. Returns owned. */
json_t *ask_pending(struct super *s);
/* A question had no answer, since nobody is asked in this session. */
bool ask_missed_person(const struct super *s);

#endif
