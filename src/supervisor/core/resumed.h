/* Queries of other parts about a session that resumes after its supervisor died. */
#ifndef SUPERVISOR_CORE_RESUMED_H
#define SUPERVISOR_CORE_RESUMED_H

#include "supervisor/core/core.h"

struct recorded;
struct resume;

void resume_first_action(struct resume *r); /* a new effect is about to start; r may be NULL */
/* answer_cache.h; NULL when nothing was resumed */
struct recorded *resume_recorded(const struct resume *r);
/* The box that stands for @old now; @old itself when there is none. */
uint64_t resume_box(const struct resume *r, uint64_t old);
/* super_box.c tells that a box of resume_begin is there, or could not be opened. */
void resume_box_ready(struct resume *r, uint64_t box, const struct err *err);

#endif
