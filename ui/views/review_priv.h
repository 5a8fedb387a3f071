/* Between the files of the review screen: its state (view_review.c), painting (review_paint.c),
 * decisions (review_decide.c), and the commands that checked the result (review_checks.c). */
#ifndef UI_VIEWS_REVIEW_PRIV_H
#define UI_VIEWS_REVIEW_PRIV_H

#include "ui/rows/draw.h"
#include "ui/term/fmt.h"
#include "ui/frame/ui.h"
#include "ui/views/blame.h"
#include "ui/rows/pane.h"
#include "ui/rows/parts.h"
#include "ui/rows/who.h"

enum { REVIEW_WHOSE = 6, REVIEW_LEFT = 36, REVIEW_WIDE = 100, REVIEW_SIDE = 60, REVIEW_CHECKS = 4 };
/* commands of a sandbox that are looked at for checks, newest first */
enum { REVIEW_LOOK_BACK = 64 };

/* outlives a recalc: parts seen here, and keys pressed but not yet recorded */
struct own_word {
	struct object_id of; /* the new content, or the old one of a removed file */
	uint32_t hunk;
	bool seen;
	enum part_choice choice;
	uint64_t at; /* what was pressed counts over words up to this seq; 0 nothing was */
};

/* A command that ran in the box and looks like a check of it (test, lint, build, ..), the newest
 * run of each. */
struct review_check {
	uint64_t action; /* that ran, in the box or again in a box of its own */
	uint64_t of;	 /* what a second run repeats: the newest run in the box */
	const char *cmd;
	const char *outcome; /* "exit 0" */
	bool ok, runs, own;  /* own: in its own sandbox, on the files at its start */
	bool old;	     /* something has changed since */
};

struct review {
	size_t source;
	uint64_t agent, action;
	size_t at; /* the part that is looked at */
	int64_t top;
	struct own_word *own;
	size_t nr_own, cap_own;
	bool side, no_blanks;
	/* made by recalc */
	const char *box;
	uint64_t box_id;
	struct change *change;
	const char **flag; /* of each change; NULL none */
	/* of each change: the user has changed that file of the base meanwhile */
	bool *drifted;
	/* files of the base; of these, changed in the box as well */
	size_t nr_drifted, nr_drifted_here;
	int64_t drift_more;	 /* files that base.drift events count but don't name */
	struct blaming *whosing; /* outlives a recalc: who brought the lines of a file */
	struct object_id whose_of;
	uint64_t whose_box;
	uint64_t by[REVIEW_WHOSE]; /* who changed the part on the screen */
	size_t nr_by;
	size_t nr;
	struct part *part;
	size_t nr_parts, take, leave, unseen, open;
	uint64_t waits;		     /* a script's merge that waits for the review; 0 none */
	const char *wanted, *intent; /* what it wants, its hash */
	const char *into;	     /* the directory on the host that it came from; NULL none */
	struct review_check check[REVIEW_CHECKS];
	size_t nr_checks;
	bool checks_all; /* no command of the sandbox was left unread for them */
	struct text text;
	struct text_diff side_lines;
	size_t text_top;
	int rows, list_rows; /* of the text; of the parts, as painted last */
	struct arena *arena;
};

struct own_word *review_own(struct review *v, const struct part *p);
enum part_choice review_choice(struct review *v, const struct part *p);
/* "[x]" taken, "[ ]" left, "[?]" nobody has decided; files with hunks: "[-]" mixed. the part on the
 * first of the @rows that the list has */
int review_first(const struct review *v, int rows);
const char *review_mark(struct review *v, size_t i);
void review_checks(struct review *v, struct source *s); /* fills check[] */
void review_drift(struct review *v, struct source *s);	/* fills drifted */
/* The authors of the part @p: fills by[] and names them below its lines. */
void review_whose(struct review *v, struct ui *ui, struct source *s, const struct part *p);
/* goes to that action; asks which where several are */
void review_open_whose(struct review *v, struct ui *ui);
/* asks which; it runs in a box of its own */
void review_check_again(struct review *v, struct ui *ui);
void review_side(struct review *v); /* old and new beside each other, as rows of v->text */
void review_paint(const void *self, const struct ui *ui, struct area a);
bool review_key(void *self, struct ui *ui, uint32_t key);

#endif
