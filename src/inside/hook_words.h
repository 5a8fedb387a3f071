/* What the hooks of agents say and want to hear, per vendor. Pure. */
#ifndef INSIDE_HOOK_WORDS_H
#define INSIDE_HOOK_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"

/* "claude", "codex", "gemini"; "plain" for extensions that we write. */
enum hook_format { HOOK_NONE, HOOK_CLAUDE, HOOK_CODEX, HOOK_GEMINI, HOOK_PLAIN };
/* HOOK_LOOKS: it hears what was decided before, and does not wait: a question follows. */
enum hook_event { HOOK_OTHER, HOOK_LOOKS, HOOK_ASKS, HOOK_ENDED };

struct hook_verdict {
	bool allowed;
	bool open; /* nothing is decided here: the agent does as it would without us */
	uint64_t action;
	const char *why;      /* of a refusal */
	const json_t *edited; /* what you want instead; NULL: nothing */
};

enum hook_format hook_words_format(const char *name);
enum hook_event hook_words_event(enum hook_format f, const json_t *event);
/* The answer to @event. Returns owned. */
json_t *hook_words_answer(enum hook_format f, const json_t *event,
			  const struct hook_verdict *v) NODISCARD;

#endif
