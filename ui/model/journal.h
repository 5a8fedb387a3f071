/* The way back through a session: how can the model be what it was some events ago without folding
 * from the start?
 *
 * Events are folded in stretches, of JOURNAL_STRETCH at first. Before an element that is older than
 * the stretch changes for the first time in it, a copy is kept; lists that only grow need no copy,
 * only their length. Going back undoes whole stretches, newest first, and the caller folds on from
 * there: at most one stretch. When there are too many copies, two stretches become one: memory has
 * a limit whatever the length of the session, and a step back takes longer.
 *
 * A field of model.h that owns memory needs a line in journal.c; t_journal compares going back with
 * a fold anew. */
#ifndef UI_JOURNAL_H
#define UI_JOURNAL_H

#include "ui/model/model.h"

enum { JOURNAL_STRETCH = 1024 };

struct journal;

struct journal *journal_new(void);
void journal_free(struct journal **j);
/* How many copies are kept before stretches become longer. For tests. */
void journal_keep_most(struct journal *j, size_t copies);
/* Before each event: opens a stretch when it is time. */
void journal_next(struct journal *j, const struct model *m);
/* To the newest stretch that begins at or before @seq. False: there is none, the model is as it
 * was. */
bool journal_back(struct journal *j, struct model *m, uint64_t seq);

/* For the fold: the element is about to change. */
void journal_keep_agent(struct journal *j, struct model_agent *a);
void journal_keep_box(struct journal *j, struct model_box *b);
void journal_keep_action(struct journal *j, struct model_action *a);

#endif
