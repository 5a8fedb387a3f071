/* Between the parts of the splitter: shell_word.c reads words, shell.c the grammar above them, shell_look.c looks through
 * commands that run other commands. */
#ifndef ACTION_SHELL_PARSE_H
#define ACTION_SHELL_PARSE_H

#include "action/shell.h"

/* One text being read. Everything is read in one pass; what $( ) holds is read in place, what `...` and sh -c hold is a
 * text of its own. */
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

/* What ends a list: the text's end, ")", or inside of case ";;" or esac. */
enum until { UNTIL_END, UNTIL_PAREN, UNTIL_ARM };

int reader_at(const struct reader *r, size_t i); /* the byte @i places on; -1 behind the end */
bool reader_meta(int c);                         /* does it end a word? */
bool reader_given_up(const struct reader *r);
void reader_give_up(struct reader *r, const char *why);
bool reader_word(struct reader *r, struct shell_word *out); /* false if there is none here */
void reader_blanks(struct reader *r);            /* steps over blanks and comments */
void reader_lines(struct reader *r);             /* and line ends, with the here-documents behind them */
enum until reader_list(struct reader *r, enum until until);   /* reads to what @until says, consuming it */
enum until reader_deeper(struct reader *r, enum until until); /* the same one level down */

/* Reads @text into raw parts of @s, at nesting @depth; then looks through each of them. */
void shell_read(struct shell *s, const char *text, size_t len, int depth);
/* Adds @raw and what it runs. Takes what @raw owns. */
void shell_look(struct shell *s, struct shell_part *raw, int depth);
void shell_opaque(struct shell *s, const char *why); /* the first reason stays */
void shell_part_release(struct shell_part *p);
void shell_part_push(struct shell_part *p, const struct shell_word *w);
/* "NAME=..." with a proper name: length of NAME, else 0. */
size_t shell_assignment(const char *text, size_t len);

#endif
