/* Between hosted_run.c (the life of a run) and hosted_input.c (its input). */
#ifndef SANDBOX_HOSTED_HOSTED_RUN_PRIV_H
#define SANDBOX_HOSTED_HOSTED_RUN_PRIV_H

#include "sandbox/hosted/hosted_priv.h"

struct run {
	struct run *next;
	struct remote *remote;
	const struct run_ops *ops;
	void *self;
	char id[16];
	struct strv argv, env;
	char *cwd;
	struct run_opts o;
	struct buf in;	/* input of which it is not known that it is there */
	size_t in_sent; /* so much of it is on its way, as piece in_nr */
	unsigned in_nr;
	/* all input is there; the box knows; it comes while the command runs */
	bool in_eof, eof_sent, streams;
	int64_t off[2];
	struct script *script, *input, *killer, *sizer;
	uint16_t cols, rows; /* its terminal is to be of that size; 0: it is */
	int signal, sent;    /* to be sent, 0 none; on its way */
	struct loop_timer *late;
	bool has_status, goes_on, held; /* ask again; not now */
	int code, by;			/* the status: code, or the signal it died by */
	/* asked for by our clock; the rest by the box's, 0 = not told */
	int64_t sent_us, box_begin_us, box_end_us;
	bool quiet; /* a tool of the mirror's */
	bool unfed; /* its input has not come to it */
	/* number of what our tool says after it (mirror_news), or after its turn; 0 nothing */
	unsigned news;
	struct strv news_words;
	/* in a terminal: what our tool is to be asked with the next input; with that on its way */
	struct buf ask, asked;
	struct loop_timer *deaf; /* what it says is waited for no longer */
	bool telling;		 /* it has ended, its text has not */
	bool slept;		 /* its box did, which ended it */
	bool rests;		 /* a shell in which no command runs: it keeps no box awake */
	/* it rested when its box was sent to sleep, whatever was typed since */
	bool parked;
	/* begin is called at the end of the turn; it was; on_exit was; nobody listens */
	bool pending, going, ended, freed;
};

/* --- hosted_run.c --- */
struct wrap_run wrap_of(const struct run *r);
void no_news(const struct run *r);
int stream_of(const struct run *r, bool err);
bool any_end(void *self, char kind, const char *text, size_t len);
void hosted_run_rest(struct run *r, bool rests);

/* --- hosted_input.c --- */
void send_input(struct run *r);

#endif
