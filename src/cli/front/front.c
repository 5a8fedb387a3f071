#include "cli/front/front.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/lib/config.h"
#include "cli/front/front_console.h"
#include "cli/front/front_line.h"
#include "cli/front/front_terminal.h"
#include "base/mem.h"

bool front_is_console(const struct cmd_ctx *ctx, const struct front_opts *fo)
{
	const char *term = getenv("TERM"), *a11y = getenv("SANDGLASS_A11Y");
	if (fo->automatic || ctx->no_tui || ctx->json || (a11y && *a11y && strcmp(a11y, "0") != 0))
		return false;
	return isatty(0) && isatty(1) && term && strcmp(term, "dumb") != 0;
}

/* A user of a screen reader configures this once. */
static void front_choose(struct cmd_ctx *ctx)
{
	struct config *c;
	struct err ignored = ERR_INIT; /* commands that need the file report its errors */
	if (config_open(&c, ctx, &ignored) < 0)
		return;
	config_to_env(c, "a11y", "SANDGLASS_A11Y");
	config_close(&c);
}

void front_goes_on(struct cmd_ctx *ctx, struct session *s, const char *role)
{
	fprintf(ctx->err, "sandglass: the agents continue; 'sandglass attach %s' returns%s\n",
		session_id(s), *role ? "" : ", 'sandglass stop' ends them");
}

int front_sessions(struct cmd_ctx *ctx)
{
	front_choose(ctx);
	return front_console_sessions(ctx);
}

int front_show_all(struct cmd_ctx *ctx, const struct front_opts *fo)
{
	front_choose(ctx);
	if (front_is_console(ctx, fo))
		return front_console_all(ctx, fo);
	return cmd_usage(
		ctx, "several sessions are running\nName one; 'sandglass ls --live' lists them.");
}

int front_show(struct cmd_ctx *ctx, const char *path, const char *socket,
	       const struct front_opts *fo)
{
	struct session *s;
	struct err err = ERR_INIT;
	front_choose(ctx);
	if (session_open(&s, path, &err) < 0)
		return cmd_fail(ctx, &err);
	if (fo->raw) {
		int status = front_raw(ctx, s, socket, fo->input);
		session_close(&s);
		return status;
	}
	if (fo->terminal) {
		const struct front_terminal_opts to = { .wait = true, .own = true };
		session_close(&s);
		return front_terminal(ctx, path, socket, &to);
	}
	if (front_is_console(ctx, fo)) {
		session_close(&s);
		return front_console(ctx, path, socket, fo);
	}
	int status = front_line(ctx, s, socket, fo);
	session_close(&s);
	return status;
}
