#include "cli/attach_host.h"

#include <unistd.h>

#include "base/mem.h"
#include "sandbox/shell_protocol.h"

static void put_option(struct buf *out, const char *name, const char *value)
{
	buf_printf(out, " --%s", name);
	if (!value)
		return;
	buf_putc(out, ' ');
	shell_protocol_quote(out, value);
}

/* The command for the remote shell: "sandglass attach 's-7k2m9q' --filter 'kind:exec'". */
static void put_command(struct cmd_ctx *ctx, struct buf *out)
{
	static const char *const passed[] = { "filter", "sessions", "config", "profile", "color" };
	buf_printf(out, "sandglass %s", ctx->command->name);
	for (size_t i = 0; i < ARRAY_LEN(passed); i++)
		if (cmd_opt(ctx, passed[i]))
			put_option(out, passed[i], cmd_opt(ctx, passed[i]));
	if (cmd_has(ctx, "trust"))
		put_option(out, "trust", NULL);
	if (ctx->no_tui)
		put_option(out, "no-tui", NULL);
	if (ctx->quiet)
		put_option(out, "quiet", NULL);
	if (!cmd_word(ctx, 0))
		return;
	buf_putc(out, ' ');
	shell_protocol_quote(out, cmd_word(ctx, 0));
}

int attach_host(struct cmd_ctx *ctx, const char *host)
{
	CLEANUP(buf_release) struct buf command = BUF_INIT;
	CLEANUP(strv_release) struct strv argv = STRV_INIT;
	struct err err = ERR_INIT;
	if (!*host || *host == '-')
		return cmd_usage(ctx,
				 "--host: expected USER@HOST or a name of ~/.ssh/config, got '%s'",
				 host);
	put_command(ctx, &command);
	strv_push(&argv, "ssh");
	if (isatty(STDIN_FILENO) && isatty(fileno(ctx->out)))
		strv_push(&argv, "-t");
	strv_push(&argv, "--");
	strv_push(&argv, host);
	strv_push(&argv, buf_cstr(&command));
	fflush(ctx->out);
	execvp("ssh", argv.item);
	err_sys(&err, "can't start ssh");
	return cmd_fail(ctx, &err);
}
