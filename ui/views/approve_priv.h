/* Between approve.c (the whole text of a pending action), approve_exact.c (its bytes), and
 * approve_reasons.c (rules and defaults). */
#ifndef UI_VIEWS_APPROVE_PRIV_H
#define UI_VIEWS_APPROVE_PRIV_H

#include "ui/views/approve.h"

/* --- approve_reasons.c --- */
void approve_reasons(struct text *t, const json_t *held, const json_t *judged,
		     const struct approval_info *info);

/* --- approve_exact.c --- */
const char *byte_counts(const json_t *req, uint32_t hidden, uint32_t foreign, size_t lines,
			struct arena *a);
size_t exact_lines(struct text *t, enum role r, const char *bytes, size_t len, const char *first);
bool approve_is_merge(const json_t *req);
size_t exact_action(struct text *t, const json_t *req, const char *command, struct arena *a);
void approve_head(struct text *t, const char *title);
void approve_circumstances(struct text *t, struct source *s, const json_t *req,
			   const struct model_action *act);

#endif
