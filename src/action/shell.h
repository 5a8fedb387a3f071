/* Which simple commands does a command line run? For policy, screens, and reports; it runs nothing
 * and expands nothing.
 *
 * The text is POSIX sh with bash's additions, read in the widest sense: lists, pipes, subshells,
 * groups, if, while, for, case, functions, $( ), <( ), backticks, here-documents. Commands inside
 * other commands are found and become parts of their own: sh -c, eval, find -exec (shell_look.c),
 * env, sudo, xargs, timeout, and others (shell_wrap.c), aliases and settings of git (shell_git.c),
 * files that the line makes and then runs (shell_made.c). A program that is not one of these, and
 * not known to treat its arguments as data (shell_known.c), is loose: it may run them. Code of
 * other languages (python -c) is opaque unless nothing in it can run a program (shell_code.c).
 * Anything not understood for certain makes the whole line opaque, which is the caller's reason to
 * ask: text above 64 KiB, more than 63 parts, deep nesting, aliases, commands from standard input,
 * unbalanced quotes. The sandbox enforces; this reader only informs policy. Fuzzed:
 * tests/fuzz/f_shell_split.c. Linear in the text for each level of nesting; any thread. */
#ifndef ACTION_SHELL_H
#define ACTION_SHELL_H

#include "base/buf.h"
#include "base/mem.h"

enum { SHELL_TEXT_MAX = 64 << 10, SHELL_PARTS_MAX = 63, SHELL_DEPTH_MAX = 12 };

/* A word after quotes are removed. What only a shell can know ($X, `...`, globs, braces) stays in
 * it as written. */
struct shell_word {
	const char *text;
	size_t len;
	bool dynamic;	       /* its value is not known before it runs */
	bool splits;	       /* it may become several words, or none */
	bool quoted;	       /* some of it was quoted: no keyword, no assignment */
	size_t prefix, suffix; /* of a dynamic word: known bytes at its ends */
};

struct shell_redirect {
	enum shell_redirect_kind { SHELL_IN, SHELL_OUT, SHELL_HERE } kind;
	struct shell_word target; /* SHELL_HERE: the text itself */
};

enum shell_flags {
	/* what it runs is a part of its own: only asks and denies look at this one */
	SHELL_LOOKED = 1 << 0,
	/* not a command but a file that is written: words are ">" and the path */
	SHELL_TARGET = 1 << 1,
	/* variables set before it may change what its name means (PATH, LD_PRELOAD, ...) */
	SHELL_REACHES = 1 << 2,
	/* it may run what its words say: the words of a rule that appear in it in order ask */
	SHELL_LOOSE = 1 << 3,
	SHELL_SETS = 1 << 4, /* it sets such a variable itself: the same holds for the value */
	/* no command of the line, but words of several, or a guess: nothing to propose */
	SHELL_GUESS = 1 << 5,
};

struct shell_part {
	struct shell_word *word;
	size_t nr_words, cap_words;
	struct strv env; /* "NAME=value" before it */
	struct shell_redirect *redirect;
	size_t nr_redirects, cap_redirects;
	unsigned flags;
};

struct shell {
	struct shell_part *part;
	size_t nr, cap;
	bool opaque;
	bool surface;	      /* parts are not looked into (shell_split_surface) */
	const char *why;      /* static text: "process substitution"; NULL unless opaque */
	struct strv assigned; /* every "NAME=value" of the line */
	struct strv dirs;     /* where `cd` with a known word may have gone */
	struct arena arena;
};

/* Splits @text. Always returns a shell (free it); if it is opaque, its parts are those found so
 * far. */
struct shell *shell_split(const char *text, size_t len);
/* The same without a look into the parts: what a command does with its words is not judged. */
struct shell *shell_split_surface(const char *text, size_t len);
/* The same for words that no shell reads, looking into sh -c and its like. */
struct shell *shell_split_argv(const struct strv *argv);
void shell_free(struct shell **s);

/* Does this "NAME=value" set a variable that may change what commands mean? */
bool shell_reaches(const char *assignment, size_t len);
/* Does it also name standard input as the file to read (BASH_ENV=/dev/stdin)? */
bool shell_reaches_stdin(const char *assignment, size_t len);

/* Appends the words, separated by blanks, for users. */
void shell_part_text(const struct shell_part *p, struct buf *out);

#endif
