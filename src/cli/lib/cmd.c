#include "cli/lib/agent_words.h"
#include "cli/lib/cmd.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/lib/cmd_priv.h"
#include "cli/lib/config.h"
#include "base/mem.h"
#include "base/text/json_stream.h"
#include "base/text/sanitize.h"

typedef int cmd_fn(struct cmd_ctx *ctx);

static const struct {
	const char *name;
	cmd_fn *run;
} fn_table[] = {
#define CMD_FN_OFFLINE(name)	cmd_##name
#define CMD_FN_SUPERVISOR(name) cmd_send
#define CMD_FN_LOCAL(name)	NULL
#define COMMAND(token, name, where, flags, usage, options, summary, help)                          \
	{ name, CMD_FN_##where(token) },
#include "commands.inc"
#undef COMMAND
#undef CMD_FN_OFFLINE
#undef CMD_FN_SUPERVISOR
#undef CMD_FN_LOCAL
};

static cmd_fn *fn_of(const struct command *c)
{
	for (size_t i = 0; i < ARRAY_LEN(fn_table); i++)
		if (!strcmp(fn_table[i].name, c->name))
			return fn_table[i].run;
	return NULL;
}

/* --- what commands use ------------------------------------------------------------------------
 */

int exit_of(const struct err *err)
{
	switch (err->code) {
	case ERR_NONE:
		return EXIT_DONE;
	case ERR_USAGE:
	case ERR_NOENT:
	case ERR_EXISTS:
	case ERR_INVALID:
	case ERR_PARSE:
	case ERR_UNSUPPORTED:
		return EXIT_USAGE;
	case ERR_SCRIPT:
		return EXIT_SCRIPT;
	case ERR_DAMAGED:
		return EXIT_DAMAGED;
	case ERR_CANCELLED:
		return EXIT_INT;
	case ERR_IO:
	case ERR_DENIED:
	case ERR_BUSY:
	case ERR_FULL:
	case ERR_TIMEOUT:
	case ERR_CLOSED:
		return EXIT_UNSUCCESSFUL;
	}
	return EXIT_UNSUCCESSFUL;
}

/* Errors quote arguments and files, which may hold text that is unfit for a terminal. */
static void cmd_say_lines(FILE *to, const char *prefix, const char *text)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	sanitize_line(text, strlen(text), 0, &b);
	fprintf(to, "sandglass: %s%s%s\n", prefix, *prefix ? ": " : "", buf_cstr(&b));
}

static void say_json(struct cmd_ctx *ctx, int status, const char *code, const char *text,
		     const char *hint)
{
	json_t *o = json_object(), *e = json_object();
	json_put_str(e, "code", code);
	json_put_str(e, "text", text);
	if (*hint)
		json_put_str(e, "hint", hint);
	json_put(o, "error", e);
	json_put_int(o, "exit", status);
	cmd_json(ctx, o);
}

static void cmd_say_error(struct cmd_ctx *ctx, const char *text, const char *hint)
{
	const char *place = ctx->command ? ctx->command->name : "";
	size_t len = strlen(place);
	bool placed = !strncmp(text, place, len) && text[len] == ':';
	cmd_say_lines(ctx->err, placed ? "" : place, text);
	if (*hint) {
		cmd_print_safe(ctx->err, hint, strlen(hint), false);
		fputc('\n', ctx->err);
	}
}

static int cmd_fail_json(struct cmd_ctx *ctx, int status, const char *code, const char *text,
			 const char *hint)
{
	cmd_say_error(ctx, text, hint);
	if (ctx->json)
		say_json(ctx, status, code, text, hint);
	return status;
}

/* A wrong command line; without a hint of its own, the help is one. */
static int fail_usage(struct cmd_ctx *ctx, const char *text, const char *hint)
{
	char help[100] = "";
	if (!*hint && !strstr(text, "did you mean"))
		snprintf(help, sizeof(help), "Try 'sandglass help%s%s'.", ctx->command ? " " : "",
			 ctx->command ? ctx->command->name : "");
	return cmd_fail_json(ctx, EXIT_USAGE, "usage", text, *hint ? hint : help);
}

