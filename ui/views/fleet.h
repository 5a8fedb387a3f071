/* The rows of the fleet: which agents are listed, in what order, grouped by session or not;
 * view_fleet.c draws them.
 *
 * Rules: the row under the cursor keeps its place on the screen while the cursor is on it, whatever
 * the others do; a row that ought to be elsewhere by now has "moved" set. What waits for a user
 * is never hidden by folding. Only rows that are seen get their texts (box, now, age): the rest of
 * a row costs no reading. */
#ifndef UI_FLEET_H
#define UI_FLEET_H

#include "ui/frame/ui.h"
#include "ui/rows/changes.h"
#include "ui/rows/draw.h"

enum { MAX_EVENTS = 24, MAX_PENDING = 12, FLEET_SOURCES = 64, GROUP_OVER = 100 };

/* The agents of one session together. */
struct group {
	size_t nr, nr_scripts, count[AGENT_FAILED + 1]; /* nr_scripts: rows that are no agent */
	int64_t tokens, uusd;
	uint64_t steps;
	bool folded, cost_unknown;
	int urgency; /* of its most urgent agent */
};

struct line {
	size_t source;
	const struct model_agent *agent; /* NULL: the heading of a session */
	const struct group *group;	 /* of a heading */
	enum agent_state state;
	/* it has been in it; of one that waits: as long as what has waited longest */
	int64_t since_us;
	bool moved;
	const char *box, *now, *age;
	bool bare;	     /* its box has no wall */
	int64_t done, total; /* total 0: not known */
	bool timed;	     /* of its time limit, not of its work */
};

enum { PANE_EVENTS, PANE_WORK, PANE_PENDING, PANE_NR };
enum { LIST_TOP = 2, SPLIT_LEAST = 3 };

struct pending {
	uint64_t seq;
	const struct model_action *act; /* NULL: a question */
	const struct model_agent *agent;
	struct row_info info;
	size_t source;
};

struct fleet {
	size_t source;	/* the selection, by name not by place */
	uint64_t agent; /* 0: the heading of the source */
	int pane, top;
	bool moved; /* until a user moves it, the selection is the most urgent row */
	enum { SORT_STATE, SORT_NAME, SORT_RECENT, SORT_COST, SORT_NR } sort;
	/* rows of the list, heads included, as it was dragged; 0: as many as it needs */
	int split;
	bool zoom; /* a wide screen shows one pane below, too */
	enum { GROUP_AUTO, GROUP_YES, GROUP_NO } grouping;
	char fold[FLEET_SOURCES]; /* 'f' folded, 'u' unfolded by a user; 0 as it comes */
	struct {
		size_t source, at; /* at: place in its group when the cursor came */
		uint64_t agent;
		int row; /* on the screen */
		bool set;
	} pin;
	/* made by recalc */
	bool grouped;
	struct group *group; /* by source */
	bool cost_unknown;
	/* of all rows that are listed, folded or not */
	size_t total, nr_scripts, count[AGENT_FAILED + 1];
	struct line *line;
	size_t nr;
	size_t at; /* index of the selection */
	struct row_info event[MAX_EVENTS];
	const char *tail[MAX_EVENTS]; /* last line of an action's output, or NULL */
	size_t nr_events;
	struct pending pending[MAX_PENDING]; /* what has waited longest first */
	size_t nr_pending, waiting; /* waiting: how many there are, also those beyond MAX_PENDING */
	struct change *change;
	size_t nr_changes;
	int rows, list_rows;
	const char *title;
	struct piece piece[12];
	size_t nr_pieces;
	struct arena *arena;
};

/* Lists, sorts, folds, finds the selection; @visible rows are seen: sets top, and their texts. */
void fleet_gather(struct fleet *f, struct ui *ui, int visible, struct arena *ar);
/* The present work of @l's agent as one line. */
const char *fleet_now(const struct line *l, const struct ui *ui, struct arena *ar);
/* The order of names: numbers in them count as numbers, capitals as small letters; 0 only for the
 * same bytes. */
int fleet_name_cmp(const char *a, const char *b);
/* Folds or unfolds the session of the selected row. False: nothing is grouped. */
bool fleet_fold(struct fleet *f);

/* view_fleet.c: rows of the list; whether it has panes beside one another */
int list_rows(size_t nr, int rows, bool wide);
bool view_fleet_beside(const struct fleet *f, int rows);
/* fleet_paint.c */
void view_fleet_paint(const void *self, const struct ui *ui, struct area a);

#endif
