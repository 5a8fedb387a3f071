/* Permanent removal of recorded data: the one place that turns a user's request into calls of
 * record_redact, for a running session and for an ended one. Loop thread only. */
#ifndef SESSIONS_REDACT_REQUEST_H
#define SESSIONS_REDACT_REQUEST_H

#include "record/record.h"

struct removal_wish {
	uint64_t seq;	    /* the event; with @output the action whose output it is */
	bool output;	    /* all recorded output of the action instead of the event's own body */
	const char *object; /* hexadecimal name of a git object instead, or NULL */
	const char *messages; /* every message to and from models that says this instead, or NULL */
	const char *why;      /* required */
	json_t *who;	      /* {"uid","name",..}; borrowed */
};

/* @done runs when nothing of it is left in the file, its index and its log; @removed: how many
 * bodies. Never from inside the call. -1: nothing is removed (ERR_NOENT: the session has no such
 * thing; ERR_USAGE). */
typedef void removal_done_fn(void *self, size_t removed);
NODISCARD int redact_request_begin(struct record *r, const struct removal_wish *w,
				   removal_done_fn *done, void *self, struct err *err);
/* The request's result for the user: 0 if @left (record_catalog_left) is NULL, else ERR_IO, which
 * names it. */
NODISCARD int redact_request_result(const char *left, struct err *err);

#endif
