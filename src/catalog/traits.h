/* The agents, models, and repositories of a session: --agent, --model, and --repo choose by
 * them. */
#ifndef CATALOG_TRAITS_H
#define CATALOG_TRAITS_H

#include "base/json.h"
#include "record/read/session.h"

/* {"agents": [...], "models": [...], "repos": [...], "labels": {}}: names without repetition, of a
 * repository its name and its directory. Returns owned; NULL with @err. */
json_t *session_traits(struct session *s, struct err *err) NODISCARD;

#endif
