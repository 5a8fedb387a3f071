/* Labels of a session: names with values, given at `run` or afterwards, by which commands over many
 * sessions choose. Each change is a session.labeled event; the last one of a name counts. */
#ifndef SESSIONS_LABELS_H
#define SESSIONS_LABELS_H

#include "base/json.h"
#include "record/read/session.h"

/* The body of session.labeled from @words: NAME or NAME=VALUE sets ("+" may precede it), NAME-
 * removes if @removes. Returns owned; NULL: ERR_USAGE names the word. */
json_t *labels_change(const char *const *words, size_t nr, bool removes, struct err *err) NODISCARD;
/* {name: value}. Returns owned; NULL with @err. */
json_t *session_labels(struct session *s, struct err *err) NODISCARD;

/* NAME: it has the label; NAME=VALUE: with this value; NAME!=VALUE: it hasn't; !NAME: it lacks the
 * label. ERR_USAGE: @wish is none of these. */
NODISCARD int labels_wish_check(const char *wish, struct err *err);
bool labels_match(const json_t *labels, const char *wish);

#endif
