/* What the hooks of each agent say and read, as the events of Claude Code, which sandglass uses
 * inside. An agent that is not in the table speaks as Claude Code does. */
#ifndef CLI_HOOK_DIALECT_H
#define CLI_HOOK_DIALECT_H

#include <stdbool.h>

#include "base/json.h"

struct hook_dialect;

/* NULL: sandglass doesn't know how to install hooks there. */
const struct hook_dialect *hook_dialect_find(const char *agent);
/* "claude, codex, ...": the names that hook_dialect_find knows. Static. */
const char *hook_dialect_names(void);

/* The settings of the agent that call @command for each event. Returns owned text. */
char *hook_dialect_settings(const struct hook_dialect *d, const char *command);
/* Where its settings belong: a sentence without its full stop. */
const char *hook_dialect_place(const struct hook_dialect *d);
/* "ask" makes the agent ask; else its own settings decide, which may allow the call. */
bool hook_dialect_asks(const struct hook_dialect *d);

/* @event as the agent sent it, @named the event's name from the command line or NULL -> owned, with
 * hook_event_name, session_id, cwd, tool_name, tool_input, tool_use_id, tool_response, prompt as
 * Claude Code has them; other fields stay. */
json_t *hook_dialect_event(const struct hook_dialect *d, const json_t *event, const char *named);

/* A decision in the format that the agent reads. @decision: "allow", "deny", or "ask"; @input: the
 * changed arguments or NULL. Returns owned text. */
char *hook_dialect_decision(const struct hook_dialect *d, const char *decision, const char *why,
			    const json_t *input);

#endif
