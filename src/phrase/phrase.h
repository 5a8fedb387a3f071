/* Parts of one-line descriptions that are made from typed events. A file of src/phrase/describe_*.c
 * has a table of struct phrase, one row for each kind. Texts are cut to 300 bytes. */
#ifndef PHRASE_PHRASE_H
#define PHRASE_PHRASE_H

#include "wire/event_body.h"

typedef void phrase_fn(const struct event *ev, struct arena *a, struct buf *out);
struct phrase {
	enum event_kind kind;
	phrase_fn *put;
};

/* Appends the phrase of @ev. false: @table has no row for its kind. */
bool phrase_from(const struct phrase *table, size_t nr, const struct event *ev, struct buf *out);

/* Each appends @before and the value; nothing, and false, without a value. */
bool phrase_text(struct buf *out, const char *before, struct ev_text t);
bool phrase_number(struct buf *out, const char *before, bool has, int64_t v);
/* " by NAME", " by uid N", or " by " and @by if no user is recorded. */
void phrase_who(struct buf *out, const struct ev_who *w, struct ev_text by);
/* A word of a command line as a user would type it: quoted where needed. */
void phrase_word(struct buf *out, struct ev_text word);
/* @before, and the texts with commas between them. */
void phrase_list(struct buf *out, const char *before, const struct ev_text *item, size_t nr);

#endif
