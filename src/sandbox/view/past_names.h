/* Names like those of secrets that only earlier commits of a repository have. Git in a sandbox can
 * read their contents. Starts a process that opens the repository; any thread but the loop's. */
#ifndef SANDBOX_VIEW_PAST_NAMES_H
#define SANDBOX_VIEW_PAST_NAMES_H

#include "base/json.h"

enum { PAST_COMMITS = 2000 }; /* the newest that are looked at */

struct past_stop { /* polled: ends the look with ERR_CANCELLED */
	bool (*due)(void *self);
	void *self;
};

/* *out: facts for a notice, [{"repo","path","why"}] with @repo as given; empty without such names
 * or without a repository at @dir; only past_incomplete if none was found and @all_out is false.
 * @expose: as for masks_scan. @all_out: every commit was looked at. @stop: may be NULL. */
NODISCARD int past_names(const char *dir, const char *repo, const struct strv *expose,
			 const struct past_stop *stop, json_t **out, bool *all_out,
			 struct err *err);

/* A fact without a path: a look ended early, after @commits. Owned by the caller. */
json_t *past_incomplete(const char *repo, int64_t commits);

#endif
