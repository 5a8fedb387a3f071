/* Line mode: one event per line, words for every state, no cursor movement, no color; the full
 * twin of the console for pipes, screen readers and dumb terminals. The same model and the same
 * rows as the screens.
 *
 *     14:31:26 fix-parser event 405 HELD by policy.lua:22 'no-push': git push origin fix/parser
 *     ask 405, risk high, denied in 10 minutes if nobody answers.
 *       1 approve once  2 approve for session  3 add rule  4 edit  5 deny with message  6 deny and
 *                       pause  7 kill ...
 *     405> _
 *
 * --json prints one JSON object per event instead: {"schema":1, and what wire/event_json.h says}.
 */
#ifndef UI_LINE_H
#define UI_LINE_H

#include <stdio.h>

#include "base/err.h"
#include "ui/frame/act.h"
#include "ui/model/source.h"

enum { LINE_SCHEMA = 1 };

struct line_opts {
	const char *path;
	bool json;
	FILE *out;
	uint64_t from, to; /* events with from < seq <= to; to 0 = the end */
	/* at num/den of the speed at which it went, pauses over 2 s cut; 0 = at once */
	int num, den;
	/* of claims and unmerged files (ui/frame/claimed.h), for the summary after the end; owned;
	 * -1 none. Not with json. */
	int claims;
};

/* Prints what is there and returns. */
NODISCARD int line_print(const struct line_opts *o, struct err *err);

/* A session being followed: feed it when there is more, hand it what the user types. */
struct line;
/* Borrows @s and @act (NULL or command NULL: nothing can be sent). @ask: print numbered prompts
 * for pending actions. */
struct line *line_new(struct source *s, const struct act *act, FILE *out, bool json, bool ask);
void line_free(struct line **l);
/* Prints only events that @f lets through; what waits is asked all the same. Borrows. */
struct filter;
void line_filter(struct line *l, const struct filter *f);
/* Says no more than what waits for a user, what went wrong, and the end. JSON lines stay
 * whole. */
void line_quiet(struct line *l);
/* Events up to @seq are known, and not said again; not for a program. */
void line_past(struct line *l, uint64_t seq);
/* Folds and prints up to @limit_seq (0 = the end). -1 if the file has become unreadable. */
NODISCARD int line_sync(struct line *l, uint64_t limit_seq, struct err *err);
/* One typed line without its end: a number or the text that the prompt asked for, else a command of
 * the registry. */
void line_typed(struct line *l, const char *text);

/* A record by words: commands come on standard input (help lists them) until it ends or "q". Own
 * marks lie below @marks. */
NODISCARD int line_replay(const char *path, uint64_t at, const char *marks, FILE *out,
			  struct err *err);

/* The screens fleet, agent, and log after every event from @from to @to (0 = the end), as text:
 * the test of live = replay compares them. @follow: continues while the session runs, until its
 * end, with the same screens. */
NODISCARD int line_dump(const char *path, uint64_t from, uint64_t to, bool follow, FILE *out,
			struct err *err);

#endif
