#include "cli/lib/agent_words.h"

#include <string.h>

#include "cli/lib/cmd.h"

static const char *const agent_words_agents[] = { "claude", "codex", "opencode",
						  "gemini", "pi",    "copilot" };
/* Before the name, and behind it; those with a value. */
static const char *const before_valued[] = { "-C", "--sessions", "--config", "--profile",
					     "--color" };
static const char *const own_plain[] = { "-d",	       "--detach", "--step",
					 "--no-input", "--json",   "--quiet" };
static const char *const own_valued[] = { "--repo",	    "--backend", "--image", "--build",
					  "--policy",	    "--budget",	 "--hold",  "--hold-exec",
					  "--name",	    "--root",	 "--share", "--accept",
					  "--record-input", "--login",	 "--notify" };

static bool agent_words_word_among(const char *word, const char *const *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		size_t n = strlen(list[i]);
		if (!strcmp(word, list[i]) ||
		    (!strncmp(word, "--", 2) && !strncmp(word, list[i], n) && word[n] == '='))
			return true;
	}
	return false;
}

bool agent_words(char *const *argv, size_t nr, struct strv *out)
{
	size_t at = 0;
	while (at < nr && argv[at][0] == '-') {
		bool valued =
			agent_words_word_among(argv[at], before_valued, ARRAY_LEN(before_valued)) &&
			!strchr(argv[at], '=');
		at += valued ? 2 : 1;
	}
	if (at >= nr ||
	    !agent_words_word_among(argv[at], agent_words_agents, ARRAY_LEN(agent_words_agents)))
		return false;
	if (at + 1 < nr && (!strcmp(argv[at + 1], "--help") || !strcmp(argv[at + 1], "-h")))
		return false;
	for (size_t i = 0; i < at; i++)
		strv_push(out, argv[i]);
	strv_push(out, "run");
	strv_push(out, "--agent");
	strv_push(out, argv[at++]);
	strv_push(out, "--interactive");
	while (at < nr) {
		bool valued = agent_words_word_among(argv[at], own_valued, ARRAY_LEN(own_valued));
		if (!valued && !agent_words_word_among(argv[at], own_plain, ARRAY_LEN(own_plain)))
			break;
		valued = valued && !strchr(argv[at], '=');
		strv_push(out, argv[at++]);
		if (valued && at < nr)
			strv_push(out, argv[at++]);
	}
	strv_push(out, "--");
	if (at < nr && !strcmp(argv[at], "--"))
		at++;
	while (at < nr)
		strv_push(out, argv[at++]);
	return true;
}

/* Only for their rows in the table of commands: an agent's name becomes `run` before parsing. */
static int agent_command(struct cmd_ctx *ctx)
{
	return cmd_usage(ctx, "expected %s before its arguments", ctx->command->name);
}

int cmd_claude(struct cmd_ctx *ctx)
{
	return agent_command(ctx);
}

int cmd_codex(struct cmd_ctx *ctx)
{
	return agent_command(ctx);
}

int cmd_opencode(struct cmd_ctx *ctx)
{
	return agent_command(ctx);
}

int cmd_gemini(struct cmd_ctx *ctx)
{
	return agent_command(ctx);
}

int cmd_pi(struct cmd_ctx *ctx)
{
	return agent_command(ctx);
}

int cmd_copilot(struct cmd_ctx *ctx)
{
	return agent_command(ctx);
}
