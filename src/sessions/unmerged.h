/* Which boxes of a session hold work that nobody has merged back: read from its record alone, so it
 * says the same while the session runs, after its end and on another machine. A box's files need
 * not lie on disk for it: the record has every changed file but those that are kept by hash only
 * (too large, or ignored). */
#ifndef SESSIONS_UNMERGED_H
#define SESSIONS_UNMERGED_H

#include "cli/lib/cmd.h"
#include "record/read/session.h"
#include "sandbox/workspace/merged.h"
#include "sessions/sandbox_refs.h"

struct unmerged_layer {
	char *repo, *dir; /* the user's directory; NULL = none, there is nothing to merge into */
	json_t *snap;	  /* body of its newest snapshot; NULL = none */
	uint64_t *snaps;  /* of all its snapshots */
	size_t nr_snaps, cap_snaps;
	/* of that snapshot; of the newest merge back that stands and names no trees (older
	 * versions) */
	uint64_t seq, merged;
	size_t left;		  /* files which that merge left out */
	struct ws_merged had;	  /* what the merges that stand have brought */
	struct object_id opening; /* tree of the directory as it was at opening; null = not known */
	size_t files;		  /* not merged */
	/* among them kept by hash only although nothing ignores them: cannot be merged */
	size_t large;
	struct sandbox_refs refs; /* branches, stashes, and HEAD's commits that are not merged */
};

struct unmerged_box {
	uint64_t id;
	uint64_t owner; /* the box that began its state */
	char *name;
	bool closed;
	json_t *notices; /* bodies of its box.notice; NULL = none */
	struct unmerged_layer *layer;
	size_t nr;
	size_t files, large, branches;
};

struct unmerged_merge { /* one that was done */
	char id[33];
	size_t box;	      /* index */
	uint64_t seq, action; /* action: a script's; 0 = none */
	json_t *body;
	bool undone;
};

struct unmerged {
	struct unmerged_box *box;
	size_t nr, cap;
	struct unmerged_merge *merges; /* in order */
	size_t nr_merges, cap_merges;
	size_t nr_recovered; /* merges that were killed and taken back */
	json_t *end;	     /* body of the newest session.end; NULL = it has not ended */
};
#define UNMERGED_INIT ((struct unmerged){ 0 })

/* Removes our refs of the session's merges from the target repositories, before the recording
 * goes. Failures are reported on ctx->err. */
void unmerged_forget(struct cmd_ctx *ctx, const char *path);

/* Was its supervisor killed, and are the files of a sandbox here? They may have changes that no
 * snapshot has. @path: of the session file; NULL: known to be that of the sandboxes. */
bool unmerged_cut_off(const struct unmerged *u, const char *path, const char *id);
/* unmerged_work of a session file that isn't running; false: that can't be read, or its supervisor
 * was killed and the files of a sandbox may have changes that the recording lacks. */
bool unmerged_in_file(const char *path, size_t *out);
/* Every box of @s, also those with nothing to merge (files 0). */
NODISCARD int unmerged_read(struct unmerged *out, struct session *s, struct err *err);
/* Makes @dir the directory into which the one repository of u->box[@box] is merged. ERR_INVALID if
 * it has several. */
NODISCARD int unmerged_into(struct unmerged *u, size_t box, const char *dir, struct session *s,
			    struct err *err);
void unmerged_release(struct unmerged *u);
/* Files and branches that are not merged. */
size_t unmerged_work(const struct unmerged *u);
/* "3 files", "branch one", "1 file and branches one, two" */
void unmerged_what(const struct unmerged_box *b, struct buf *out);

/* "box fix-1: 3 files not merged; `sandglass merge s-7k2m9q` or `sandglass prune s-7k2m9q`" on
 * ctx->err, one line a box. */
void unmerged_tell(struct cmd_ctx *ctx, const char *path);

/* "merged to sandglass/my" on ctx->err, for each branch that an ended session's merges have written
 * and no undo took back. */
void merged_tell(struct cmd_ctx *ctx, const char *path);

/* merge, undo, redact, and label of an ended session, recorded in its file.
 * @boxes: names or #ids; may be empty. Returns the exit status. */
int offline_edit_merge(struct cmd_ctx *ctx, const char *path, const struct strv *boxes);
int offline_edit_undo(struct cmd_ctx *ctx, const char *path);
int offline_edit_redact(struct cmd_ctx *ctx, const char *path);
int offline_edit_label(struct cmd_ctx *ctx, const char *path, const char *const *words, size_t nr);

#endif
