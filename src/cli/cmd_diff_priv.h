/* Between cmd_diff.c (which snapshots are compared) and cmd_diff_print.c (their difference). */
#ifndef CLI_CMD_DIFF_PRIV_H
#define CLI_CMD_DIFF_PRIV_H

#include "cli/lib/cmd_priv.h"
#include "sandbox/workspace/diff.h"

struct layer { /* one repository of one box */
	/* first: whose place the box took when the session was resumed; itself if nobody's */
	uint64_t box, first;
	char *repo, *box_name;
	json_t *from, *to; /* bodies of the two snapshots; NULL = the base */
	uint64_t upto;	   /* the newest one of the box that counts for B */
};

struct side {
	struct session *s;
	uint64_t seq;	/* as the user gave it; 0 = the end (B) or the beginning (A) */
	uint64_t limit; /* A: snapshots up to this one count */
	uint64_t box;	/* of that event */
};

struct layers {
	struct layer *item;
	size_t nr, cap;
	uint64_t box, first; /* that was looked up last */
};

struct printer {
	struct cmd_ctx *ctx;
	FILE *to;
	bool eyes, color, titles;
};

/* --- cmd_diff.c --- */
void keep_wanted(const struct cmd_ctx *ctx, struct ws_diff *d);

/* --- cmd_diff_print.c --- */
FILE *open_pager(struct cmd_ctx *ctx);
bool git_colors(const struct cmd_ctx *ctx);
int print_layer(struct printer *p, const struct layer *l, const struct ws_store *st,
		struct err *err);

#endif
