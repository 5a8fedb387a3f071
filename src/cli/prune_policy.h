/* Which sessions the settings keep.days, keep.size, and keep.label remove: bare `sandglass prune`
 * applies them, and each finished run. */
#ifndef CLI_PRUNE_POLICY_H
#define CLI_PRUNE_POLICY_H

#include "base/json.h"
#include "cli/lib/cmd.h"
#include "catalog/catalog.h"

struct prune_policy {
	int64_t days; /* older sessions go; 0: not set */
	bool by_size;
	uint64_t bytes; /* the oldest go until the others take at most this */
	json_t *labels; /* array of wishes (sessions/labels.h): matching sessions stay; or NULL */
};
/* ERR_USAGE: a setting has a wrong value. */
NODISCARD int prune_policy_read(struct prune_policy *out, struct cmd_ctx *ctx, struct err *err);
void prune_policy_release(struct prune_policy *p);
bool prune_policy_any(const struct prune_policy *p); /* does it remove anything? */
/* Does a label keep the session? So it is with one whose labels can't be read. */
bool prune_policy_keeps(const struct prune_policy *p, const struct catalog *c,
			const struct session_file *f);
/* "setting keep.days", "settings keep.days and keep.size"; owned. */
char *prune_policy_names(const struct prune_policy *p) NODISCARD;

#endif
