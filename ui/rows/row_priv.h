/* The parts of row_load: what an action is and came to (row_action.c), what befell (row_session.c),
 * all else (row.c). */
#ifndef UI_ROWS_ROW_PRIV_H
#define UI_ROWS_ROW_PRIV_H

#include "ui/rows/row.h"

void row_action(struct row_info *out, struct source *s, const struct model_action *act,
		struct arena *a);
/* verdict, by, why */
void row_decided(struct row_info *out, const json_t *decided, struct arena *a);
/* NULL: it is not there */
const char *row_bytes(const json_t *o, const char *key, struct arena *a);
const char *row_argv(const json_t *o, struct arena *a);

#endif
