/* Which sessions a command is about. The date in a file's name and the catalog answer where they
 * can; else the file is opened. */
#ifndef CATALOG_CHOICE_H
#define CATALOG_CHOICE_H

#include "catalog/catalog.h"
#include "check/past.h"

enum { CHOICE_LABELS = 32 };

struct session_choice {
	int64_t since_us, until_us;	  /* 0: not asked */
	const char *agent, *model, *repo; /* borrowed; NULL: not asked */
	const char *label[CHOICE_LABELS]; /* borrowed; all must match */
	size_t labels;
	bool sure; /* don't take sessions that can't be read */
	/* Does the command look at this file? NULL: not asked. A session is left out if the catalog
	 * knows that no snapshot of it changed such a file. */
	bool (*looks_at)(void *self, const char *path);
	void *self; /* of looks_at */
};
bool session_choice_any(const struct session_choice *w); /* was anything asked? */
/* One that can't be read is taken, so that the command names it; not if @w is sure. */
bool session_choice_takes(const struct session_choice *w, const struct catalog *c,
			  const struct session_file *f);
/* Leaves in @p those that are taken. */
void session_choice_past(const struct session_choice *w, const struct catalog *c, struct past *p);

#endif
