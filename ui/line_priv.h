/* Between the files of line mode. line.c: events as lines. line_ask.c: prompts. line_typed.c: what
 * is typed. */
#ifndef UI_LINE_PRIV_H
#define UI_LINE_PRIV_H

#include "base/buf.h"
#include "ui/line.h"

/* The meaning of the user's next line. */
enum awaiting {
	AWAIT_COMMAND,
	AWAIT_CHOICE,
	AWAIT_MESSAGE,
	AWAIT_PATTERN,
	AWAIT_RULE,
	AWAIT_LOOK,
	AWAIT_SURE,
	AWAIT_EDIT,
	AWAIT_EDITED,
	AWAIT_NAME,
	AWAIT_NOTE,
	AWAIT_ANSWER
};

struct line {
	struct source *s;
	const struct act *act;
	FILE *out;
	bool json, ask, quiet;
	struct strv secrets;	     /* whose use has been said */
	const struct filter *filter; /* NULL everything */
	uint64_t past;		     /* what is not said again: up to this event */
	enum awaiting awaiting;
	uint64_t asked;	       /* the action or question that a prompt is about; 0 none */
	struct line_decision { /* sent, and not answered yet */
		struct line_decision *next;
		struct line *line;
		uint64_t about; /* an action or a question */
	} * decisions;
	/* without a prompt of its own: deferred, or its decision is being sent */
	uint64_t *off;
	size_t nr_off, cap_off;
	char *intent;
	char *type; /* the name that a rule wants typed; NULL none */
	/* only a used up budget holds it; it is a command line, which can be edited; its dry run
	 * can be applied */
	bool budget, words, tries;
	bool high;	     /* high risk: approving takes two answers */
	unsigned long armed; /* the number that was typed once; 0 none */
	char *note;	     /* for the record, with the decision; NULL none */
	char *edited;	     /* runs instead of it when the user is sure */
	char *pattern;	     /* to be saved when the user is sure */
	char *others;	     /* numbers of the actions named with it; NULL none */
	bool rule;	     /* it becomes a rule of the project */
	unsigned looks;	     /* requests for the effect of patterns without an answer yet */
	json_t *pending;     /* an approval that waits for the name */
	const char *pending_word;
	/* mono: another prompt took the place of one that was not answered here */
	int64_t swapped_us;
	bool at_prompt; /* the prompt is the last thing on the screen */
	/* mono: a command went to the supervisor, whose answer comes before the next prompt; 0
	 * none */
	int64_t sent_us;
	char zone[16];		 /* of the line before */
	struct line_ran {	 /* programs that an action ran and that are not printed yet */
		uint64_t action; /* 0: free */
		uint64_t nr;
		struct strv names; /* the first few, each once */
		bool more;
	} ran[8];
};

/* Prints an event as a line, with the model's current state. False: no line. */
bool line_event(struct line *l, const struct event *ev);
void line_print_safe(FILE *out, const char *text);
void line_later(struct line *l); /* what is asked is put off; then nothing is asked */
/* Asks about what waits next; never while an answer is being typed for something that still
 * waits. */
void line_prompt(struct line *l);
/* asks about this action or question, which waits */
void line_prompt_about(struct line *l, uint64_t seq);
void line_forget(struct line *l); /* frees what its prompts hold */
extern const char line_choices[]; /* the numbers that answer a held action, with their words */
/* once more, if events that came between have pushed it up */
void line_show_prompt(struct line *l);
bool line_waits(const struct line *l, uint64_t seq); /* does this action or question? */

/* --- line_typed.c --- */
void line_typed_pass(struct line *l, const char *word, json_t *opts);

/* --- line_pattern.c --- */
void line_typed_look_at(struct line *l, const char *text, bool rule);
void line_typed_sure(struct line *l, const char *text);

#endif
