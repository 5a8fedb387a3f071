/* Between view_repeat.c (the view) and repeat_ask.c (its requests). */
#ifndef UI_VIEWS_REPEAT_PRIV_H
#define UI_VIEWS_REPEAT_PRIV_H

#include "ui/rows/draw.h"
#include "ui/rows/pane.h"
#include "ui/views/repeat.h"

struct side {
	struct source *source; /* NULL: its record is not open here */
	uint64_t action;       /* 0: not there yet */
	const char *head, *note;
	struct text text;
};

struct repeat_view {
	size_t source;
	uint64_t of;	/* the action that is repeated; 0: the newest repeat, whosever */
	uint64_t after; /* repeats begun up to here are not meant */
	bool now;	/* narrow: the second run is shown */
	bool zoom;	/* wide: one of the two alone, too */
	bool moved;	/* it does not follow */
	bool asked;	/* it was requested here, and its end is still unreported */
	int64_t top;
	/* made by recalc */
	struct model_repeat r;
	bool there;	     /* r is */
	struct side side[2]; /* recorded, now */
	struct text sum;
	int rows;	/* of the panes' texts */
	size_t differs; /* row from which on they do; SIZE_MAX they do not */
	const char *title, *state, *what;
	enum role state_role;
	struct arena *arena;
};

#define RUNS_AGAIN "#%" PRIu64 " runs again in a sandbox of its own"

#endif
