/* Lists of model messages as bodies hold them (schema/README.md, rules 24 to 28): `messages` of
 * model.call, `args.messages` of host.call, `body` of model.sent. Reading only; the session's
 * thread. */
#ifndef RECORD_READ_LIST_H
#define RECORD_READ_LIST_H

#include "base/json.h"
#include "record/read/session.h"

/* The whole list that @value (an array, or the name of a pooled list) names: an array of the
 * hexadecimal H of each message; NULL and @err when it is unknown: ERR_CANCELLED a part of it was
 * redacted, ERR_NOENT the file does not hold it, ERR_DAMAGED @value is not a list. Returns owned;
 * do not change it. The last list is cached, so reading a chat call by call costs only what each
 * call adds. */
json_t *session_list(struct session *s, const json_t *value, struct err *err) NODISCARD;

#endif
