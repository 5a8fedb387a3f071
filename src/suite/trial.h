/* One run of one scenario of a suite (lua/sandglass/suite.lua): in a directory of its own,
 * detached, with a user who answers from a list, until it ends or its time is up; then its
 * expectations over what it recorded. Driven by trial_tick; nothing blocks but preparing and
 * judging. */
#ifndef SUITE_TRIAL_H
#define SUITE_TRIAL_H

#include "cli/lib/cmd.h"

enum trial_state { TRIAL_WAITS, TRIAL_STARTS, TRIAL_RUNS, TRIAL_OVER };
enum trial_verdict { TRIAL_PASS, TRIAL_FAILED, TRIAL_WRONG_WAY, TRIAL_ERROR };

struct trial_run {
	struct cmd_ctx *ctx;
	const char *suite;	/* path of the suite file; borrowed */
	const json_t *scenario; /* borrowed */
	size_t nr;		/* 1, 2, ... of its scenario */
	enum trial_state state;
	enum trial_verdict verdict; /* when over */
	char *dir, *session;	    /* directory; path of its file, NULL before there is one */
	char *id;
	json_t *results; /* of the expectations; NULL before */
	/* TRIAL_ERROR: the cause; NULL if the results have it */
	char *why;
	int pid, pidfd;
	int64_t began_us, end_us, took_us, cost_uusd;
	bool cost_unknown; /* cost_uusd is the least */
	uint64_t answered; /* newest action that the listed user has answered */
};

/* Makes the directory and starts it. What cannot be started is over at once, with a reason. */
void trial_start(struct trial_run *t);
/* Looks at it: answers what waits, ends it when it is late, judges it when it has ended. */
void trial_tick(struct trial_run *t);
/* @keep: its directory stays; else only the file of a run that did not pass, among the user's
 * sessions. */
void trial_end(struct trial_run *t, bool keep);

#endif
