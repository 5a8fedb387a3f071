/* Refs, logs, and git objects of a sandbox's repositories, as a snapshot lists them. The sandbox
 * wrote all of it: names and numbers are not trusted. */
#ifndef SESSIONS_GIT_SEEN_H
#define SESSIONS_GIT_SEEN_H

#include "base/json.h"
#include "sandbox/workspace/state.h"

/* Commits that HEAD left while no branch named them have names with this, as if they were refs. */
#define GIT_SEEN_LEFT "refs/detached-"

struct named_id {
	char *name; /* owned */
	struct object_id id;
	bool loose; /* from the ref's own file, which counts before its line in packed-refs */
	bool wide;  /* a SHA-256 name; @id has its first 20 bytes */
};
struct id_list {
	struct named_id *item; /* by name; one each */
	size_t nr, cap;
};
struct id_array {
	struct object_id *item; /* in order */
	size_t nr, cap;
};
/* A git object that the sandbox has made. */
struct made_object {
	struct object_id id, blob; /* @id first */
	unsigned walk;		   /* the newest walk that has come by */
	bool of_head;		   /* HEAD leads to this commit */
	bool of_remote;		   /* a branch of a remote does */
	bool of_ref;		   /* a ref that keeps work does */
	bool content;		   /* known to be of a file: it leads to nothing */
};
/* One repository of the sandbox. */
struct git_seen {
	char *gitdir; /* owned */
	/* refs that keep work, and HEADs of worktrees ("refs/worktrees/NAME") */
	struct id_list now, base;
	struct id_array remote;	  /* what a remote has, too */
	struct made_object *made; /* by id */
	size_t nr, cap;
	struct object_id log_head, head; /* null: untouched */
	struct object_id base_head;	 /* HEAD at opening; null: untouched, or none */
	char *head_ref;			 /* owned */
	bool log_seen;			 /* the sandbox has changed the log of HEAD */
	bool packs;
};
/* Zero but for @st. */
struct refs_reader {
	const struct ws_store *st;
	struct git_seen *seen;
	size_t nr, cap, last;
	bool base;	 /* the tree that is read is what was there before */
	size_t text;	 /* bytes of refs and logs so far */
	bool full, more; /* refs, repositories exceed the limits: the others are left out */
	bool unread;	 /* the recording has only the hash of a file of refs */
	unsigned walk;
	size_t objects, bytes; /* that walks have read */
};

/* Of the snapshot @body. */
NODISCARD int git_seen_read(struct refs_reader *r, const json_t *body, struct err *err);
void git_seen_release(struct refs_reader *r);
struct named_id *id_list_find(const struct id_list *l, const char *name);
bool id_array_has(const struct id_array *a, const struct object_id *id);
struct made_object *made_find(const struct git_seen *g, const struct object_id *id);

#endif
