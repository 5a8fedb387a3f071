/* The console program: a terminal, sessions, a way to command them. A process of its own; quitting
 * it stops no agent.
 *
 * One poll() on the keyboard and on what the caller watches; one draw per turn, at most 20 a
 * second; nothing is drawn or woken when nothing changes. */
#ifndef UI_CONSOLE_H
#define UI_CONSOLE_H

#include <stdio.h>

#include "base/err.h"
#include "ui/frame/act.h"
#include "ui/frame/browse.h"
#include "ui/frame/claimed.h"

enum { CONSOLE_SOURCES = 64 }; /* sessions on one screen */

struct console_source {
	const char *path; /* the session file */
	struct act act;	  /* command NULL = read-only */
	/* What to watch for "there is more" (the control client's descriptor); -1: the file itself
	 * is watched. */
	int wake_fd;
	/* Called when wake_fd has something: reads what has come. False: the supervisor has gone;
	 * the session is shown on, read-only. NULL: a readable fd is drained as an eventfd. */
	bool (*pump)(void *self);
	/* Called at times while a process writes to the file of a lost session. True once the
	 * session has a supervisor again, with its act and the descriptor to watch. May be NULL:
	 * the session stays as it is. */
	bool (*again)(void *self, struct act *act_out, int *wake_fd_out);
	bool (*wants_write)(void *self); /* may be NULL */
	void *self;
};

struct console_opts {
	const struct console_source *source;
	size_t nr_sources;
	/* More sessions may come while the console is open (up to CONSOLE_SOURCES): more_fd is
	 * watched for them; -1 or 0: none come. more() empties it, fills @out with a new session
	 * and returns true; false if there is none. */
	int more_fd;
	bool (*more)(void *self, struct console_source *out);
	/* A pipe or socket: each line appears in the message line, and its end closes the
	 * console. 0 or -1 none. */
	int notes_fd;
	bool replay;	  /* a record: the cursor moves by keys */
	uint64_t at;	  /* replay: seq to begin at; 0 = the end */
	const char *view; /* NULL = fleet; "agent" shows the first one */
	/* NULL or "auto", "dark", "light", "dark-hc", "light-hc", "mono", or one of theme_load */
	const char *theme;
	const json_t *keys; /* the user's own (keymap.h); NULL */
	const char *pager;  /* NULL: $PAGER, "less -R" */
	bool quiet;	    /* no bell */
	bool no_next;	    /* approvals.next is off */
	int arm_ms;	    /* how long a question that opens takes no keys; 0: as built in */
	/* For who is new (coach.h): each hint once ever, in every run, none. */
	enum { CONSOLE_HINTS_NEW, CONSOLE_HINTS_ALL, CONSOLE_HINTS_NONE } hints;
	const char *greeting; /* first message line; NULL */
	/* A shell in a box of a running session, on this terminal, until it is left. Returns its
	 * exit status, -1 with @err. May be NULL. */
	int (*shell)(void *self, const char *session, const char *box, struct err *err);
	/* Shows an agent's own interface on this terminal until you leave it or the program
	 * ends. Returns its exit status, -1 with @err, CONSOLE_BACK: this console was opened
	 * from there, and ends. May be NULL. */
	int (*terminal)(void *self, const char *session, const char *agent, struct err *err);
	/* A command of the user's own on the host, on this terminal. As shell(). NULL: not
	 * from here. */
	int (*host)(void *self, const char *session, const char *cmd, struct err *err);
	/* The claims of a session's agents (ui/frame/claimed.h); NULL: not from here. */
	claimed_open_fn *claims;
	void *claims_self;
	/* The sessions of the directory (ui/frame/browse.h); NULL: not from here. Without sources
	 * they are the first screen. */
	const struct browse *browse;
	const char *filter; /* of the lists, to begin with; NULL */
	/* Optional, asked each turn: >= 0 ends the console with that value. */
	int (*ended)(void *self);
	/* A theme of the user's own as data (theme.h); returns owned, NULL with @err. May be
	 * NULL. */
	json_t *(*theme_load)(void *self, const char *name, struct err *err);
	void *self;
};

enum { CONSOLE_TAKEN = 1000, CONSOLE_STOPPED, CONSOLE_BACK = -2 };
/* Shows it until you leave. Returns 0 (left), CONSOLE_STOPPED (the sessions took a stop from here
 * and end), the value of ended(), CONSOLE_TAKEN (its notes ended), or -1 with @err. */
int console_main(const struct console_opts *o, struct err *err);

struct screen_opts {
	const char *path, *view;   /* view NULL = fleet */
	const char *const *beside; /* more sessions, as of the same time after their beginning */
	size_t nr_beside;
	uint64_t seq; /* 0 = the end */
	int rows, cols;
	bool ascii;
	uint64_t action; /* approval, agent: which; 0 = the first that fits */
};
/* Writes one screen as text (term.h, term_text), as replay --screen prints it. */
NODISCARD int console_screen(const struct screen_opts *o, FILE *to, struct err *err);

#endif
