/* The part of a sandbox's changes that you accept, from words to choices of a merge.
 *
 * Files by pattern, hunks by "FILE:1,3,5-7" (the n-th @@ of FILE in 'diff'), or by
 * "FILE:OID@SKIP,LINES+SKIP,LINES@...": the ranges shown on a screen (SKIP lines come before the
 * range, in the old and in the new content) and the new content that they were ranges of, so that
 * exactly the lines you saw are accepted, or refused; "=BASE64" behind a range: these lines instead
 * of those of the new content. "FILE:OID" is the whole file, if it still has that content. Paths
 * that no word names are rejected; without any word all are accepted. Pure except for the store,
 * any thread. */
#ifndef SANDBOX_WORKSPACE_PICK_H
#define SANDBOX_WORKSPACE_PICK_H

#include "base/json.h"
#include "sandbox/workspace/merge.h"

struct pick_file { /* one word of --hunks */
	char *path;
	unsigned *hunk; /* numbers, sorted, each once */
	size_t nr, cap;
	struct merge_range *range;
	size_t nr_ranges, cap_ranges; /* owns their texts */
	struct object_id seen;	      /* of the ranges */
	bool whole;		      /* all of it, as long as it is @seen */
	bool used;
};
struct pick {
	struct strv paths; /* patterns */
	struct pick_file *file;
	size_t nr, cap;
};
#define PICK_INIT ((struct pick){ .paths = STRV_INIT })

/* Adds one word of --hunks. ERR_USAGE when it says nothing. */
NODISCARD int pick_hunks(struct pick *p, const char *word, struct err *err);
/* Takes "path" and "hunks" (a string or a list of strings each) of a command's options. */
NODISCARD int pick_opts(struct pick *p, const json_t *opts, struct err *err);
static inline bool pick_all(const struct pick *p)
{
	return p->paths.nr == 0 && p->nr == 0;
}
void pick_release(struct pick *p);
/* Is @path of repository @repo what a word of --path names? */
bool pick_path_matches(const char *pattern, const char *repo, const char *path);

struct merge_choices {
	struct merge_choice *item; /* borrows paths from the view; owns the hunk lists */
	size_t nr, cap;
	size_t left;		 /* files of which nothing is taken */
	size_t partly;		 /* files of which something is left: not merged either */
	struct strv whole, none; /* paths of which all, nothing is taken */
	/* of the files taken in part: [{path,take[hunk],left[hunk],of}] or {path,ranges,of};
	 * NULL */
	json_t *taken;
};

/* Choices for one repository of a merge. @repo: its name, also allowed before paths
 * ("name/a.c"). */
NODISCARD int pick_choices(struct pick *p, const char *repo, const struct ws_view *v,
			   const struct ws_store *st, struct merge_choices *out, struct err *err);
void merge_choices_release(struct merge_choices *c);
/* After all repositories: requested files and hunks that do not exist. */
NODISCARD int pick_check(const struct pick *p, struct err *err);

#endif
