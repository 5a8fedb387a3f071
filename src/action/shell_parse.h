/* Between the parts of the splitter: shell_word.c reads words, shell.c the grammar above them,
 * shell_look.c looks through commands that run other commands. */
#ifndef ACTION_SHELL_PARSE_H
#define ACTION_SHELL_PARSE_H

#include "action/shell.h"

/* One text being read. Everything is read in one pass; what $( ) holds is read in place, what `...`
 * and sh -c hold is a text of its own. */
struct reader {
	struct shell *s;
	const char *p, *end;
	int depth;
	struct shell_part raw[SHELL_PARTS_MAX];
	size_t nr_raw;
	struct here {
		size_t raw, redirect; /* whose */
		struct shell_word tag;
		bool strip, literal;
	} here[8];
	size_t nr_here;
};

/* The end of a list: the text's end, ")", or inside of case ";;" or esac. */
enum until { UNTIL_END, UNTIL_PAREN, UNTIL_ARM };

int reader_at(const struct reader *r, size_t i); /* the byte @i places on; -1 behind the end */
bool reader_meta(int c);			 /* does it end a word? */
bool reader_given_up(const struct reader *r);
void reader_give_up(struct reader *r, const char *why);
bool reader_word(struct reader *r, struct shell_word *out); /* false if there is none here */
void reader_arithmetic(struct reader *r, size_t skip); /* behind @skip bytes, to its two brackets */
void reader_blanks(struct reader *r);		       /* steps over blanks and comments */
/* and line ends, with the here-documents behind them */
void reader_lines(struct reader *r);
/* reads to what @until says, consuming it */
enum until reader_list(struct reader *r, enum until until);
enum until reader_deeper(struct reader *r, enum until until); /* the same one level down */

/* Reads @text into raw parts of @s, at nesting @depth; then looks through each of them. */
void shell_read(struct shell *s, const char *text, size_t len, int depth);
/* Adds @raw and the commands that it runs. Takes the members of @raw. */
void shell_look(struct shell *s, struct shell_part *raw, int depth);
void shell_opaque(struct shell *s, const char *why); /* the first reason stays */
void shell_part_release(struct shell_part *p);
void shell_part_push(struct shell_part *p, const struct shell_word *w);
/* Adds to the parts; takes what @p owns. Past SHELL_PARTS_MAX: opaque. */
void shell_add(struct shell *s, struct shell_part *p);
/* --- shell_look.c: words, and commands that are looked through --- */
struct shell_word shell_word_of(const char *text);
/* it comes from elsewhere: standard input, a directory */
struct shell_word shell_word_unknown(const char *text);
bool shell_word_is(const struct shell_word *w, const char *s);
bool shell_word_begins(const struct shell_word *w, const char *s); /* for certain */
bool shell_word_process(const struct shell_word *w);		   /* <(list) */
/* a command's name without its directory; "" if it is not known */
const char *shell_base(const struct shell_word *w);
bool shell_among(const char *s, const char *const *list);
bool shell_same_file(const struct shell_word *a, const struct shell_word *b);
bool shell_is_shell(const char *name);
/* The text of static words, joined by blanks, read as a line of its own. */
void shell_look_text(struct shell *s, const struct shell_word *w, size_t nr, int depth);
/* The text that this line has written to @file, as far as the line shows it; NULL with @unknown:
 * it has written unknown text. */
const struct shell_word *shell_written(const struct shell *s, const struct shell_word *file,
				       bool *unknown);
/* Commands for a shell from the here-document of @p; opaque if it has none. */
void shell_look_stdin(struct shell *s, struct shell_part *p, int depth);
/* @p may run what its words say, in a way that is not known: SHELL_LOOSE. */
void shell_look_loose(struct shell *s, struct shell_part *p, int depth);

/* a static word with a $( ) or backtick that a shell did not run when it read the word */
bool shell_holds_command(const struct shell_word *w);

/* --- shell_git.c: git and git-VERB --- */
void shell_look_git(struct shell *s, struct shell_part *p);
void shell_look_git_dash(struct shell *s, const struct shell_part *p, const char *verb);

/* --- shell_made.c --- */
/* What the line writes, copies, or links and then may run. After all parts are there. */
void shell_look_made(struct shell *s);

/* --- shell_wrap.c: commands that run other commands --- */
bool shell_is_wrapper(const char *name);
bool shell_is_arch(const struct shell_word *w);
void shell_look_wrapper(struct shell *s, struct shell_part *p, int depth);

/* --- shell_known.c: programs whose words are no commands --- */
bool shell_is_builtin(const char *name);
bool shell_is_plain(const struct shell_part *p);
bool shell_is_tool(const char *name); /* it runs files of the project: make, npm, ... */

/* --- shell_code.c: code of other languages --- */
bool shell_is_interpreter(const char *name);
/* Is @option one with which the interpreter @name takes its code from the next word (python -c)? */
bool shell_code_option(const char *name, const struct shell_word *option);
void shell_look_interpreter(struct shell *s, struct shell_part *p, int depth);
/* The text of a script that begins with the name of an interpreter; false if it does not. */
bool shell_look_script(struct shell *s, const struct shell_word *text);

/* "NAME=..." with a proper name: length of NAME, else 0. */
size_t shell_assignment(const char *text, size_t len);

#endif
