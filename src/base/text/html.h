/* A web page as text that you or a model can read: headings as "# ", lists as "- ", links as
 * [text](address), tables with " | ", preformatted text unchanged.
 *
 * 1. Any bytes may come in. Nothing is loaded, run, or guessed; time and memory grow with the input
 *    only; no recursion.
 * 2. Left out: scripts, styles, comments, templates, drawings, forms' choices; elements marked as
 *    hidden (`hidden`, display:none, visibility:hidden in the element itself) and invisible
 *    characters (text_is_hidden, except the joiners of scripts that need them): text that a reader
 *    of the page would not see is not shown to a model either.
 * 3. Out comes valid UTF-8 without controls but LF and TAB. Any thread. */
#ifndef BASE_TEXT_HTML_H
#define BASE_TEXT_HTML_H

#include "base/buf.h"

struct html_opts {
	/* Where a link leads, or NULL to leave its address out; returns owned. NULL: no addresses
	 * at all. */
	char *(*link)(void *self, const char *href);
	void *self;
	size_t max; /* bytes of text at most; 0 = no limit */
};

struct html_found {
	struct buf title; /* one line */
	uint32_t unseen;  /* characters and elements that were left out because they are hidden */
	bool cut;	  /* max was reached */
};
void html_found_release(struct html_found *f);

/* Appends to @out. @html is UTF-8 (text_to_utf8 makes it so). @found may be NULL. */
void html_to_text(const char *html, size_t len, const struct html_opts *o, struct buf *out,
		  struct html_found *found);
/* The charset that <meta> names in the first bytes, or NULL. Returns owned. */
char *html_charset(const char *html, size_t len);

#endif
