/* Agents by their id in the ACP registry: a copy of its registry.json on this host says how each is
 * started. Nothing is downloaded: the program must be installed, or be in the sandbox's image. */
#ifndef INSIDE_AGENT_REGISTRY_H
#define INSIDE_AGENT_REGISTRY_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

struct registry_agent {
	char *program;	   /* its name, for PATH */
	struct strv words; /* its arguments */
	char *env;	   /* "NAME=value" lines; "" none */
};

/* Fills @out (release it) with the first distribution of @id whose program is on PATH; @inside: the
 * first of all, because the sandbox has files of its own. ERR_NOENT: not in the registry, with the
 * nearest id, or not installed, with what installs it. */
NODISCARD int agent_registry_find(struct registry_agent *out, const char *file, const char *id,
				  bool inside, struct err *err);
void registry_agent_release(struct registry_agent *a);

#endif
