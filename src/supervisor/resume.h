/* Going on with a session whose supervisor is gone: open actions are closed as interrupted, boxes
 * are opened again with the files of their newest snapshot, the script is brought to where it
 * stood, and only then anything runs. */
#ifndef SUPERVISOR_RESUME_H
#define SUPERVISOR_RESUME_H

#include "luahost/luahost.h"
#include "supervisor/core/resumed.h"

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
#endif
