/* Between shell.c (life and output of a lasting shell), shell_type.c (commands on their way into
 * the terminal), and shell_stop.c (stopping a command). */
#ifndef SANDBOX_SHELL_PRIV_H
#define SANDBOX_SHELL_PRIV_H

#include "sandbox/shell.h"

enum {
	ECHO_WITHIN = 16 << 10,
	PIECE_MAX = 1000, /* a terminal takes lines of 4095 bytes */
	MARK_LEN = 3 + 32,
	/* after a ^C: a prompt of ours is asked for, for the command may have changed it; */
	ASK_AFTER_MS = 300,
	AGAIN_AFTER_MS = 700, /* ^C is typed a second time; */
	KILL_AFTER_MS = 1000, /* the program in the foreground is killed; */
	/* and then the shell: a rented box that is slow to answer has had its time */
	END_AFTER_MS = 3000,
	TURN_MAX = 1000000,
	QUOTE_NEXT = 0x16, /* ^V */
	INTERRUPTED = 130, /* what a shell says of a command that ^C has ended */
};

struct box_shell {
	struct loop *loop;
	const struct driver *driver;
	struct run *run;
	const struct box_shell_ops *ops;
	void *self;
	char mark[MARK_LEN + 1]; /* before ":STATUS:TURN\036" */
	struct buf held;	 /* bytes that may start a marker */
	struct buf waiting;	 /* typed when the first prompt has come */
	bool python;		 /* without sh: commands are code for a lasting interpreter */
	bool ready, running, timed_out, stopping, renewing, killed, ended, freed;
	bool lost;     /* as of on_end */
	bool guessed;  /* the status while renewing, for no prompt has come */
	bool echo;     /* the terminal shows what is typed, or may: a command has turned that on */
	size_t looked; /* so much of the command's output has been looked through for that */
	/* what the timer does, while stopping */
	enum { STOP_ASK, STOP_AGAIN, STOP_KILL, STOP_END } next;
	unsigned pid;	  /* of the shell in its box, by its prompt; 0 not known */
	int code, signal; /* of the shell's end */
	struct box *box;
	struct run *killer; /* ends the program in the foreground; NULL */
	bool forged;	    /* the mark has come out while the command ran and was no marker */
	/* of the prompt that is waited for; of the stopped command's, while renewing */
	unsigned turn, old_turn;
	int status; /* of the stopped command, while renewing */
	unsigned busy;
	struct loop_timer *timer;
};

/* --- shell_type.c --- */
void type_mark(const struct box_shell *s, struct buf *out);
void type_code(const struct box_shell *s, const char *code, struct buf *out);
void sandbox_shell_type(struct box_shell *s, const void *bytes, size_t len);
void sandbox_shell_turn(struct box_shell *s, enum run_turn what);
void sandbox_shell_begun(struct box_shell *s);
void type_command(struct box_shell *s, const struct buf *b);

/* --- shell.c --- */
void sandbox_shell_renew(struct box_shell *s);
void begin_renewing(struct box_shell *s);

/* --- shell_stop.c --- */
void killer_over(struct box_shell *s);
void sandbox_shell_on_timeout(void *self);

#endif
