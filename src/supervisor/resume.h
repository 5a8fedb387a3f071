/* Going on with a session whose supervisor is gone: open actions are closed as interrupted, boxes
 * are opened again with the files of their newest snapshot, the script is brought to where it
 * stood, and only then anything runs. */
#ifndef SUPERVISOR_RESUME_H
#define SUPERVISOR_RESUME_H

#include "supervisor/core/super_priv.h"

struct resume;

/* Reads what the session at @path was (before its record is opened for writing). */
NODISCARD int resume_read(struct resume **out, const char *path, struct err *err);
void resume_free(struct resume **r);
/* Before the gate's own recovery: agents are known again. */
void resume_agents(struct resume *r, struct super *s);
/* After it: and so are their budgets. */
void resume_budgets(struct resume *r, struct super *s);
/* Opens the boxes, then the host; @ops and @self as in luahost_new. Ends the session if that cannot
 * be. */
void resume_begin(struct resume *r, struct super *s, const struct host_ops *ops, void *self);
void resume_first_action(struct resume *r); /* something new is about to be done; r may be NULL */
/* answer_cache.h; NULL when nothing was resumed */
struct recorded *resume_recorded(const struct resume *r);
/* The box that stands for @old now; @old itself when there is none. */
uint64_t resume_box(const struct resume *r, uint64_t old);
/* super_box.c tells that a box of resume_begin is there, or could not be opened. */
void resume_box_ready(struct resume *r, uint64_t box, const struct err *err);

#endif
