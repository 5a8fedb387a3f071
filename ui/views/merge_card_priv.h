/* Between merge_card.c (one sandbox) and merge_card_boxes.c (several). */
#ifndef UI_VIEWS_MERGE_CARD_PRIV_H
#define UI_VIEWS_MERGE_CARD_PRIV_H

#include "ui/views/merge_card.h"
#include "ui/views/review_priv.h"

enum { CARD_FILES = 12, CARD_CHECKS = 3 };

/* --- merge_card.c --- */
void merge_card_files(struct text *t, struct source *s, const struct change *c, size_t nr);
void merge_card_drift(struct text *t, const struct review *v);
size_t plan_conflicts(const json_t *o);
void plan_more_line(struct text *t, size_t nr, const char *what);
void plan_conflict_lines(struct text *t, const json_t *o);
void plan_branch_lines(struct text *t, const json_t *o);
void merge_card_tests(struct text *t, const struct review *v, size_t most);

/* --- merge_card_boxes.c --- */
void merge_boxes_lines(struct text *t, struct source *s, const struct model_action *act,
		       const json_t *req, bool brief, bool keys);

#endif
