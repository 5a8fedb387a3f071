/* The contents that merges of one layer have brought to the host: for each path the last merged
 * content, without undone merges. All other content of a sandbox is unmerged: partial merges,
 * repeated ones, and undo need no rule of their own. Any thread, one at a time. */
#ifndef SANDBOX_WORKSPACE_MERGED_H
#define SANDBOX_WORKSPACE_MERGED_H

#include "base/json.h"
#include "base/mem.h"
#include "sandbox/workspace/view.h"

struct merged_path {
	const char *path;
	size_t len;
	struct ws_state base, now; /* @now: as it was merged */
	/* into the working files or HEAD of the directory that was asked for */
	bool here;
	struct ws_state here_now; /* the last that was */
};

struct ws_merged {
	struct merged_path *item; /* sorted by path */
	size_t nr, cap;
	struct arena arena;
};
#define WS_MERGED_INIT ((struct ws_merged){ 0 })

/* Adds what a merge.done event says of layer @repo; @dir: of merges into the working files there
 * (may be NULL). Merges are added from the oldest to the newest. Returns 1, 0 for an event that
 * names no trees (it is of an older version), -1. */
NODISCARD int ws_merged_event(struct ws_merged *m, const struct ws_store *st, const json_t *body,
			      const char *repo, const char *dir, struct err *err);
/* The same from trees; null ids are empty. */
NODISCARD int ws_merged_add(struct ws_merged *m, const struct ws_store *st,
			    const struct object_id *tree, const struct object_id *under, bool here,
			    struct err *err);
/* The same from paths, which are borrowed: newest last. */
void ws_merged_put(struct ws_merged *m, const struct merged_path *list, size_t nr);
const struct merged_path *ws_merged_find(const struct ws_merged *m, const char *path, size_t len);
void ws_merged_release(struct ws_merged *m);

/* Alike to git: kind, content, executable or not. */
bool ws_state_alike(const struct ws_state *a, const struct ws_state *b);

/* Work of @view that @m does not have; @m may be NULL. Git's own files don't count as work, nor do
 * files that are hash only unless they are large: ignored files that can be made again are kept so.
 * Calls @fn (may be NULL) for each. @large: how many of them are hash only. Returns how many. */
typedef void ws_rest_fn(void *self, const char *path, size_t len, const char *why);
size_t ws_merged_rest(const struct ws_merged *m, const struct ws_view *view, ws_rest_fn *fn,
		      void *self, size_t *large);

#endif
