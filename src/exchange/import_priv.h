/* Between import.c (the whole of it), import_events.c (what becomes an event) and import_read.c
 * (what the file says). */
#ifndef EXCHANGE_IMPORT_PRIV_H
#define EXCHANGE_IMPORT_PRIV_H

#include "exchange/import.h"
#include "wire/event.h"

enum { KEEP_MAX = 64 << 10, DRAIN_EVERY = 256 };

struct import {
	struct record *r; /* NULL: dry */
	struct loop *l;
	uint64_t agent;
	char *model;	/* of the agent */
	json_t *agents; /* name -> seq */
	json_t *said;	/* name -> what it said last: at the end it is what the agent claims */
	json_t *stop;	/* name -> how it was ended from outside */
	json_t *open;	/* id of a call -> seq of its action */
	bool failed;	/* an agent was ended from outside */
	/* agent -> names of the messages that no model.call of it has named yet */
	json_t *news;
	json_t *named; /* agent -> how many are */
	uint64_t dry_seq;
	size_t since_drain;
	struct import_sums *sums;
	const char *path;
	char *origin;
	struct strv also;
};

uint64_t import_put(struct import *im, enum event_kind kind, uint64_t cause, uint64_t action,
		    json_t *body);
void put_any(json_t *o, const char *key, const char *text);
void import_put_ended(struct import *im, uint64_t action, const char *end, const char *why,
		      int code);

#endif