int cmd_fail(struct cmd_ctx *ctx, const struct err *err)
{
	if (err->code == ERR_USAGE)
		return fail_usage(ctx, err->text, err->hint);
	return cmd_fail_json(ctx, exit_of(err), err_code_name(err->code), err->text, err->hint);
}

/* The text goes to @text, of @size bytes; returns the hint in it, "" if @fmt has none. */
static PRINTF(3, 0) char *split_hint(char *text, size_t size, const char *fmt, va_list ap)
{
	vsnprintf(text, size, fmt, ap);
	char *end = strchr(fmt, '\n') ? strrchr(text, '\n') : NULL;
	if (!end)
		return text + strlen(text);
	*end = 0;
	return end + 1;
}

int cmd_fail_with(struct cmd_ctx *ctx, int status, const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	va_start(ap, fmt);
	char *hint = split_hint(text, sizeof(text), fmt, ap);
	va_end(ap);
	return cmd_fail_json(ctx, status, "failed", text, hint);
}

int cmd_fail_as(struct cmd_ctx *ctx, int status, const struct err *err)
{
	return cmd_fail_json(ctx, status, "failed", err->text, err->hint);
}

void cmd_tell_error(struct cmd_ctx *ctx, const char *what, const struct err *err)
{
	CLEANUP(free_ptr)
	char *text = mem_printf("%s%s%s", what ? what : "", what ? ": " : "", err->text);
	cmd_say_error(ctx, text, err->hint);
}

int cmd_usage(struct cmd_ctx *ctx, const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	va_start(ap, fmt);
	char *hint = split_hint(text, sizeof(text), fmt, ap);
	va_end(ap);
	return fail_usage(ctx, text, hint);
}

const char *cmd_word(const struct cmd_ctx *ctx, size_t i)
{
	return i < ctx->words->nr ? ctx->words->item[i] : NULL;
}

bool cmd_has(const struct cmd_ctx *ctx, const char *option)
{
	return command_has(ctx->line, option);
}

const char *cmd_opt(const struct cmd_ctx *ctx, const char *option)
{
	return command_opt(ctx->line, option);
}

void cmd_json(struct cmd_ctx *ctx, json_t *o)
{
	CLEANUP(json_release) json_t *line = json_object();
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	json_put_int(line, "schema", CMD_SCHEMA);
	json_object_update(line, o);
	json_decref(o);
	json_dump_buf(line, &b);
	buf_putc(&b, '\n');
	fwrite(b.data, 1, b.len, ctx->out);
}

void cmd_safe(struct buf *out, const char *bytes, size_t len, bool lines)
{
	if (lines)
		sanitize_text(bytes, len, 0, out);
	else
		sanitize_line(bytes, len, 0, out);
}

void cmd_print_safe(FILE *out, const char *bytes, size_t len, bool lines)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	cmd_safe(&b, bytes, len, lines);
	fwrite(buf_cstr(&b), 1, b.len, out);
}

/* --- main -------------------------------------------------------------------------------------
 */

static int set_color(struct cmd_ctx *ctx, struct err *err)
{
	const char *when = cmd_opt(ctx, "color"), *no = getenv("NO_COLOR"), *term = getenv("TERM");
	const char *force = getenv("CLICOLOR_FORCE");
	if (!when || !strcmp(when, "auto"))
		ctx->color = !(no && *no) &&
			     ((force && *force && strcmp(force, "0") != 0) ||
			      (isatty(fileno(ctx->out)) && term && strcmp(term, "dumb") != 0));
	else if (!strcmp(when, "always"))
		ctx->color = true;
	else if (!strcmp(when, "never"))
		ctx->color = false;
	else
		return err_set(err, ERR_USAGE, "--color: expected auto, always, or never, got '%s'",
			       when);
	return 0;
}

