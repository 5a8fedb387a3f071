/* Merging a box's work back into the user's own repositories on the host.
 *
 * 1. What the sandbox changed (base to wanted view) is merged three-way, file by file, with the
 *    target's current file: equal to the base, or to what an earlier merge brought: taken; equal to
 *    the wanted: done already; else by lines; else a conflict. Nothing is ever overwritten.
 *    Untracked files of the user's are among them: one that changed on the host since the sandbox
 *    was opened is a conflict.
 * 2. Never written: .git (in any spelling), the directories of other version control systems, files
 *    that the target ignores (unless they are asked for), content of which the recording has only
 *    the hash, FIFOs, sockets, devices.
 * 3. Order: objects and a new ref; then working files by temporary file and rename; then the index;
 *    then HEAD's branch. Several targets: all are prepared before any is written; if one can't be
 *    finished, or a child dies, all are undone. A repository within a target (a submodule or any
 *    other) is a target of its own; a submodule's new commit becomes the commit that the repository
 *    around it names.
 * 4. A merge that is run again finds everything done and changes nothing. merge_undo takes back
 *    what nobody has changed since, also what an interrupted try of the same merge wrote.
 * 5. The target's repository is opened in a child of ours (git_child_main): no hooks, no filter
 *    programs, no configuration but the repository's own and what the user's says of line ends,
 *    attributes and ignored files; under root it becomes the owner of the target. It can be killed.
 * 6. The child reads back what it wrote. The result is made from that: every changed file is
 *    merged, identical, left (by the user), ignored, hash_only, conflict or refused, and the trees
 *    of the merged paths (merged.h) show the rest.
 * Blocking: worker thread. */
#ifndef SANDBOX_WORKSPACE_MERGE_H
#define SANDBOX_WORKSPACE_MERGE_H

#include "sandbox/workspace/merged.h"

enum merge_mode {
	/* working files and index, no commit; kept at refs/sandglass/merge/ID as well */
	MERGE_APPLY,
	MERGE_BRANCH, /* a commit on branch sandglass/NAME; nothing else moves */
	/* one commit per step on the current branch, index and working files follow */
	MERGE_COMMITS,
	MERGE_PATCH, /* a patch file; the target is not opened for writing */
};
const char *merge_mode_name(enum merge_mode m);
/* The message of a commit that nobody has worded: of which box, and in a trailer of which session,
 * so that who finds the commit finds the record. @seq: the snapshot it is of; 0: all that is
 * merged. Returns owned. */
char *merge_message(const char *box, uint64_t seq, const char *session);
bool merge_mode_find(const char *name, enum merge_mode *out);

/* Lines of the old content that lines of the new one take the place of. */
struct merge_range {
	unsigned old_skip, old_lines; /* lines before it, lines in it */
	unsigned new_skip, new_lines;
	/* a user's own lines in their place; NULL: those of the new content. Borrowed */
	const char *text;
	size_t text_len;
};

/* A user's choice for one path. Paths without a choice are accepted as a whole. */
struct merge_choice {
	const char *path;
	size_t len;
	bool leave; /* the whole file */
	/* hunks (1, 2, ...; of ws_patch_make with 3 lines of context) that are left */
	const unsigned *left;
	size_t nr_left;
	struct merge_range *range; /* instead: only these, sorted, none over another */
	size_t nr_ranges;
};

struct merge_step {
	/* the state after the step; the last one's is the wanted state */
	const struct ws_view *view;
	const char *message;	    /* of the commit */
	const char *author, *email; /* who made it, and when; NULL: those of merge_opts */
	int64_t ts_us;
};

struct merge_target {
	const char *repo; /* name of the layer */
	const char *dir;  /* on the host */
	const struct merge_step *step;
	/* at least 1; with choices, and in MERGE_APPLY, one commit is made of all */
	size_t nr_steps;
	const struct merge_choice *choice;
	size_t nr_choices;
	const struct ws_merged *had; /* what earlier merges brought to @dir; NULL = nothing */
	/* git tree of @dir as it was when the sandbox was opened; null = not known */
	struct object_id opening;
	/* paths that are merged even if the target ignores them; may be NULL */
	const struct strv *asked;
	/* Reads a file of which the recording has the hash only from where the sandbox keeps it;
	 * -1: it can't be had. May be NULL */
	int (*fetch)(void *self, const char *path, size_t len, struct buf *out);
	void *fetch_self;
	/* Steps of the commits that were made in a repository within it, at @prefix; returns how
	 * many. Borrowed until the merge ends. May be NULL */
	size_t (*within)(void *self, const char *prefix, const struct merge_step **out);
	void *within_self;
	/* Branches that were made in the repository at @prefix ("": it itself), as
	 * [{gitdir,name,tip,commits,why,objects,of_head,base}] (sandbox_refs.h), owned by the
	 * caller; NULL: none. Modes that make commits bring them, as branches of their own. May be
	 * NULL */
	json_t *(*branches)(void *self, const char *prefix);
	void *branches_self;
	const char *rest; /* message of what nobody committed; NULL: that of the last step */
	/* the steps lack commits of the sandbox: its current branch is brought, too */
	bool cut;
};

