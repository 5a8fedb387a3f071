/* The view of a session: the console on a terminal, else line mode. Ends when the session does. */
#ifndef CLI_FRONT_FRONT_H
#define CLI_FRONT_FRONT_H

#include "cli/lib/cmd.h"
#include "record/read/session.h"

struct front_opts {
	bool watch; /* look only */
	/* the session ran before and continues after: an interrupt leaves it and stops nothing */
	bool visit;
	bool coach;    /* the demo's hints */
	bool recorded; /* the end prints how to view it again */
	bool detach;   /* nothing is shown but its id */
	bool follows;  /* line mode says first what it follows, and how not to */
	bool raw;      /* only the output of commands, to our own streams */
	/* raw: our standard input is that of its first action, which waits for it */
	bool input;
	/* run --watch: a socket with lines for the console, which closes when the socket ends
	 * (ui/console.h); 0: none */
	int notes;
	const char *greeting; /* first message line of the console; NULL */
	const char *filter;   /* what is listed; checked; NULL everything */
	bool trust;	      /* the user may run commands on the host from here */
	bool terminal;	      /* the terminal of its program, not the console */
	/* no user is there: pending actions are denied with a message, questions get their first
	 * choice */
	bool automatic;
};

/* Shows the session at @path, commanding through @socket (NULL: nobody is there to command).
 * Returns the session's own exit status when it ends while shown, EXIT_DONE when the user leaves
 * before. */
int front_show(struct cmd_ctx *ctx, const char *path, const char *socket,
	       const struct front_opts *fo);

/* Prints that session @s continues, and the command that comes back to it. @role: of a user of a
 * shared session, else "". */
void front_goes_on(struct cmd_ctx *ctx, struct session *s, const char *role);

/* Whether that is the console. */
bool front_is_console(const struct cmd_ctx *ctx, const struct front_opts *fo);

/* Shows the session browser. Only where front_is_console(). */
int front_sessions(struct cmd_ctx *ctx);

/* Shows all running sessions in one console. Without a console it fails and requires a session. */
int front_show_all(struct cmd_ctx *ctx, const struct front_opts *fo);

/* run.c: starts what @o says (sessions/spawn.h) and shows it. */
int run_session(struct cmd_ctx *ctx, json_t *o, const struct front_opts *fo);
/* run_watch.c: the same, and again whenever @file is saved. */
int run_watch(struct cmd_ctx *ctx, json_t *opts, const char *file);
/* --budget into @o. */
NODISCARD int run_budget(struct cmd_ctx *ctx, json_t *o, struct err *err);
/* Puts the options that the session at @path was started with into @o, without any that names a
 * command. */
NODISCARD int run_options_of(json_t *o, const char *path, struct err *err);
/* Settings that are never recorded, from the present configuration: secrets, model providers,
 * and prices. */
NODISCARD int run_unrecorded(struct cmd_ctx *ctx, json_t *o, struct err *err);
/* For a session that is continued: run_unrecorded, and --notify or the configuration's. */
NODISCARD int run_continued(struct cmd_ctx *ctx, json_t *o, struct err *err);
/* Puts options (those that the command has) and configuration for any session into the
 * supervisor's options. */
NODISCARD int run_common(struct cmd_ctx *ctx, json_t *o, struct err *err);
/* Checks that a backend exists before anything starts: ERR_USAGE with the available ones. @name
 * NULL: the default. */
NODISCARD int run_backend_known(const char *name, struct err *err);

#endif
