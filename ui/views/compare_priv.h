/* Between view_compare.c (the view) and compare_read.c (the data of each session). */
#ifndef UI_VIEWS_COMPARE_PRIV_H
#define UI_VIEWS_COMPARE_PRIV_H

#include "ui/rows/draw.h"
#include "ui/term/text.h"
#include "ui/views/align.h"

enum { MOST = 12, HEAD_ROWS = 8 }; /* sessions compared; of them in the table */
enum { WHAT_MOST = 120, KEY_BYTES = 16 };
enum { READ_US = 1000000 }; /* the shortest time between two reads of a running session */

/* Long sessions have many: an action is kept as a hash, with as much of its text as a row shows. */
struct step {
	uint64_t id, ended, started;
	char key[2 * KEY_BYTES + 1]; /* hex; the same key, the same thing done */
	char *what, *outcome, *agent;
	enum role role;
	int64_t dur_us;
};

/* One session. */
struct side {
	struct step *step;
	size_t nr, cap;
	uint64_t head; /* read up to here */
	char letter_way, letter_files;
	char *files; /* trees of its boxes, as text; "" none; owned */
};

struct compare {
	struct side side[MOST];
	size_t nr, left, right;
	size_t at, top;
	bool on_right;
	struct arena kept; /* of rows */
	struct align_row *row;
	/* first: row from which on they differ; SIZE_MAX they do not */
	size_t nr_rows, same, first;
	uint64_t made_of; /* what rows were made from */
	int64_t read_us;  /* mono: when the sessions were read last; */
	bool read;	  /* they were */
	int page;
	bool several;	    /* agents */
	struct text detail; /* the chosen row, whole */
	int detail_rows;
	struct arena *arena;
};

/* --- compare_read.c --- */
void step_free(struct step *s);
void read_side(struct side *d, struct source *s);
char *files_of(struct source *s);
void view_compare_letters(struct compare *v);

#endif
