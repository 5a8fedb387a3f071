/* Between the files of the approval screen. view_approval.c: opening, keys, what it is about. approval_paint.c: what is
 * drawn. approval_decide.c: what is sent. approval_widen.c: the second screen of an approval for the session. */
#ifndef UI_APPROVAL_INNER_H
#define UI_APPROVAL_INNER_H

#include "ui/views/approve.h"
#include "ui/term/draw.h"
#include "ui/ui.h"

enum { DEAD_US = 400000, MAX_PATTERNS = 5, TRY_ACTIONS = 2000 };

struct approval {
	size_t source;
	uint64_t action;
	int64_t opened_us;  /* mono */
	unsigned shown;     /* ui->nr_shown then */
	bool armed, sure;   /* y once, m once */
	bool seen_end;      /* the end of the bytes was on the screen */
	bool sent;          /* by us: it closes when it is done */
	bool unfold;        /* v: everything also on a small screen */
	bool output;        /* o: the output of the preview */
	int64_t top;
	/* second screen: a pattern for the session */
	bool widening;
	size_t pattern;
	/* made by recalc */
	struct approval_info info;
	struct text text;
	size_t text_top, command_end;
	int rows;           /* of the text */
	size_t place, of;   /* in the queue */
	char intent[80];    /* of what is shown; another one means another thing to decide */
	const char *choice[MAX_PATTERNS];
	size_t nr_choices, would[MAX_PATTERNS], tried;
	int64_t now_us;
	struct arena *arena;
};

/* As if it had just been opened: keys are off for a moment, nothing is armed. */
void approval_arm(struct approval *v, struct ui *ui);

/* Why a decision cannot be taken now; NULL it can. */
const char *approval_off(const struct approval *v, const struct ui *ui, enum verb verb);
int approval_decide_rows(const struct approval *v, int rows);
void approval_paint(const void *self, const struct ui *ui, struct area a);

/* Carries out a verb of the group of decisions; false if it is none. */
bool approval_decide(struct approval *v, struct ui *ui, enum verb verb);
/* Tries the action without letting it run. */
void approval_try(struct approval *v, struct ui *ui);
/* Sends a decision about what is shown, bound to its hash. Takes @opts. */
void approval_send(struct approval *v, struct ui *ui, const char *word, json_t *opts);

void widen_load(struct approval *v, struct source *s);
void widen_paint(const struct approval *v, struct area a);
void widen_key(struct approval *v, struct ui *ui, uint32_t key);

#endif
