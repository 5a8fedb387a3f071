/* Between the parts of the merge child: the protocol, the target under way, and the plan for each
 * of its paths.
 *
 * Frames of wire/frame.h over descriptor 3; one request at a time. Requests CHILD_LOOK {dir},
 * CHILD_PREPARE, CHILD_COMMIT, CHILD_ABORT, CHILD_UNDO {dir}, CHILD_SETTLE {dir}, CHILD_FORGET
 * {dir,refs}, and CHILD_HISTORY {dir,commits} are answered by CHILD_OK (JSON) or CHILD_ERR
 * {code,text}.
 *
 * While it works on a request the child may ask:
 *   CHILD_GET    the 20 bytes of a name; answered by CHILD_BLOB or CHILD_NONE
 *   CHILD_SAVE   a file of the undo record: name, NUL, bytes; answered by CHILD_OK or CHILD_ERR
 *   CHILD_LOAD   the name of such a file; answered by CHILD_BLOB or CHILD_NONE
 * The parent keeps the record because the target's owner may not write to its directory.
 */
#ifndef SANDBOX_WORKSPACE_GITCHILD_H
#define SANDBOX_WORKSPACE_GITCHILD_H

#include "base/json.h"
#include "sandbox/workspace/git.h"
#include "sandbox/workspace/hostfile.h"
#include "sandbox/workspace/memstore.h"

enum child_frame {
	CHILD_OK = 1,
	CHILD_ERR,
	CHILD_LOOK,
	CHILD_PREPARE,
	CHILD_COMMIT,
	CHILD_ABORT,
	CHILD_UNDO,
	CHILD_GET,
	CHILD_BLOB,
	CHILD_NONE,
	CHILD_SAVE,
	CHILD_LOAD,
	CHILD_FORGET,
	CHILD_HISTORY,
	CHILD_SETTLE,
};
enum { CHILD_MAX_BODY = 256 << 20 };

typedef bool git_name_rule(const char *name, bool dir);

/* The result for one path. Every file and link that the sandbox changed is in one class;
 * directories are in none. */
enum plan_class {
	CLASS_NONE = '-',
	CLASS_MERGED = 'm',
	CLASS_IDENTICAL = 'i', /* the target had it already */
	CLASS_IGNORED = 'g',   /* the target ignores it, and nobody asked for it */
	CLASS_HASH_ONLY = 'h', /* the recording holds no bytes */
	CLASS_CONFLICT = 'c',
	CLASS_REFUSED = 'r',
	CLASS_CHANGED = 'x', /* merged, and changed by another process before it was read back */
};

/* One path that the box changed. */
struct plan_path {
	char *path;
	size_t len, nth; /* place in the request */
	struct ws_state base, want;
	struct ws_state had; /* what an earlier merge brought here; WS_NONE with has_had false */
	/* moved: @base is not what stood there at opening; asked: even if ignored */
	bool has_had, moved, asked;
	bool same;	/* the target has it already */
	bool untracked; /* a file of the user's that git does not know */
	bool apart;	/* it is in the target and not in the commit of HEAD */
	enum plan_class result;
	const char *skip;      /* never touched: why */
	const char *conflict;  /* why */
	bool tree_conflict;    /* cannot go into a commit on HEAD */
	bool in_tree;	       /* it changes a commit */
	bool write;	       /* the working file changes */
	bool stage;	       /* the index entry changes */
	struct hostfile host;  /* as it is in the target */
	struct ws_state after; /* the working file's state afterwards (write) */
	struct buf bytes;      /* and its content */
	struct stat wrote;     /* of the file as we wrote it */
	unsigned stage_mode;   /* 0 = the entry goes */
	struct object_id stage_oid;
	unsigned staged_mode; /* the entry as it was; 0 = none */
	struct object_id staged_oid;
};

/* A submodule whose own repository got a commit by the same merge. */
struct plan_link {
	char *path;
	size_t len;
	struct object_id oid, staged_oid;
	unsigned staged_mode;
	bool stage;
};

/* A branch that the sandbox made. */
struct plan_branch {
	char *ref;  /* here, full name */
	size_t nth; /* in the report */
	struct object_id tip;
	bool there, made; /* it was there already; it is ours */
};

/* The changes of one step of history. */
struct plan_step {
	struct plan_path *path;
	size_t nr, cap;
	char *message, *author, *email; /* author NULL: that of the merge */
	int64_t ts_us;
};

