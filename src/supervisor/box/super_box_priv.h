/* Between super_box.c (a sandbox from open to gone) and super_box_open.c (requests that open
 * one). */
#ifndef SUPERVISOR_BOX_SUPER_BOX_PRIV_H
#define SUPERVISOR_BOX_SUPER_BOX_PRIV_H

#include "supervisor/box/super_box.h"

/* One box of the session. */
struct super_box {
	struct super_box *next;
	uint64_t id;
	char *name;
	char *dir;		 /* its state; NULL: it stays where it is */
	json_t *notices;	 /* what of it is left out, as told so far */
	uint64_t owner;		 /* of the state */
	bool stays;		 /* the state waits for a later box */
	bool keep;		 /* the state outlives the session */
	struct call *opener;	 /* box.open that waits for it */
	struct call *closer;	 /* box.close that waits until it has gone */
	struct trees *trees;	 /* its files; NULL when the driver shows none */
	struct net *net;	 /* its way out; NULL = none */
	struct proxies *proxies; /* what it reaches with credentials of ours; NULL = nothing */
	struct disk_watch *disk; /* holds it to its limit; NULL = it has none */
	/* its files are to become those of these; borrowed from the resume */
	const struct old_snap *adopt;
	size_t nr_adopt;
	bool reopened, restore;
	bool closing;		   /* it is closed as soon as its files are recorded */
	super_box_ready_fn *ready; /* super_box_open_as; NULL once called */
	void *ready_self;
	struct honey *honey;	    /* what is to be planted in it; NULL = nothing, or done */
	uint64_t fork_from, fork_n; /* its files are to become those of another box */
};

struct super_boxes {
	struct super_box *first;
};

/* --- super_box.c --- */
struct super_boxes *super_boxes_of(const struct super *s);

#endif
