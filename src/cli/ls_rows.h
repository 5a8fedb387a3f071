/* The rows of `ls`: collects the data of each session and prints the table. */
#ifndef CLI_LS_ROWS_H
#define CLI_LS_ROWS_H

#include "catalog/digest.h"
#include "catalog/verdicts.h"

struct ls_row {
	const struct session_file *file;
	struct digest d;
	/* d.state, or waiting (for you), stalled (it can't write its recording) */
	const char *state;
	const char *verdict; /* verdicts.h; NULL: not verified; borrowed */
	size_t held, asks;
	bool watch;  /* shared with us to watch only */
	bool silent; /* it runs, and its supervisor does not answer */
};

/* Newest start first; at most @max. */
struct ls_rows {
	struct ls_row *item;
	size_t nr, cap, max;
	const struct catalog *catalog;
	const struct verdicts *verdicts;
	bool live; /* only sessions that run */
};

/* Takes @f if it started later than one of the rows. It is opened only if it can have: no session
 * starts after its file was last written. */
void ls_rows_take(struct ls_rows *rows, const struct session_file *f);
/* Pending approvals, and your role there: only a supervisor knows. */
void ls_rows_ask(struct ls_rows *rows);
void ls_rows_print(struct cmd_ctx *ctx, const struct ls_rows *rows);
void ls_rows_release(struct ls_rows *rows);

#endif
