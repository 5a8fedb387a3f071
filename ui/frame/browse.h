/* The sessions of a directory, for the screens "sessions" and "found". Who starts the console fills
 * this: the catalog, other sessions, and other programs are not the console's. */
#ifndef UI_FRAME_BROWSE_H
#define UI_FRAME_BROWSE_H

#include "base/buf.h"
#include "base/err.h"

/* Strings are borrowed until list() or at() is called again. */
struct browsed {
	const char *id, *name, *state;
	const char *agents;  /* "fix, docs" */
	const char *verdict; /* of the last verification; NULL: not verified since it changed */
	int64_t begun_us;    /* 0 unknown */
	int64_t cost_uusd;   /* with cost_unknown: the least that it can be */
	uint64_t failed, denied, unmerged, nr_agents;
	size_t waits; /* pending approvals and questions of one that runs */
	bool live, cost_unknown;
	bool counted; /* false: the figures could not be read */
};

enum browse_job { BROWSE_VERIFY, BROWSE_PRUNE, BROWSE_SEARCH };

struct browse {
	/* Looks at the directory again. Returns the number of sessions: those that run first, then
	 * the newest first. */
	size_t (*list)(void *self);
	/* Row @i; the first call for a session that the catalog doesn't know reads its file. */
	void (*at)(void *self, size_t i, struct browsed *out);
	/* Runs in the background, one at a time; a running one is stopped. @text: a session, for a
	 * search the filter. */
	int (*start)(void *self, enum browse_job job, const char *text, struct err *err);
	/* 1: a line of its output in @out; 0: nothing yet; -1: it ended with *status. */
	int (*read)(void *self, struct buf *out, int *status);
	void (*stop)(void *self);
	/* Why list() could not read the directory; NULL: it could. The function may be NULL. */
	const char *(*failure)(void *self);
	/* Shows a session on this terminal (attach if it runs, else replay, from @seq if not 0)
	 * until you leave it. Returns an exit status, -1 with @err. */
	int (*show)(void *self, const char *id, uint64_t seq, struct err *err);
	void *self;
};

#endif
