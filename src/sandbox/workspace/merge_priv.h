/* Between the parts of a merge on our side of the child: processes, requests, results. */
#ifndef SANDBOX_WORKSPACE_MERGE_PRIV_H
#define SANDBOX_WORKSPACE_MERGE_PRIV_H

#include "sandbox/workspace/diff.h"
#include "sandbox/workspace/gitchild.h"
#include "sandbox/workspace/merge.h"

enum {
	MERGE_UNDO_MAX = 256 << 20,
	MERGE_PATHS_MAX = 500000,
	MERGE_DEPTH_MAX = 1000,
	MERGE_NAMED_MAX = 200,
	MERGE_PARTS_MAX = 1000
};

struct child {
	const struct merge_opts *o;
	const struct ws_store *store;
	int sock, pidfd;
	size_t k;	  /* its place among those that are carried out: names its record */
	json_t *prepared; /* what CHILD_PREPARE said */
	bool committed;
};

/* The request to one target. */
struct wish {
	struct ws_diff d;   /* after choices */
	struct strv left;   /* files that were left out by choice */
	struct strv partly; /* files of which something was */
	char *letters;	    /* enum plan_class of each of d; '-' at first */
	const char **why;   /* of conflicts and refusals; borrowed from the children's answers */
	json_t *flags;
};

/* A repository that takes part of a target's changes: the target itself, or one within it. */
struct part {
	struct child c;
	size_t target, up; /* up: the part around it; SIZE_MAX */
	char *prefix;	   /* within the target; "" = itself */
	char *dir;
	bool submodule, idle; /* idle: nothing is for it */
	size_t *nth, nr, cap; /* its changes in the wish, in the request's order */
	json_t *out;	      /* borrowed: in the targets of the result */
};

struct merge_work {
	const struct merge_opts *o;
	struct ws_store st; /* of memory, above o->store */
	struct wish *wish;
	struct part *part;
	size_t nr, cap;
	json_t *targets;
	bool clean, done;
};

/* merge_child.c */
int merge_child_start(struct child *c, const struct merge_opts *o, const struct ws_store *store,
		      size_t k, struct err *err);
void child_end(struct child *c);
/* The user part of every request: whose git configuration counts. */
json_t *merge_user(void);
/* Sends one request and serves the child until it has answered. */
int child_ask(struct child *c, unsigned type, const json_t *request, json_t **out, struct err *err);
char *merge_record_dir(const struct merge_opts *o, size_t k);

/* merge_request.c */
int wish_make(struct wish *w, const struct merge_opts *o, const struct merge_target *t,
	      const struct ws_store *st, struct err *err);
void wish_release(struct wish *w);
/* The request that prepares part @i. */
json_t *part_request(const struct merge_work *w, size_t i);
/* Hunks are chosen of the whole change. What an earlier merge brought stays: @b becomes that and
 * the chosen ones. @here: only a merge into the working files. */
void beside_earlier(const struct merge_target *t, const struct ws_change *c,
		    const struct ws_store *st, bool here, struct buf *b);
bool path_within(const char *path, size_t len, const char *prefix, size_t prefix_len);

/* merge_result.c */
/* Takes over what the child of @p said of its paths. */
void part_answer(struct merge_work *w, struct part *p, const json_t *answer);
/* Fills counts, paths, trees, and unmerged files into @body and the targets. */
int merge_results(struct merge_work *w, json_t *body, struct merge_result *r, struct err *err);

#endif
