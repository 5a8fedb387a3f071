/* The commands of sandglass, each declared once: CLI, `:` line, line mode, palette, and control
 * socket all read this table. Rows are in src/<directory>/commands.def, gathered by the Makefile:
 *
 *     COMMAND(name, WHERE, flags, "usage", "options", "summary", "help")
 *
 * The name is a C token; a user types it with dashes for its underscores (commands.awk).
 *
 *   1. WHERE: OFFLINE (in the program that was started, from session files), SUPERVISOR (sent over
 *      the control socket to one live session), LOCAL (acts on your screen: consoles and line mode
 *      only).
 *   2. usage is what follows the name. UPPER CASE words are operands, [brackets] optional, "..."
 *      repeats the last one, " | " separates forms, lower case words are themselves ("check FILE |
 *      explain CMD"). "--" begins words that are passed on untouched. How many words are allowed
 *      follows from this text.
 *   3. options is one option a line, "-f, --follow text" or " --filter FILTER text": two spaces
 *      before the text,
 * an upper case word after the name if it takes a value, "..." after that if it may be given again.
 * The help prints
 *      these lines and the parser reads them, so they cannot disagree.
 *   4. help has the details, and ends with examples, each on a line of its own that starts with two
 *      spaces and "$ ".
 *
 * Pure: no state, any thread. */
#ifndef CONTROL_REGISTRY_H
#define CONTROL_REGISTRY_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

enum command_where { COMMAND_OFFLINE, COMMAND_SUPERVISOR, COMMAND_LOCAL };

enum command_flags {
	COMMAND_LOOKS = 1 << 0,	 /* changes nothing: watchers may, and it is not recorded */
	COMMAND_HIDDEN = 1 << 1, /* not listed */
	/* options end at the first operand (say AGENT TEXT); not where usage has "--" */
	COMMAND_TAIL = 1 << 2,
	COMMAND_NO_JSON = 1 << 3, /* prints nothing that a program would read */
	/* also for those whom a session was shared with to decide (control/share.h) */
	COMMAND_DECIDES = 1 << 4,
	/* its words are recorded by whom they are for; with the command only how long they are */
	COMMAND_CARRIES = 1 << 5,
};

struct command {
	const char *name;
	enum command_where where;
	unsigned flags;
	const char *usage, *options, *summary, *help;
};

size_t command_count(void);
/* in the order of the table; NULL past the end */
const struct command *command_at(size_t i);
const struct command *command_find(const char *name); /* exact; NULL if there is none */
/* The new name of a renamed command: "is now 'repeat'"; NULL if @name never was one. */
const char *command_renamed(const char *name);
/* The nearest name to a misspelt one, NULL if nothing is near. Static storage. */
const char *command_nearest(const char *name);
/* The nearest of @nr candidates to @word by edit distance (transpositions count once), NULL if all
 * are far. */
const char *word_nearest(const char *word, const char *const *candidate, size_t nr);

/* --- one command line, taken apart ------------------------------------------------------------
 */
struct command_option {
	char *name;  /* without dashes: "follow", "C" */
	char *value; /* NULL for a switch; any bytes but NUL */
};
struct command_line {
	const struct command *command; /* NULL: only options were given */
	struct strv words;	       /* operands, without the command's name */
	struct strv rest;	       /* what followed "--" where usage allows it */
	struct command_option *option;
	size_t nr_options, cap_options;
};
#define COMMAND_LINE_INIT ((struct command_line){ 0 })
void command_line_release(struct command_line *l);

/* Takes @argv (without the program's name) apart: options may stand anywhere (before the first
 * operand for COMMAND_TAIL), long ones may be shortened while unique, "-n5", "-n 5", "--n=5" are
 * the same. Options of every command (registry.c, common_options) are accepted everywhere.
 * ERR_USAGE with the nearest name: "unknown option '--folow' for 'events', did you mean
 * '--follow'?". Fills @out (initialized by the caller, released by him also after a failure). */
NODISCARD int command_parse(struct command_line *out, char *const *argv, size_t nr,
			    struct err *err);
/* Splits a typed line into words as a shell would (blanks, '...', "...", \), then as above. A
 * leading ':' is dropped.
 */
NODISCARD int command_parse_text(struct command_line *out, const char *line, struct err *err);

bool command_has(const struct command_line *l, const char *name);
/* last value, NULL if not given */
const char *command_opt(const struct command_line *l, const char *name);
/* of one that repeats */
const char *command_opt_nth(const struct command_line *l, const char *name, size_t n);
/* A number. ERR_USAGE unless absent (then @out stays) or an integer from @min to @max. */
NODISCARD int command_opt_int(const struct command_line *l, const char *name, int64_t min,
			      int64_t max, int64_t *out, struct err *err);

/* The form of the control socket: words[] with the name first, opts{name: value | true | [values]}.
 * Return owned. */
json_t *command_line_words(const struct command_line *l);
json_t *command_line_opts(const struct command_line *l);
/* Back from it, checked like a typed line. */
NODISCARD int command_line_from_json(struct command_line *out, const json_t *words,
				     const json_t *opts, struct err *err);

/* --- help -------------------------------------------------------------------------------------
 */
void command_help_short(const struct command *c, struct buf *out); /* usage and options: -h */
void command_help_long(const struct command *c, struct buf *out);  /* and the rest: --help */
/* all that are not hidden, in groups */
void command_help_list(struct buf *out);

/* The forms of a usage, one after the other; *form borrows. Set *text to the usage first; false at
 * the end. */
bool usage_next(const char **text, const char **form, size_t *len);
/* The groups of the list: the title of the i-th, with the names of its commands, a blank between
 * them; NULL past the end. */
const char *command_group(size_t i, const char **names);

/* An option's row in an option table; for completion and tests. Walks @text; false at the end. */
struct option_row {
	char letter;	/* 0 = none */
	char name[32];	/* "" = letter only */
	char value[24]; /* "" = a switch */
	bool repeats;
	const char *text;
	size_t text_len;
};
bool option_next(const char **text, struct option_row *out);
extern const char *const common_options;

#endif
