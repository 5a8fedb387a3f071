/* The files of a session's sandboxes at any event, and their history; from snapshots alone.
 *
 * 1. The snapshots of a layer (one repository of one sandbox) are a chain (body "prev"). Walking it
 *    costs the number of snapshots, not of events, and reads their lists of changes, not their
 *    trees. Only if a list was truncated ("more") is the path looked up in the tree.
 * 2. A forked sandbox continues the chain of the sandbox that it was copied from. A sandbox that
 *    replaced another (resume) continues that one's (changes.h).
 * 3. A sandbox of a repeated command is a trial: unless it is named, its files don't count beside
 *    those of others, except at an event of its own.
 * 4. Files that no snapshot touched are as in the base, whose bytes are not recorded. Reading
 *    only; one thread. */
#ifndef EXCHANGE_STATES_H
#define EXCHANGE_STATES_H

#include "base/json.h"
#include "record/read/session.h"
#include "sandbox/workspace/state.h"

struct layer_at {		/* one layer at one event */
	uint64_t box, snapshot; /* 0 = no snapshot yet: the base */
	char *box_name, *repo;
	json_t *body; /* of the snapshot; NULL */
};
struct layers_at {
	struct layer_at *item;
	size_t nr, cap;
};
#define LAYERS_AT_INIT ((struct layers_at){ 0 })
void layers_at_release(struct layers_at *l);
/* Every layer after event @seq, with all effects that had ended (of an action: with its own:
 * settled.h); 0 = at the end. A sandbox that was replaced before @seq is left out. @box: only
 * the sandbox of this name or number (NULL = all); ERR_NOENT for an unknown one. */
NODISCARD int layers_at(struct layers_at *out, struct session *s, uint64_t seq, const char *box,
			struct err *err);

/* A session that is resumed or forked opens its boxes anew, each in the place of one before it: the
 * first of these. @box itself when it is nobody's. */
uint64_t states_first_box(struct session *s, uint64_t box);

/* Was @box opened by a repeat? */
bool states_trial(struct session *s, uint64_t box);

/* The newest snapshot of the chain that ends with @snapshot, then the ones before it, newest first,
 * through forks and into the box whose place another took. Stops when @fn returns false. @body is
 * borrowed, and as snapshot_in_history gives it. */
typedef bool snapshot_fn(void *self, uint64_t seq, const struct event *ev, const json_t *body);
NODISCARD int snapshots_back(struct session *s, uint64_t snapshot, snapshot_fn *fn, void *self,
			     struct err *err);

/* The action that changed @path in the snapshot @ev: the only one that might have, or the one of
 * several that wrote or edited this very path; else the last of several, and *shared_out is true. 0
 * = none. */
uint64_t states_author(struct session *s, const struct event *ev, const json_t *body,
		       const char *path, bool *shared_out);

struct file_version {
	uint64_t snapshot; /* 0 = the base */
	uint64_t action;   /* that made it; 0 = none is named */
	bool shared;	   /* several actions might have */
	char why[16];	   /* of the snapshot: "action", "rollback", ... */
	char op;	   /* A M D T m; 'B' = the base */
	unsigned mode;
	struct object_id oid; /* null: not there */
	bool held;	      /* its bytes are in the file */
};
struct file_versions {
	struct file_version *item; /* oldest first; the first is the base if the file was in it */
	size_t nr, cap;
};
void file_versions_release(struct file_versions *v);
/* The versions of @path in @layer, from the start up to it, also under its earlier name if it
 * was moved unchanged. None: no snapshot has it. */
NODISCARD int file_versions(struct file_versions *out, struct session *s,
			    const struct layer_at *layer, const char *path, struct err *err);

/* A store of the session's objects, for what wants one (views, patches). */
struct ws_store states_store(struct session *s);
/* "src/a.c" of "./src//a.c" or "/workspace/src/a.c". Returns owned. */
char *states_path(const char *path);

#endif
