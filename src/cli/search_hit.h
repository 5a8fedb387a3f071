/* Where a search hit is: of an action or event that matches, the line that holds the text. */
#ifndef CLI_SEARCH_HIT_H
#define CLI_SEARCH_HIT_H

#include "query/filter.h"
#include "record/read/session.h"

struct search_hit {
	const char *stream;	    /* "args", "stdout", "stderr", "message", "script" */
	struct buf line;	    /* cut around the hit if it is long */
	bool cut_before, cut_after; /* line is a part of a longer one */
	size_t from, len;	    /* the hit in line; len 0: none of the texts is in it */
	struct strv before, after;  /* lines around it */
};
struct search_texts {
	struct strv item; /* in lower case, the longest first */
};

/* The texts that every match of @f contains. */
void search_texts_of(const struct filter *f, struct search_texts *out);
void search_texts_release(struct search_texts *t);

/* Fills @out for the event (of an action: its request). Without a line that holds a text it is the
 * event in words. @context: lines before and after. */
void search_hit_find(struct session *s, const struct event *ev, const struct search_texts *t,
		     size_t context, struct search_hit *out);
void search_hit_release(struct search_hit *h);

#endif
