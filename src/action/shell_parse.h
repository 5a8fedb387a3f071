/* Between the two halves of the splitter: shell.c reads the grammar, shell_look.c looks through commands that run other
 * commands. */
#ifndef ACTION_SHELL_PARSE_H
#define ACTION_SHELL_PARSE_H

#include "action/shell.h"

/* Reads @text into raw parts of @s, at nesting @depth; then looks through each of them. */
void shell_read(struct shell *s, const char *text, size_t len, int depth);
/* Adds @raw and what it runs. Takes what @raw owns. */
void shell_look(struct shell *s, struct shell_part *raw, int depth);
void shell_opaque(struct shell *s, const char *why); /* the first reason stays */
void shell_part_release(struct shell_part *p);
void shell_part_push(struct shell_part *p, const struct shell_word *w);
/* Adds to the parts; takes what @p owns. Past SHELL_PARTS_MAX: opaque. */
void shell_add(struct shell *s, struct shell_part *p);
/* "NAME=..." with a proper name: length of NAME, else 0. */
size_t shell_assignment(const char *text, size_t len);

#endif
