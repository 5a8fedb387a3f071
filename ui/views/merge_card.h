/* A pending or finished merge as a reviewer needs it: files with added and removed lines, drift of
 * your repository, conflicts, the last test run, and the command that undoes the merge. Everything
 * comes from the recording. */
#ifndef UI_VIEWS_MERGE_CARD_H
#define UI_VIEWS_MERGE_CARD_H

#include "ui/rows/pane.h"

/* Adds the card of merge @act; of one of several sandboxes the conflicts between them, then each of
 * them. @brief: one line for all files, and one test only. */
void merge_card(struct text *t, struct source *s, const struct model_action *act, bool brief);
/* Whether the paths @a and @b, strings of a body, name the same directory in any spelling. */
bool merge_same_dir(const json_t *a, const json_t *b);
/* Adds the arguments of a merge that its summary doesn't name: message, ignored files, and any
 * argument of a newer version as JSON. */
void merge_card_args(struct text *t, const json_t *req);

/* Adds the card of any action for the command line, which names commands instead of keys: a merge
 * as above, a write or edit as its difference. Returns false if the action has no card. */
bool action_card(struct text *t, struct source *s, uint64_t action);

#endif
