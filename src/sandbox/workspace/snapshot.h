/* One layer of a workspace (a repository of a sandbox, or its home) and its snapshots: makes git
 * objects and the body of a snapshot.taken event from descriptors and known state. Worker thread,
 * one at a time per layer; commits nothing itself.
 *
 * What a snapshot says (DESIGN.md 4, 6): every path that differs from the base, and no other. 1.
 * tree: git tree of these paths as they are now; under: git tree of the same paths as the base has
 * them. A path in
 *    under and not in tree was removed, one in tree and not in under was added. So the bytes on
 *    both sides of every
 *    difference are in the session file and a snapshot costs what changed, whether the base has
 *    been hashed or not.
 * 2. git, git_under: the same for the workspace's own .git, apart, so that no export meets it; each
 *    is a tree with the one entry ".git".
 * 3. attrs: what git cannot say. A tree shaped like the workspace: blob "a" speaks of the entries
 *    of the directory, tree "d" + NAME of the directory NAME. The blob is records, sorted by name,
 *    each ended by NUL: SIDE SP KIND SP MODE SP LINKS SP FLAGS SP SIZE SP NAME; SIDE n (now) or b
 *    (base), KIND a word of state.h, MODE octal, FLAGS hexadecimal (enum ws_flags), SIZE decimal.
 *    There is one for each side of a differing path that is a directory, FIFO, socket or device,
 *    that has another mode than 0644 or 0755, more than one link, or a flag.
 * 4. An absent field is an empty tree. A file that is hash only is in the trees by name; its blob
 *    is not held. 5. changes: against the snapshot before, in order of path. */
#ifndef SANDBOX_WORKSPACE_SNAPSHOT_H
#define SANDBOX_WORKSPACE_SNAPSHOT_H

#include "base/json.h"
#include "sandbox/workspace/state.h"

struct ws;

struct ws_opts {
	const char *name; /* of the layer; "" is /workspace itself */
	bool copy;	  /* the upper is a copy of the whole lower (profile reduced) */
	/* a copy in which a sandbox may have worked before: used as it is */
	bool again;
	uint64_t keep_max; /* 0: 16 MiB */
	/* patterns as in .gitignore; NULL: node_modules, target and their like */
	const char *const *hash_only;
	size_t nr_hash_only;
	bool no_ignore; /* keep the bytes of what the base ignores as well */
	bool no_hint;	/* never watch for changes: always walk everything */
};

/* Takes both descriptors (roots of upper and lower; lower may be -1). For a copy that is new, what
 * the upper holds at the first ws_take is taken for the same as the lower. */
struct ws *ws_new(const struct ws_opts *o, int upper_fd, int lower_fd);
void ws_free(struct ws **w);
/* @open opens what our uid may not (which: "upper" or "lower"); see struct upper. */
void ws_set_open(struct ws *w,
		 int (*open)(void *self, const char *which, const char *path, struct err *err),
		 void *self);

struct ws_how {
	const char *why; /* "action", "open", ...: goes into the body */
	const struct strv
		/* look only there (upper_walk_only); NULL: everything, or where the change hint
		 * says */
		*told;
	bool full; /* whatever the hint says: everything */
	/* processes are alive (frozen): syncfs first, so that stores through mappings show */
	bool sync;
};
/* Scans the files. 1: *body_out is the event's body (owned by the caller; the caller adds prev, by,
 * shared, alive) and the objects that it names have been added to @st. 0: no change since the last
 * one. -1: failure; the next successful call reports the changes found. The first call always gives
 * a body. */
NODISCARD int ws_take(struct ws *w, const struct ws_store *st, const struct ws_how *how,
		      json_t **body_out, struct err *err);

/* H over tree, under, git and attrs of the last snapshot: what an approval can be bound to. */
void ws_fingerprint(const struct ws *w, struct hash *out);
/* Does the last snapshot have a different state for @path than the base? Loop thread only between
 * calls of ws_take. */
bool ws_touched(const struct ws *w, const char *path, size_t len);

struct ws_stats {
	size_t nodes;	/* known paths */
	size_t touched; /* that differ from the base */
	size_t looked;	/* entries looked at by the last ws_take */
	/* "none" (nothing to gain yet), "on trial", "trusted", "off" (unavailable, or it missed
	 * something) */
	const char *hint;
};
void ws_stats(const struct ws *w, struct ws_stats *out);
const char *ws_name(const struct ws *w);
int ws_lower_fd(const struct ws *w); /* borrowed; -1 */
int ws_upper_fd(const struct ws *w);

enum { WS_CHANGES_MAX = 2000 };

#endif