struct merge_opts {
	/* 8 to 32 hexadecimal digits: the same for a second try of the same merge */
	const char *id;
	enum merge_mode mode;
	/* MERGE_BRANCH: NAME of refs/heads/NAME; NULL: sandglass/@session, or that with a number */
	const char *branch;
	const char *session; /* id; NULL: the merge's own */
	const char *author, *email;
	int64_t ts_us;	      /* time of the commits */
	const char *undo_dir; /* ours, 0700: records that merge_undo reads */
	const char *patch;    /* MERGE_PATCH: file to write */
	bool dry;	      /* plan only */
	bool ignored;	      /* also what the targets ignore */
	const int *hold;      /* descriptor that the children keep open; may be NULL */
	const struct ws_store *store;
	const struct merge_target *target;
	size_t nr_targets;
	/* Starts the child with @sock as its descriptor 3; NULL: sandglass-git */
	int (*spawn)(void *self, int sock, int *pidfd_out, struct err *err);
	void *self;
	/* MERGE_BRANCH: [{"head","new","ref"}]: branches that earlier merges of the same step made,
	 * on which the commits of this one are to stand; may be NULL */
	const json_t *onto;
	/* polled; kills the children: nothing has been written then. May be NULL */
	bool (*stop)(void *self);
};

struct merge_result {
	bool clean;		   /* no conflicts */
	bool done;		   /* targets were changed (or had it all already) */
	json_t *body;		   /* of merge.planned, merge.done or merge.failed; owned */
	json_t *taken, *not_taken; /* paths: merged or there already; all others. Complete; owned */
};

/* 0 with @r filled (conflicts are a result, not a failure), -1 when it could not be carried out;
 * nothing is changed then. */
NODISCARD int merge_run(const struct merge_opts *o, struct merge_result *r, struct err *err);
void merge_result_release(struct merge_result *r);

/* Removes the refs below refs/sandglass/ that merges made in @dir: their recording goes. */
NODISCARD int merge_forget(const struct merge_opts *o, const char *dir, const json_t *refs,
			   struct err *err);

/* Takes a merge back. @body_out: body of merge.undone; a target that is gone is "gone" in it.
 * ERR_NOENT: no record of it in @undo_dir. */
NODISCARD int merge_undo(const struct merge_opts *o, json_t **body_out, struct err *err);

/* Are all targets of the merge.undone @body gone? */
bool merge_all_gone(const json_t *body);

/* Only removes what a killed merge left beside the files of its targets, or puts it back.
 * @out: [{"path" (absolute),"of","what": "removed" "put back" "kept"}]. */
NODISCARD int merge_settle(const struct merge_opts *o, json_t **out, struct err *err);

/* Has the merge @o->id, of which no event may be recorded, begun to write and not been taken
 * back? */
bool merge_stands(const struct merge_opts *o);

/* ERR_UNSUPPORTED if commits could not be made in @dir because no repository is there: known at
 * once, before you are asked. merge_run reports other obstacles. */
#define MERGE_NO_REPOSITORY "'%s' is not a git repository; use the modes apply or patch"
NODISCARD int merge_may_commit(const char *dir, enum merge_mode mode, struct err *err);

/* The description of a target:
 * {"kind":"none"|"repo"|"worktree"|"submodule"|"inside","head":hex,"branch":..,"shallow":bool,
 * "sparse":bool,"prefix":..,"bare":bool}. */
NODISCARD int merge_look(const struct merge_opts *o, const char *dir, json_t **out,
			 struct err *err);

/* What a reviewer should look at twice, as words: "executable" "link out of the tree" "ci" "policy"
 * "hook" "lock file" "large" "binary" "set-uid". Returns how many were put into @out (room for
 * 8). */
struct ws_change;
size_t merge_flags(const struct ws_change *c, const struct ws_store *st, const char **out);

/* Three-way by lines: 0 clean (fills @out), 1 conflict, -1 failure. */
int merge_lines(const struct buf *base, const struct buf *ours, const struct buf *theirs,
		struct buf *out, struct err *err);

/* Content with only some hunks of a change: @old's bytes with every hunk not in @left (sorted)
 * applied. */
struct ws_patch;
void merge_take_hunks(const struct ws_patch *p, const unsigned *left, size_t nr_left,
		      struct buf *out);

/* @old with @range taken from @new, or from what a user has made of it. False: a range is outside
 * of its content, or lines would be run together. */
NODISCARD bool merge_take_ranges(const struct buf *old, const struct buf *new,
				 const struct merge_range *range, size_t nr, struct buf *out);

/* Looks through the newest @commits of all refs for names that git no longer tracks, and that the
 * rule of git_child_main suspects. Bounded in time (3 s), and ends when @stop (may be NULL) says
 * so. @out: {"paths":[bytes, at most 200],
 * "count","commits" (looked at),"more" (there are more commits),"missing" (objects are not
 * here)}. */
NODISCARD int merge_history(const char *dir, unsigned commits, bool (*stop)(void *self), void *self,
			    json_t **out, struct err *err);

enum { MERGE_CHILD_FD = 3 }; /* the socket of the child */
/* The main of sandglass-git, the child: serves @sock until it is closed. @suspect: names that
 * merge_history looks for; NULL = none. Returns the exit status. */
int git_child_main(int sock, bool (*suspect)(const char *name, bool dir));

#endif
