/* The text of one row of a timeline: the fleet's last events, an agent's timeline, the log, and
 * line mode all read it here.
 *
 * Texts are bytes as they were recorded, not vetted: they go to a screen through put() like
 * everything else. They live in the caller's arena. */
#ifndef UI_ROWS_ROW_H
#define UI_ROWS_ROW_H

#include "ui/model/source.h"
#include "ui/term/theme.h"
#include "wire/event_body.h"

struct row_info {
	uint64_t seq, agent, box;
	int64_t ts_us;
	char sign;	      /* '!' held, '>' runs, 'x' failed, '.' done, ' ' */
	enum role role;	      /* of sign and outcome */
	const char *word;     /* "exec", "model", "turn", "note" */
	const char *what;     /* the command, the path, the text */
	const char *verdict;  /* "allow", "HELD", "denied"; "" */
	const char *by;	      /* "policy.lua:22 'no-push'", "ann", "tests"; "" */
	const char *outcome;  /* "exit 0", "118 lines", "+3 files"; "" */
	const char *why;      /* what a rule, a user or an error said; "" */
	int64_t dur_us;	      /* -1 not known */
	int64_t tokens, uusd; /* 0 none */
	bool cost_unknown;    /* no price is known for its model */
	uint64_t out_bytes;
	bool turn; /* a heading, not an action */
};

void row_load(struct row_info *out, struct source *s, const struct row *r, struct arena *a);

/* A text of an event, terminated; @absent if it is absent or not UTF-8. */
const char *row_words_of(struct arena *a, struct ev_text t, const char *absent);
/* The name that a user claims; "unknown user". */
const char *row_user_of(struct arena *a, const struct ev_who *who);
/* Text for an event of the session itself (row_control.c), and its @word if it has its own; NULL:
 * another kind. */
const char *row_control(const struct event *ev, const char **word, struct arena *a);
/* Words for an event that is neither an action nor an agent's nor the session's own
 * (row_session.c); NULL: none. */
const char *row_session(const struct event *ev, const json_t *o, const char **word,
			struct arena *a);
/* The rule that holds an action: "'no-push'", without its place; NULL: no rule. Points into by. */
const char *row_held_rule(const struct row_info *r);
/* The text of an action as wanted (an edited one: as it ran), from the body of action.requested. */
const char *action_what(const json_t *requested, struct arena *a);
/* Its arguments as they are in the record; "". */
const char *action_args(const json_t *requested, struct arena *a);
/* First line of a text. */
const char *first_line(const char *s, struct arena *a);
/* The same with a count of further lines: "make \\  (+2 lines)". */
const char *one_line(const char *s, struct arena *a);

#endif
