/* What a screen can ask for. The app fills this with the control client; replay leaves it empty, so
 * that replay cannot do anything: if sandglass-replay links, it has no way to run something. */
#ifndef UI_FRAME_ACT_H
#define UI_FRAME_ACT_H

#include "base/json.h"

typedef void act_done_fn(void *self, const json_t *result, const struct err *err);

struct act {
	/* Runs a command of the registry ("approve", "pause", ...) with its words and options; NULL
	 * = read-only. @done may be NULL. */
	void (*command)(void *self, const char *const *words, size_t nr, json_t *opts,
			act_done_fn *done, void *done_self);
	void *self;
	/* command NULL: why nothing can be changed ("read only: ..."); NULL nobody said */
	const char *why_not;
};

#endif
