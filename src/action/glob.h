/* One matcher for every pattern of a policy: command words, paths, hosts, names. A pattern is a
 * small automaton that is run over the text once (states x bytes, no backtracking), so a hostile
 * text costs no more than a friendly one. */
#ifndef ACTION_GLOB_H
#define ACTION_GLOB_H

#include "base/buf.h"

/* longest pattern in bytes; longer ones match nothing (the policy parser refuses them) */
enum { GLOB_MAX = 250 };

enum glob_kind {
	GLOB_WORD, /* `*` any bytes */
	GLOB_PATH, /* `*` and `?` within a name, `**` across, "**" + "/" any directories or none */
	/* `*` within a label, a leading "*." one or more labels; without regard to case */
	GLOB_HOST,
};

enum glob_answer { GLOB_NO, GLOB_MAYBE, GLOB_YES };

bool glob_match(enum glob_kind kind, const char *pattern, const char *text, size_t len);
/* The same for a text of which only the first and the last bytes are known. */
enum glob_answer glob_match_unknown(enum glob_kind kind, const char *pattern, const char *prefix,
				    size_t prefix_len, const char *suffix, size_t suffix_len);

/* A word pattern against the words of one command; shell.h has the words. @certain: for an allow,
 * which must not match a program of the same name elsewhere, and whose pattern must reach to the
 * last word. For the others a pattern with "..." need not: options can be in any order. */
struct shell_part;
enum glob_answer words_match(const char *pattern, const struct shell_part *part, bool certain);

/* For a command that may run what its words say (SHELL_LOOSE, SHELL_SETS): do the words of the
 * pattern appear in it, in this order, whatever stands between them and however they are quoted?
 * @assigned: values that its unknown words may have. */
bool words_in_order(const char *pattern, const struct shell_part *part,
		    const struct strv *assigned);
/* The same for a text outside of a command: the value of a variable. */
bool words_in_text(const char *pattern, const char *text, size_t len);

#endif
