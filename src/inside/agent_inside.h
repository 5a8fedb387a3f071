/* Programs of others on the host that can work inside a box (plugins/agents/): where one lies,
 * and which directories a box must be given, read-only, so that it runs there. */
#ifndef INSIDE_AGENT_INSIDE_H
#define INSIDE_AGENT_INSIDE_H

#include <stdbool.h>

#include "base/err.h"

struct inner_agent {
	char *program; /* absolute, without links; inside: as named; NULL: the profile's */
	char *roots;   /* directories outside of /usr, one a line */
	char *path;    /* of its interpreter (node), outside of /usr; "" none */
	char *beside;  /* another program that it starts; NULL none */
	/* what lua/sandglass/inside.lua knows it by: its name, or the file of a profile */
	char *profile;
};

#define INNER_TERMINAL "terminal" /* as control: in the agent's own interface */

struct inner_find {
	const char *name;    /* of a known agent, or "custom", or a profile's file (*.lua) */
	const char *control; /* the protocol; NULL: the usual one */
	const char *program; /* instead of the agent's own; required by "custom" */
	bool inside;	     /* the sandbox has files of its own; nothing is searched for here */
};

/* Fills @out (release it). ERR_USAGE: unknown agent, with the nearest name; ERR_NOENT: not
 * installed, with the command that installs it. */
NODISCARD int agent_inside_find(struct inner_agent *out, const struct inner_find *find,
				struct err *err);
/* Is such a program on PATH? */
bool agent_inside_there(const char *program);
void agent_inside_release(struct inner_agent *a);

#endif
