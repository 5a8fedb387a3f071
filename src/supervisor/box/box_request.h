/* A request for a sandbox: its options checked, and put in the form of a box.open event. */
#ifndef SUPERVISOR_BOX_BOX_REQUEST_H
#define SUPERVISOR_BOX_BOX_REQUEST_H

#include "sandbox/driver.h"
#include "supervisor/core/core.h"

/* The backend that a script's @args name; NULL: unknown. */
const struct driver *box_request_driver(struct super *s, const json_t *args, struct err *err);
/* Appends {"name","dir"} of each repository that @args name (a path, or names with paths), without
 * links. */
NODISCARD int box_request_repos(const json_t *args, json_t *list, struct err *err);
/* Checks @net. An entry that the proxy would refuse on every connection is an error when
 * the sandbox opens. */
NODISCARD int box_request_hosts(const json_t *net, struct err *err);
/* Rejects backend options that only the supervisor sets. */
NODISCARD int box_request_options(const json_t *options, struct err *err);
/* Fills @open, the body of a box.open event, from a script's @args. */
NODISCARD int box_request_open(struct super *s, const json_t *args, json_t *open, struct err *err);
/* Checks a recorded @open before a sandbox is opened from it again. */
NODISCARD int box_request_again(const json_t *open, struct err *err);

#endif
