/* The screen and the modes that a program's earlier output has made, as the recording has it: from
 * its last keyframe (terminal.screen), else from the start. */
#ifndef TERMINAL_PAST_SCREEN_H
#define TERMINAL_PAST_SCREEN_H

#include "record/read/session.h"
#include "terminal/screen_model.h"
#include "ui/term/modes.h"

struct past_screen {
	struct session *session;
	uint64_t action, offset; /* bytes of its output that count */
	struct screen_model *screen;
	struct modes *modes;
	/* Each event that was read and is not output; may not be NULL. Returns false to stop. */
	bool (*event)(void *self, const struct event *ev);
	/* Bytes of output in their order, if all of it is read; NULL: nobody wants it. */
	void (*output)(void *self, const struct buf *bytes);
	void *self;
};

/* Reads the events of @f, a feed of the action, until the output is complete: waits for it. */
int past_screen_read(const struct past_screen *p, struct feed *f, struct err *err);

#endif
