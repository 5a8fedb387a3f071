/* hook: agents of others that run on the host, without a box, are judged and recorded by what
 * their hooks tell. */
#include <string.h>
#include <unistd.h>

#include "cli/lib/cmd_priv.h"
#include "cli/hook_dialect.h"
#include "cli/hook_session.h"
#include "cli/lib/config.h"
#include "cli/front/front.h"
#include "luahost/library.h"
#include "base/fd.h"
#include "base/mem.h"

enum {
	EVENT_MAX = 2 << 20,
	BLOCKS = 2 /* the status by which a hook keeps a call from being made */
};

/* Prints the hooks for the agent's own settings. */
static int print_settings(struct cmd_ctx *ctx, const char *agent)
{
	const struct hook_dialect *d = hook_dialect_find(agent);
	CLEANUP(free_ptr)
	char *command = mem_printf("sandglass hook --agent %s%s", agent,
				   cmd_has(ctx, "defer") ? " --defer" : "");
	if (!d)
		return cmd_usage(ctx, "settings: unknown agent '%s'; known: %s", agent,
				 hook_dialect_names());
	CLEANUP(free_ptr) char *text = hook_dialect_settings(d, command);
	fputs(text, ctx->out);
	fprintf(ctx->err, "Add this to %s\n", hook_dialect_place(d));
	if (cmd_has(ctx, "defer") && !hook_dialect_asks(d))
		fprintf(ctx->err,
			"With --defer, the agent's own settings decide calls that require approval; they may allow a call without a prompt.\n");
	return EXIT_DONE;
}

/* Options of the session that the first event starts. Returns owned, or NULL and @err. */
static json_t *cmd_hook_session_opts(struct cmd_ctx *ctx, const json_t *event, struct err *err)
{
	const char *agent = cmd_opt(ctx, "agent") ? cmd_opt(ctx, "agent") : "agent";
	json_t *o = json_object();
	size_t len;
	const char *text = library_file("agents/hook.lua", &len);
	if (!text)
		err_set(err, ERR_NOENT, "'agents/hook.lua' not found in this build");
	if (!text || run_common(ctx, o, err) < 0) {
		json_decref(o);
		return NULL;
	}
	json_put_str(o, "name", cmd_opt(ctx, "name") ? cmd_opt(ctx, "name") : agent);
	json_put_bytes(o, "script", text, len);
	json_put(o, "args",
		 json_pack("[s,s,s,s]", "--agent", agent, "--cwd", json_str(event, "cwd", "")));
	if (cmd_has(ctx, "defer"))
		json_put_flag(o, "no_input", true);
	return o;
}

/* "ask": nobody could be asked here, so the agent's own prompt asks. */
static void print_decision(struct cmd_ctx *ctx, const struct hook_dialect *d, const json_t *answer)
{
	const char *why = json_str(answer, "why", NULL);
	bool allowed = json_flag(answer, "allowed", false);
	bool nobody = !allowed && cmd_has(ctx, "defer") && why && strstr(why, "no user to ask");
	CLEANUP(free_ptr)
	char *text = hook_dialect_decision(d,
					   allowed  ? "allow"
					   : nobody ? "ask"
						    : "deny",
					   why && *why ? why
					   : allowed   ? "sandglass: allowed"
						       : "sandglass: denied",
					   json_object_get(answer, "input"));
	fprintf(ctx->out, "%s\n", text);
}

int cmd_hook(struct cmd_ctx *ctx)
{
	struct err err = ERR_INIT;
	CLEANUP(buf_release) struct buf in = BUF_INIT;
	const char *what = cmd_word(ctx, 0);
	const struct hook_dialect *d =
		hook_dialect_find(cmd_opt(ctx, "agent") ? cmd_opt(ctx, "agent") : "claude");
	if (what && !strcmp(what, "settings"))
		return print_settings(ctx, cmd_word(ctx, 1) ? cmd_word(ctx, 1) : "claude");
	if (what)
		return cmd_usage(
			ctx,
			"expected an event of an agent on standard input, got a terminal\n'sandglass hook settings claude' prints the settings that call this command.");
	CLEANUP(json_release)
	json_t *said = fd_read_all(STDIN_FILENO, &in, EVENT_MAX, &err) < 0
			       ? NULL
			       : json_parse(in.data, in.len, "event", &err),
	       *event = hook_dialect_event(d, said, cmd_opt(ctx, "event"));
	const char *name = json_str(event, "hook_event_name", NULL);
	if (!name || !json_str(event, "session_id", NULL)) {
		fprintf(ctx->err, "sandglass: hook: %s\n",
			said || !err.code
				? "expected hook_event_name and session_id in the event on standard input"
				: err.text);
		return BLOCKS;
	}
	config_user(ctx);
	bool ends = !strcmp(name, "SessionEnd"), asks = !strcmp(name, "PreToolUse");
	CLEANUP(json_release)
	json_t *opts = ends ? NULL : cmd_hook_session_opts(ctx, event, &err), *answer = NULL;
	if ((!opts && !ends) || hook_session_tell(event, opts, &answer, &err) < 0) {
		cmd_tell_error(ctx, NULL, &err);
		return asks ? BLOCKS : EXIT_UNSUCCESSFUL; /* what cannot be recorded is not done */
	}
	if (asks)
		print_decision(ctx, d, answer);
	return EXIT_DONE;
}
