/* Deeds: what `policy past` must know of an action, as text that is the same for equal actions. */
#ifndef CATALOG_DEEDS_H
#define CATALOG_DEEDS_H

#include "check/past.h"

/* {"asked": what a rule without `match` is matched against, "row": the fields of its row that name
 * it and its outcome, "suite"}; NULL: the action was redacted. Returns owned text. */
char *deed_of_action(const struct past_action *a) NODISCARD;
/* The action of a deed's text: a->s is NULL, a->id 0. @hold owns what @out borrows: release it. */
bool deed_parse(const char *text, size_t len, json_t **hold, struct past_action *out);

#endif
