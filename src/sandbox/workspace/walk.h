/* Between the halves of the walk: upper.c meets the entries of the upper, walk.c knows what they
 * mean for what lies below and hidden. Private to upper.{h,c}. */
#ifndef SANDBOX_WORKSPACE_WALK_H
#define SANDBOX_WORKSPACE_WALK_H

#include "sandbox/workspace/content.h"
#include "sandbox/workspace/upper.h"

/* A directory that is to be looked at. @deep: all below it as well. */
struct item {
	struct ws_node *node;
	bool deep;
};

struct walk {
	struct upper *u;
	struct item *todo;
	size_t nr, cap;
	int upper_dir, lower_dir; /* of the directory under way; lower_dir -2: not opened yet */
	struct ws_node *dir;
	int64_t until_us; /* of clock_awake_us */
	struct buf path, bytes, base_bytes;
};

/* One record of getdents64(2). */
struct walk_dent {
	uint64_t ino;
	int64_t off;
	unsigned short len;
	unsigned char type;
	char name[];
};
typedef int walk_dent_fn(struct walk *w, int dir, const struct walk_dent *d, void *arg,
			 struct err *err);
/* Calls @fn for each entry but "." and "..". 0, what @fn returned when it was not 0, or 1 when the
 * list cannot be read.
 */
int walk_list(struct walk *w, int dir, walk_dent_fn *fn, void *arg, struct err *err);

extern const struct ws_state walk_nothing;

/* Asks a process that may open files that our uid may not; @which is "upper" or "lower". -1 and
 * errno unchanged. */
int walk_open(struct walk *w, const char *which, const struct ws_node *n);
/* for reading a file */
int walk_open_entry(struct walk *w, const char *which, int dir, const struct ws_node *n);
/* The lower's directory that belongs to the one under way; -1 if there is none. */
int walk_lower_dir(struct walk *w);
struct content_rule walk_rule(struct walk *w, struct ws_node *n);

struct ws_node *walk_new_node(struct walk *w, struct ws_node *up, const char *name, size_t len,
			      struct err *err);
/* All below @top, each once, parents first: made first because callers change states on the way.
 * Owned by the caller.
 */
struct ws_node **walk_all_below(struct ws_node *top, size_t *nr_out);

void walk_set_now(struct upper *u, struct ws_node *n, const struct ws_state *now);
void walk_keep(struct upper *u, const struct ws_state *s, const struct buf *bytes);
/* Asks the store whether a file just read is kept by hash only; then empties @bytes. */
void walk_hide(struct upper *u, struct ws_state *s, struct buf *bytes);
/* Learns what the base has at @n (the directory under way is its parent). */
void walk_learn_base(struct walk *w, struct ws_node *n);
/* In a copy nothing is known of the base of a file until it changes. */
void walk_learn_lazy(struct walk *w, struct ws_node *n);
/* Once a path differs from the base, what the base has is kept too: the session file explains
 * itself. @fresh: base_bytes holds it already. */
void walk_keep_base(struct walk *w, struct ws_node *n, bool fresh);
/* Nothing is left of @n's children: a whiteout, a file or an opaque directory stands there now.
 * @all: also of those in the upper (false for an opaque directory, whose upper part is walked
 * afterwards). */
int walk_hide_below(struct walk *w, struct ws_node *n, bool all, struct err *err);
/* An entry of the upper has gone: what lies below shows through again. */
int walk_vanish(struct walk *w, struct ws_node *n, struct err *err);

#endif
