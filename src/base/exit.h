/* The program's exit statuses. Each number keeps its meaning permanently; scripts depend on it. */
#ifndef BASE_EXIT_H
#define BASE_EXIT_H

#include "base/err.h"

enum exit_status {
	EXIT_DONE = 0, /* done; an agent reported success */
	/* ended, but not successful: task, check, verify, compare; or an I/O failure */
	EXIT_UNSUCCESSFUL = 1,
	EXIT_USAGE = 2,	    /* the command line, or what it names, does not make sense */
	EXIT_SCRIPT = 3,    /* script or configuration error (file:line printed) */
	EXIT_DENIED = 4,    /* denied by rule or user, and the script gave up */
	EXIT_BUDGET = 5,    /* budget or time used up */
	EXIT_SANDBOX = 6,   /* sandbox backend failed or is missing (doctor says which) */
	EXIT_MODEL = 7,	    /* model provider failed after retries */
	EXIT_PERSON = 8,    /* a user was needed and --no-input was given */
	EXIT_DAMAGED = 9,   /* the record is damaged: chain, object, database */
	EXIT_DIVERGED = 10, /* simulation diverged */
	EXIT_INT = 130,	    /* interrupted, agents stopped cleanly */
	EXIT_TERM = 143,    /* terminated, agents stopped cleanly */
};

/* The status that a failure ends with when the command knows nothing better. */
int exit_of(const struct err *err);

#endif