struct target {
	int sock, root; /* descriptor of the directory */
	char *dir;
	int config;	      /* what counts of the user's own configuration; -1: none */
	git_repository *repo; /* NULL: no repository */
	git_odb *odb;
	git_index *index; /* NULL: none, or one that libgit2 does not understand */
	char *prefix;	  /* path of dir in the repository, "" or "a/b" */
	size_t prefix_len;
	struct object_id head; /* commit, null = none */
	struct object_id head_tree;
	/* gitonto.c: the branch of an earlier merge of the step, and the commit that HEAD names;
	 * @head and @head_tree are then those of that branch. NULL, null: there is none */
	const char *stands_on;
	struct object_id from;
	char *branch; /* full name of HEAD's branch; NULL = detached or no repository */
	bool bare, shallow, sparse, worktree, submodule;
	/* objects that are new; they reach the repository only when all is clean */
	struct memstore *mem;
	struct ws_store store; /* those above the repository's */
	/* the merge under way */
	json_t *request;
	struct plan_step all, *step;
	size_t nr_steps;
	struct plan_link *link;
	size_t nr_links;
	struct plan_branch *brought;
	size_t nr_brought, cap_brought;
	char *ref; /* new ref, full name; NULL = none is needed */
	struct object_id ref_old, commit, new_tree;
	bool prepared, ref_made;
	/* gitrecord.c: the saved record as this try found it, once it has looked; NULL: none */
	json_t *earlier;
	bool looked;
	char temp[HOSTPLACE_TOKEN]; /* of the names of temporary files; kept in the record */
	json_t *leftover;	    /* gitrecord_settle of @earlier */
};

/* gitindex.c */
/* Which index entries change, and to what; @commits: those of untracked files, too. */
void plan_index(struct target *t, bool commits);
/* The index has files and links only. */
bool plan_in_index(const struct plan_path *p);

/* gitrepo.c */
int target_open(struct target *t, const char *dir, struct err *err);
void target_close(struct target *t);
json_t *target_look(const struct target *t);
/* The path in the repository; arena-free: fills @out. */
void target_path(const struct target *t, const char *path, size_t len, struct buf *out);
bool target_tracked(const struct target *t, const char *path, size_t len);
bool target_ignored(const struct target *t, const char *path, size_t len, bool dir);
/* Bytes as git stores them (line ends, ident). 1: unknown because of the attribute *filter_out: a
 * filter program, or ATTR_ENCODING. */
#define ATTR_ENCODING "working-tree-encoding"
int target_clean(const struct target *t, const char *path, size_t len, const struct buf *raw,
		 struct buf *out, const char **filter_out, struct err *err);
int target_commit(struct target *t, const struct object_id *tree, const struct object_id *parent,
		  const struct plan_step *of, struct object_id *out, struct err *err);
/* Sets @ref to @to if it is @from (null: must not exist). Null @to removes it. */
int target_ref(struct target *t, const char *ref, const struct object_id *from,
	       const struct object_id *to, struct err *err);
/* Here or in another worktree: without its branch, a checkout would have no commit. */
bool target_checked_out(struct target *t, const char *ref);
/* The index entry of @path: mode 0 = none. */
void target_staged(const struct target *t, const char *path, size_t len, unsigned *mode,
		   struct object_id *oid);
/* @same: the working file holds exactly that content (then git need not read it again). mode 0: the
 * entry goes. */
int target_stage(struct target *t, const char *path, size_t len, unsigned mode,
		 const struct object_id *oid, bool same, struct err *err);
bool target_in_submodule(const struct target *t, const char *path, size_t len);
/* gitnested.c: repositories below the target that hold some of @paths (sorted): [{path,kind}], kind
 * "submodule" "repository" or "missing" (a submodule that is not checked out). Outermost ones
 * only. */
json_t *target_nested(const struct target *t, const json_t *paths);

/* gitplan.c: what happens to each path. */
int plan_make(struct target *t, struct err *err);
void plan_release(struct target *t);
/* NULL: not among them */
struct plan_path *plan_find(struct plan_step *s, const char *path, size_t len);
/* A class for every file and link, once all is judged. @files: the working files count; @trees: the
 * commit counts. */
void plan_classify(struct target *t, bool files, bool trees);
/* gittree.c: the plan in git's terms. */
/* The same to git and to users: kind, bytes, executable or not. */
bool plan_alike(const struct ws_state *a, const struct ws_state *b);
/* Only permissions that git doesn't keep were changed. */
bool plan_no_change(const struct plan_path *p);
/* The bytes of @s; none if it is not a file or link. 0, 1 not held, -1 */
int plan_bytes_of(struct target *t, const struct ws_state *s, struct buf *out, struct err *err);
/* Three-way by lines: 0, 1 conflict, -1. @had: what an earlier merge brought; it counts as the base
 * where @ours still has all of it. NULL: there was none. */
