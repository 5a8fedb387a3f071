/* hook: agents of others that run on the host, without a box, are judged and recorded by what
 * their hooks tell. */
#include <string.h>
#include <unistd.h>

#include "cli/lib/cmd_priv.h"
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

static const char *const cmd_hook_told[] = { "PreToolUse",   "PostToolUse", "UserPromptSubmit",
					     "SessionStart", "SessionEnd",  "Stop",
					     "Notification" };

/* Prints the hooks for the agent's own settings. */
static int print_settings(struct cmd_ctx *ctx, const char *agent)
{
	bool codex = !strcmp(agent, "codex");
	CLEANUP(json_release) json_t *all = json_object();
	json_t *hooks = json_object();
	CLEANUP(free_ptr)
	char *command = mem_printf("sandglass hook --agent %s%s", agent,
				   cmd_has(ctx, "defer") ? " --defer" : "");
	if (strcmp(agent, "claude") != 0 && !codex)
		return cmd_usage(ctx, "settings: expected claude or codex");
	for (size_t i = 0; i < ARRAY_LEN(cmd_hook_told); i++) {
		if (codex && !strcmp(cmd_hook_told[i], "Notification"))
			continue;
		json_t *one = json_object(), *row = json_object();
		json_put_str(one, "type", "command");
		/* Claude Code continues after every status but 2: a missing program must not let
		 * a tool run unchecked */
		CLEANUP(free_ptr)
		char *closed = mem_printf(
			"%s%s", command,
			!codex && !strcmp(cmd_hook_told[i], "PreToolUse") ? " || exit 2" : "");
		json_put_str(one, "command", closed);
		/* a reviewer may take long */
		json_put_int(one, "timeout", strcmp(cmd_hook_told[i], "SessionEnd") ? 86400 : 3);
		if (strstr(cmd_hook_told[i], "ToolUse"))
			json_put_str(row, "matcher", codex ? ".*" : "*");
		json_put(row, "hooks", json_pack("[o]", one));
		json_put(hooks, cmd_hook_told[i], json_pack("[o]", row));
	}
	json_put(all, "hooks", hooks);
	char *text = json_dumps(all, JSON_INDENT(2));
	fprintf(ctx->out, "%s\n", text);
	free(text);
	fprintf(ctx->err, "Add this to %s\n",
		codex ? "~/.codex/hooks.json; Codex asks once for permission to run it"
		      : "~/.claude/settings.json, or .claude/settings.json of a project");
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

/* In the form that Claude Code and Codex read. "ask": nobody could be asked here, so its own prompt
 * asks. */
static void print_decision(struct cmd_ctx *ctx, const json_t *answer)
{
	const char *why = json_str(answer, "why", NULL);
	bool allowed = json_flag(answer, "allowed", false);
	bool nobody = !allowed && cmd_has(ctx, "defer") && why && strstr(why, "no person to ask");
	json_t *out = json_object();
	CLEANUP(json_release) json_t *all = json_object();
	json_put_str(out, "hookEventName", "PreToolUse");
	json_put_str(out, "permissionDecision", allowed ? "allow" : nobody ? "ask" : "deny");
	json_put_str(out, "permissionDecisionReason",
		     why       ? why
		     : allowed ? "sandglass: allowed"
			       : "sandglass: denied");
	json_put(out, "updatedInput", json_incref(json_object_get(answer, "input")));
	json_put(all, "hookSpecificOutput", out);
	CLEANUP(free_ptr) char *text = json_dump_str(all);
	fprintf(ctx->out, "%s\n", text);
}

int cmd_hook(struct cmd_ctx *ctx)
{
	struct err err = ERR_INIT;
	CLEANUP(buf_release) struct buf in = BUF_INIT;
	const char *what = cmd_word(ctx, 0);
	if (what && !strcmp(what, "settings"))
		return print_settings(ctx, cmd_word(ctx, 1) ? cmd_word(ctx, 1) : "claude");
	if (what)
		return cmd_usage(
			ctx,
			"expected an event of an agent on standard input, got a terminal\n'sandglass hook settings claude' prints the settings that call this command.");
	CLEANUP(json_release)
	json_t *event = fd_read_all(STDIN_FILENO, &in, EVENT_MAX, &err) < 0
				? NULL
				: json_parse(in.data, in.len, "event", &err);
	const char *name = json_str(event, "hook_event_name", NULL);
	if (!name || !json_str(event, "session_id", NULL)) {
		fprintf(ctx->err, "sandglass: hook: %s\n",
			event || !err.code
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
		print_decision(ctx, answer);
	return EXIT_DONE;
}
