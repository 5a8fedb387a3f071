/* Branches and stashes that an agent made in a sandbox and that its working files don't have: read
 * from a snapshot alone. The sandbox's repository is never opened.
 *
 * A branch is one of them if it has commits that neither HEAD nor a remote leads to, and other
 * files than HEAD. So is every other ref (a tag, notes), the HEAD of a worktree that was made
 * inside, and a commit that HEAD left while no ref named it. HEAD's own commits are one, too: they
 * may hold what the working files don't (a rewritten history, an ignored file that was added). */
#ifndef SESSIONS_SANDBOX_REFS_H
#define SESSIONS_SANDBOX_REFS_H

#include "base/json.h"
#include "sandbox/workspace/state.h"

struct sandbox_ref {
	char *gitdir; /* ".git", "in/.git", ".git/modules/lib" */
	char *name; /* "feature", "stash", "stash-1", "tags/v1", "worktrees/NAME", "detached-ID" */
	struct object_id tip;
	size_t commits;	 /* that HEAD doesn't lead to, or all of HEAD's own */
	json_t *objects; /* [[id,blob]]: new git objects, and the recorded files that hold them */
	const char *why; /* it can't be brought; NULL: it can. Static */
	/* HEAD's own commits: the merge child says whether the working files hold all of them.
	 * Until all files are merged, the files stand for them. */
	bool of_head;
	struct object_id base; /* of_head: HEAD at opening; null = not known */
};
struct sandbox_refs {
	struct sandbox_ref *item; /* by gitdir and name */
	size_t nr, cap;
};
#define SANDBOX_REFS_INIT ((struct sandbox_refs){ 0 })

/* Of the snapshot @body, without those that are @merged (sandbox_refs_see; NULL: none). */
NODISCARD int sandbox_refs_read(struct sandbox_refs *out, const struct ws_store *st,
				const json_t *body, const json_t *merged, struct err *err);
/* Adds to *@merged those that a merge with this body has brought to @dir, or found covered by its
 * files; makes *@merged if it is NULL. */
void sandbox_refs_see(json_t **merged, const json_t *body, const char *repo, const char *dir);
/* The key of a branch in such a set. Returns owned. */
char *sandbox_ref_key(const char *gitdir, const char *name, const char *tip);
/* merge_target.branches: @self is a struct sandbox_refs_at. */
struct sandbox_refs_at {
	const struct sandbox_refs *refs; /* borrowed */
	const char *dir;		 /* of the layer on the host; borrowed */
};
json_t *sandbox_refs_at(void *self, const char *prefix);
/* Appends those that the merge with this @body doesn't bring, with the reason if there is one:
 * [{repo,gitdir,name,commits,why}] */
void sandbox_refs_left(const struct sandbox_refs *r, const json_t *body, const char *repo,
		       json_t *out);
void sandbox_refs_release(struct sandbox_refs *r);

#endif