int plan_lines_onto(const struct buf *base, const struct buf *had, const struct buf *ours,
		    const struct buf *want, struct buf *out, struct err *err);
/* Merges @p into <mode, oid> (0 = nothing) of a tree or the index. Returns 0 and fills the outs,
 * 1 conflict (@p->conflict may have details), -1 failure. */
int plan_merge_git(struct target *t, struct plan_path *p, unsigned mode,
		   const struct object_id *oid, unsigned *mode_out, struct object_id *oid_out,
		   struct err *err);
/* Does @tree have a file where @p needs a directory, or a directory where @p is a file, with
 * something in it that step @s doesn't take away? 0, 1 with @p->conflict filled, -1. @mode: of the
 * entry of @p in @tree. */
int plan_tree_way(struct target *t, struct plan_step *s, struct plan_path *p, unsigned mode,
		  const struct object_id *tree, struct err *err);

/* gitonto.c: continues the branch that "onto" of the request names for this repository. */
int stand_onto(struct target *t, struct err *err);

/* gitrecord.c: the undo record, saved before anything is written: first without files, for the new
 * ref. A second try of an interrupted merge keeps what the first one saved, so that an undo takes
 * both back. */
int gitrecord_save(struct target *t, bool files, struct err *err);
/* The record is again what this try has found. */
void gitrecord_aborted(struct target *t);
/* Notes in the saved @rec that it was taken back: a later try of the same merge keeps nothing of
 * it. */
void gitrecord_undone(struct target *t, json_t *rec);
/* Removes what a killed try of @rec (may be NULL) left beside the files, or puts it back:
 * [{"path","of" (the file),"what": "removed" "put back" "kept"}]. Names of temporary files are
 * those of @rec from now on. */
json_t *gitrecord_settle(struct target *t, const json_t *rec);
/* Is @s the state that a record describes as @want (null: nothing is there)? */
bool gitrecord_state_is(const struct ws_state *s, const json_t *want);

/* gitwrite.c: carrying it out; gitundo.c: taking it back. */
int plan_prepare(struct target *t, json_t **out, struct err *err);
int plan_commit(struct target *t, json_t **out, struct err *err);
int plan_abort(struct target *t, struct err *err);
int undo_run(struct target *t, json_t **out, struct err *err);
/* Only what undo_run does first: gitrecord_settle. */
int settle_run(struct target *t, json_t **out, struct err *err);
int forget_refs(struct target *t, json_t **out, struct err *err);

/* gitbranch.c: branches that were made in the sandbox ("branches" and "branch_base" of the
 * request). */
/* Looks through their objects, writes them unless @dry, and reports each with its "ref", or "why"
 * it can't be brought. HEAD's own commits are brought only if the files of the merge don't cover
 * them. */
void branches_prepare(struct target *t, bool dry, json_t *report);
/* One that can't be made is dropped, and gets its "why" in the @report. */
int branches_make(struct target *t, json_t *report, struct err *err);
int branches_read_back(struct target *t, struct err *err);
int branches_back(struct target *t, struct err *err);
/* Those of this try and of the @earlier record (may be NULL): [{ref,tip}]. Returns owned. */
json_t *branches_record(const struct target *t, const json_t *earlier);
/* Removes those of @rec that have not moved and are not checked out; @out names the others. */
void branches_undo(struct target *t, const json_t *rec, json_t *out);
void branches_release(struct target *t);

/* githead.c: does the classified plan have all that the commits of HEAD hold? @branch: an entry of
 * "branches" with of_head; "left" of the request: paths that a choice left out. */
bool head_covered(struct target *t, const json_t *branch);

/* gitconfig.c: line ends, attributes, and ignored files of the user's own configuration, and
 * nothing else of it. Before we become another user; then into the repository. */
int user_config_read(struct target *t, struct err *err);
int user_config_use(struct target *t, struct err *err);

/* githistory.c: merge_history. @suspect: a name that is looked for. */
int history_look(struct target *t, git_name_rule *suspect, json_t **out, struct err *err);

/* gitchild.c: what the child asks of its parent. 0, 1 not held, -1 */
int child_get(struct target *t, const struct object_id *id, struct buf *out, struct err *err);
int child_save(struct target *t, const char *name, const void *bytes, size_t len, struct err *err);
/* 0, 1 not there, -1 */
int child_load(struct target *t, const char *name, struct buf *out, struct err *err);

/* gitwrite.c: nothing if @id is null */
void gitwrite_put_oid(json_t *o, const char *key, const struct object_id *id);
/* Is there a ref of that name? */
bool branch_stands(struct target *t, const char *ref);
/* Fails if another branch is in the way of @ref, or its name is invalid. */
int way_of_ref(struct target *t, const char *ref, struct err *err);

#endif
