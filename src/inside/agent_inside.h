/* Programs of others on this machine that can work inside a box (plugins/agents/): where one lies,
 * and which folders a box must be given, read-only, so that it runs there. */
#ifndef INSIDE_AGENT_INSIDE_H
#define INSIDE_AGENT_INSIDE_H

#include "base/err.h"

struct inner_agent {
	char *program; /* absolute, without links */
	char *roots;   /* folders outside of /usr, one a line */
	char *path;    /* of what it is run by (node), outside of /usr; "" none */
	char *beside;  /* another program that it starts; NULL none */
	/* what lua/sandglass/inside.lua knows it by: its name, or the file of a profile */
	char *profile;
};

/* Fills @out (release it). @name: of a known agent; "custom" with @program; or a profile's file
 * (*.lua). @control: how it is spoken with, NULL the usual way. ERR_USAGE: no such agent, with the
 * nearest name; ERR_NOENT: not installed, says how. */
NODISCARD int agent_inside_find(struct inner_agent *out, const char *name, const char *control,
				const char *program, struct err *err);
void agent_inside_release(struct inner_agent *a);

#endif