static void set_common(struct cmd_ctx *ctx)
{
	const struct command_line *l = ctx->line;
	ctx->words = &l->words;
	ctx->command = l->command;
	ctx->json = cmd_has(ctx, "json");
	ctx->quiet = cmd_has(ctx, "quiet");
	ctx->no_tui = cmd_has(ctx, "no-tui");
	for (size_t i = 0; i < l->nr_options; i++)
		ctx->verbose += !strcmp(l->option[i].name, "verbose");
	ctx->config = cmd_opt(ctx, "config");
	ctx->profile = cmd_opt(ctx, "profile");
}

static int print_help(struct cmd_ctx *ctx, bool all)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT;
	if (!ctx->command)
		command_help_list(&b);
	else if (all)
		command_help_long(ctx->command, &b);
	else
		command_help_short(ctx->command, &b);
	fputs(buf_cstr(&b), ctx->out);
	return EXIT_DONE;
}

/* Relative directories begin where -C leads. */
static int cmd_run_row(struct cmd_ctx *ctx)
{
	struct err err = ERR_INIT;
	if (cmd_has(ctx, "help") || cmd_has(ctx, "h"))
		return print_help(ctx, cmd_has(ctx, "help"));
	if (cmd_has(ctx, "version"))
		return cmd_version(ctx);
	const char *dir = cmd_opt(ctx, "C");
	if (dir && chdir(dir) < 0) {
		err_sys(&err, "-C: can't change to '%s'", dir);
		if (!strcmp(ctx->command->name, "search") &&
		    strspn(dir, "0123456789") == strlen(dir))
			snprintf(err.hint, sizeof(err.hint), "Lines around a hit: -U %s.", dir);
		return cmd_fail(ctx, &err);
	}
	if (ctx->config && access(ctx->config, R_OK) < 0) {
		err_sys(&err, "--config: can't read '%s'", ctx->config);
		return cmd_fail(ctx, &err);
	}
	if (set_color(ctx, &err) < 0)
		return cmd_fail(ctx, &err);
	CLEANUP(free_ptr) char *sessions = config_sessions(ctx);
	ctx->sessions = sessions;
	if (!ctx->command)
		return cmd_start(ctx);
	cmd_fn *fn = fn_of(ctx->command);
	if (!fn)
		return cmd_usage(ctx, "available only in the console");
	return fn(ctx);
}

/* errno may be of something since: the write that failed can be long ago. */
static bool reader_left(FILE *f)
{
	struct pollfd p = { .fd = fileno(f) };
	return poll(&p, 1, 0) == 1 && (p.revents & POLLERR);
}

/* A full disk or a closed pipe must not look like success. */
static int cmd_finish(struct cmd_ctx *ctx, int status)
{
	if (fflush(ctx->out) == 0 && !ferror(ctx->out))
		return status;
	if (errno != EPIPE && !reader_left(ctx->out))
		fprintf(ctx->err, "sandglass: can't write the output: %s\n", strerror(errno));
	return status == EXIT_DONE ? EXIT_UNSUCCESSFUL : status;
}

int cmd_main(int argc, char **argv, FILE *out, FILE *err_out)
{
	struct command_line line = COMMAND_LINE_INIT;
	struct err err = ERR_INIT;
	struct cmd_ctx ctx = { .line = &line, .out = out, .err = err_out, .argv = argv };
	signal(SIGPIPE, SIG_IGN);
	CLEANUP(strv_release) struct strv instead = STRV_INIT;
	size_t nr = argc > 0 ? (size_t)argc - 1 : 0;
	bool other = agent_words(argv + 1, nr, &instead);
	int rc = command_parse(&line, other ? instead.item : argv + 1, other ? instead.nr : nr,
			       &err);
	set_common(&ctx);
	FILE *json = ctx.json ? json_stream_new(out) : NULL;
	if (json)
		ctx.out = json;
	int status;
	if (rc < 0) {
		status = fail_usage(&ctx, err.text, err.hint);
	} else {
		status = cmd_run_row(&ctx);
	}
	command_line_release(&line);
	if (json && fclose(json) != 0) /* why shows at @out */
		status = status == EXIT_DONE ? EXIT_UNSUCCESSFUL : status;
	ctx.out = out;
	return cmd_finish(&ctx, status);
}
