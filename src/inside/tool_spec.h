/* The effect of a third-party agent's tool call, in our terms: agents name the same tools
 * differently. Source: the tools that the agents of plugins/agents/ offer their models. */
#ifndef INSIDE_TOOL_SPEC_H
#define INSIDE_TOOL_SPEC_H

#include "action/action.h"

/* Fills kind, argv, cmdline, cwd, path, data and args of @out from a call of @name. Tools that are
 * nobody's shell or file tool become kind mcp (of the box). Owns argv; the rest borrows from @args
 * and @text, which must outlive it. @text: the arguments when they are no JSON object (a patch, a
 * script). */
void tool_spec(struct action_spec *out, const char *name, json_t *args, const char *text);

/* The effector of an action that only permits: it is over when it is allowed; who asked then does
 * it. */
void permission_start(void *self, struct action *a);
void permission_cancel(void *self, struct action *a, const char *how);

#endif
