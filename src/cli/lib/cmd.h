/* One command of the command line, ready to run. main() takes the line apart with
 * control/registry.h, fills this and calls cmd_NAME(ctx), which returns an exit status
 * (base/exit.h). SUPERVISOR rows have no function of their own: they are all sent by cmd_send.
 *
 * Rules for what a command prints: results to ctx->out, one line for users or with --json one
 * object a line that begins with {"schema":1,...}; everything else to ctx->err as "sandglass:
 * text". Times are local with zone for users, RFC 3339 UTC in JSON. Nothing depends on the locale.
 * A command checks all it was given before it changes anything. */
#ifndef CLI_LIB_CMD_H
#define CLI_LIB_CMD_H

#include <stdio.h>

#include "base/exit.h"
#include "control/registry.h"

enum cmd_color { CMD_COLOR_AUTO, CMD_COLOR_ALWAYS, CMD_COLOR_NEVER };

struct cmd_ctx {
	const struct command *command;
	const struct command_line *line; /* for command_opt and friends */
	const struct strv *words;	 /* operands; borrows line->words */
	bool json, quiet, no_tui;
	int verbose;
	bool color;	      /* may color ctx->out */
	const char *sessions; /* the directory of session files; borrows */
	const char *config;   /* --config FILE or NULL */
	const char *profile;  /* --profile NAME or NULL */
	FILE *out, *err;
	char *const *argv; /* as the program got it, for exec of ourselves */
};

enum { CMD_SCHEMA = 1 };

/* The whole of main: parses, runs, returns the exit status. @out and @err are borrowed. */
int cmd_main(int argc, char **argv, FILE *out, FILE *err);

/* Prints "sandglass: COMMAND: text", then the hint on its own line. Returns the exit status. If
 * @fmt has several lines, the last one is the hint. */
int cmd_fail(struct cmd_ctx *ctx, const struct err *err);
int cmd_fail_with(struct cmd_ctx *ctx, int status, const char *fmt, ...) PRINTF(3, 4);
int cmd_fail_as(struct cmd_ctx *ctx, int status, const struct err *err); /* with this status */
/* The same lines for an error that doesn't end the command; @what (NULL: none) stands before it. */
void cmd_tell_error(struct cmd_ctx *ctx, const char *what, const struct err *err);
/* The same for a wrong command line; the hint is the help if @fmt has none. EXIT_USAGE. */
int cmd_usage(struct cmd_ctx *ctx, const char *fmt, ...) PRINTF(2, 3);

const char *cmd_word(const struct cmd_ctx *ctx, size_t i); /* NULL past the end */
bool cmd_has(const struct cmd_ctx *ctx, const char *option);
const char *cmd_opt(const struct cmd_ctx *ctx, const char *option);

/* Prints @o as one line, "schema" first. Takes @o. */
void cmd_json(struct cmd_ctx *ctx, json_t *o);

/* Prints bytes that came from outside (agents, file names): controls and escapes as \xNN, so that
 * nothing reaches the terminal but text. Line breaks become "\n" unless @lines. */
void cmd_print_safe(FILE *out, const char *bytes, size_t len, bool lines);
void cmd_safe(struct buf *out, const char *bytes, size_t len, bool lines);

/* SUPERVISOR rows: finds the live session (--session ID, or the part before # of an operand, or the
 * only one), sends, prints the result. */
int cmd_send(struct cmd_ctx *ctx);
/* The output of cmd_send for a supervisor's answer to @ctx's command. */
void cmd_print_answer(struct cmd_ctx *ctx, const char *session, const json_t *result);

#define CMD_FN_OFFLINE(name) int cmd_##name(struct cmd_ctx *ctx);
#define CMD_FN_SUPERVISOR(name)
#define CMD_FN_LOCAL(name)
#define COMMAND(token, name, where, flags, usage, options, summary, help) CMD_FN_##where(token)
#include "commands.inc"
#undef COMMAND
#undef CMD_FN_OFFLINE
#undef CMD_FN_SUPERVISOR
#undef CMD_FN_LOCAL

#endif
