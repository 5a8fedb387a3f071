/* Between the files of the approval screen. view_approval.c: opening, keys, subject.
 * approval_paint.c paints. approval_decide.c sends. approval_widen.c: the second screen of a
 * session approval. approval_patterns.c: its patterns. */
#ifndef UI_VIEWS_APPROVAL_PRIV_H
#define UI_VIEWS_APPROVAL_PRIV_H

#include "ui/views/approve.h"
#include "ui/rows/draw.h"
#include "ui/frame/ui.h"

enum { NOTE_MAX = 400, WIDEN_ROWS = 6 };

/* The second screen: a pattern for the session, or a rule for the project. The supervisor
 * (command `waivers`) gives the facts about a pattern, because only the policy check knows its
 * matches. */
struct widen_row {
	char *pattern;
	bool wide, typed; /* typed: by the user */
	bool counted;
	int64_t matched, denied;
	/* matched, denied, tried, actions[], others[]; of a rule also text, name, file, line, then,
	 * by */
	json_t *tried;
};
struct widen {
	enum { WIDEN_NONE, WIDEN_SESSION, WIDEN_RULE } what;
	struct widen_row row[WIDEN_ROWS];
	size_t nr, at;
	/* row of the pattern under the cursor, where it is longer than its room */
	int64_t top;
	unsigned until; /* index into its table */
	/* that its connections would ask for: [{host, matched, denied, actions[]}] */
	json_t *hosts;
	size_t host;	      /* index + 1 of one that is allowed, too; 0 none */
	bool all, deny, sure; /* every agent; a rule that denies; Enter once on a wide one */
	int64_t opened_us;    /* mono */
	uint64_t action;      /* what it was asked about */
	unsigned asked;	      /* number of the newest question: only its answer counts */
	bool known;	      /* the first answer is here */
	char wrong[240];      /* why the pattern is none; "" it is one */
};

struct approval {
	size_t source;
	uint64_t action;
	int64_t opened_us; /* mono */
	unsigned shown;	   /* ui->nr_shown then */
	bool none_next;	   /* after a decision: the filter of the queue hides all others */
	uint64_t told_off; /* number of the message "keys are off"; 0: not said */
	char before[120];  /* the message about the decision before; "" none */
	bool armed, sure;  /* y once, m once */
	bool seen_end;	   /* the end of the bytes was on the screen */
	bool sent;	   /* by us: it closes when it is done */
	bool looks;	   /* nothing can be decided from here */
	bool unfold;	   /* v: everything also on a small screen */
	bool output;	   /* o: the output of the dry run */
	int64_t top;
	size_t chosen;	     /* with j and k: index of a decision + 1; 0 none */
	char note[NOTE_MAX]; /* for the record, with whatever is decided */
	struct widen widen;
	/* what came back from the editor, shown and not approved yet; NULL it is as the agent wants
	 * it */
	char *edited;
	json_t *pending; /* options of an approval that waits for a typed name */
	const char *pending_word;
	/* made by recalc */
	struct approval_info info;
	struct text text;
	size_t text_top, command_end;
	int rows;	  /* of the text */
	size_t place, of; /* in the queue */
	char intent[80];  /* of the action on the screen; another one is another action */
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
/* Sends a decision about what is shown, bound to its hash, with the note. Takes @opts. */
void approval_send(struct approval *v, struct ui *ui, const char *word, json_t *opts);
/* The same for what lets it run: first asks for the name where a rule wants it typed. */
void approval_pass(struct approval *v, struct ui *ui, const char *word, json_t *opts);
/* The approval screen on top, about the action that the prompt was opened on; NULL it has gone. */
struct approval *approval_on_top(struct ui *ui);

/* The decisions in the order of the screen. */
size_t approval_count(void);
enum verb approval_verb(size_t i);
const char *approval_key(size_t i);
bool approval_offers(const struct approval *v, size_t i); /* fits the pending action */
/* Enter on the chosen line: it decides nothing, and lets nothing run. */
void approval_enter(struct approval *v, struct ui *ui);

void widen_open(struct approval *v, struct ui *ui, bool rule);
void widen_close(struct widen *w);
int widen_rows(int rows);
void widen_paint(const struct approval *v, const struct ui *ui, struct area a);
void widen_key(struct approval *v, struct ui *ui, uint32_t key);
/* approval_patterns.c: its patterns, from @row on; the row after them. */
int patterns_paint(const struct approval *v, struct area a, int row);
void pattern_scroll(struct approval *v, const struct ui *ui, int by); /* the one under the cursor */
bool pattern_fits(const struct approval *v, struct area a, const char *text, int width);
const char *const *widen_hints(const struct widen *w); /* for the key line */

/* approval_others.c: pending actions that the pattern or rule under the cursor also decides. At
 * most OTHERS_MAX are named, and only those go with the decision. Rows that they take; the text
 * of --others ("none" if it names no action; owned). */
enum { OTHERS_MAX = 10 };
int others_paint(const struct approval *v, const struct ui *ui, struct area a, int row);
char *others_opt(const struct approval *v, const struct ui *ui);

#endif
