/* Writes manual pages: roff with the macros of man(7), so that man-db, mandoc and groff read them
 * without a complaint. All text given is text; whatever roff would take for its own is written so
 * that it comes out as it stands:
 *
 *  1. Prose is filled. In it 'WORDS' and `WORDS` in quotes and options are set in bold, without the
 *  quotes; a hyphen between
 *     letters is one, every other is the minus that can be copied from the screen.
 *  2. Literal text comes out as it stands, to be copied.
 *  3. Nothing that is given can begin a macro. */
#ifndef CLI_LIB_ROFF_H
#define CLI_LIB_ROFF_H

#include "base/buf.h"

/* The head: ".TH NAME SECTION" and the section NAME. @version stands below, @title above ("User
 * Commands"). */
void roff_page(struct buf *out, const char *name, int section, const char *title,
	       const char *version, const char *about);
void roff_section(struct buf *out, const char *title);		  /* in capitals */
void roff_heading(struct buf *out, const char *text, size_t len); /* below a section, literal */

void roff_paragraph(struct buf *out);

void roff_prose(struct buf *out, const char *text, size_t len);	  /* within a line */
void roff_literal(struct buf *out, const char *text, size_t len); /* within a line */
/* prose that is a line of its own */
void roff_line(struct buf *out, const char *text, size_t len);
/* Syntax: words in capitals are slanted (they stand for values), all other words bold. */
void roff_usage(struct buf *out, const char *text, size_t len);
/* One line that is not filled. A shell line over 80 columns continues after a backslash. */
void roff_example(struct buf *out, const char *line, size_t len);
/* Text laid out for a terminal, as help.h describes it: paragraphs, rows, examples. */
void roff_layout(struct buf *out, const char *text);
/* Options, as the table of a command has them (control/registry.h). */
void roff_options(struct buf *out, const char *table);

#endif
