/* run --agent NAME, run -i: an agent inside is the program of the session. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/front/inner_sandbox.h"
#include "cli/front/run_priv.h"
#include "cli/lib/cmd.h"
#include "cli/lib/cmd_priv.h"
#include "cli/lib/config.h"
#include "cli/front/front.h"
#include "cli/front/front_terminal.h"
#include "inside/agent_inside.h"
#include "inside/agent_registry.h"
#include "login/login.h"
#include "luahost/library.h"
#include "sessions/sessions.h"
#include "cli/front/tool_roots.h"
#include "sessions/unmerged.h"

/* The program on the host, or in the sandbox's own files; the sandbox's options go into @args.
 * @listed: what the registry says, if one is given; may be NULL. */
static int front_find_inner(struct cmd_ctx *ctx, json_t *o, const struct inner_find *find,
			    struct inner_agent *a, struct registry_agent *listed, struct strv *args,
			    struct err *err)
{
	if (inner_sandbox_take(ctx, o, args, err) < 0)
		return -1;
	struct inner_find where = *find;
	const char *registry = listed ? cmd_opt(ctx, "registry") : NULL;
	where.inside = inner_sandbox_own(o);
	if (registry && agent_registry_find(listed, registry, find->name, where.inside, err) < 0)
		return -1;
	if (registry) {
		where.name = "custom";
		where.program = listed->program;
	}
	if (agent_inside_find(a, &where, err) == 0)
		return 0;
	agent_inside_release(a);
	return -1;
}

static void inner_put_option(struct strv *args, const char *name, const char *value)
{
	if (!value || !*value)
		return;
	strv_push(args, name);
	strv_push(args, value);
}

/* Options that both scripts take. */
static void inner_put_common(struct cmd_ctx *ctx, const struct inner_agent *a, const char *repo,
			     struct strv *args)
{
	CLEANUP(buf_release) struct buf hold = BUF_INIT;
	CLEANUP(json_release) json_t *patterns = opt_list(ctx, "hold-exec");
	size_t nr;
	json_t *pattern;
	json_array_foreach(patterns, nr, pattern)
		buf_printf(&hold, "%s\n", json_string_value(pattern));
	inner_put_option(args, "--agent", a->profile);
	inner_put_option(args, "--repo", repo);
	inner_put_option(args, "--program", a->program);
	inner_put_option(args, "--root", a->roots);
	inner_put_option(args, "--path", a->path);
	inner_put_option(args, "--beside", a->beside);
	inner_put_option(args, "--model", cmd_opt(ctx, "model"));
	inner_put_option(args, "--hold", buf_cstr(&hold));
}

/* The session's name, its script, and the script's arguments. @agent: a name, or a path. */
static void inner_put_script(struct cmd_ctx *ctx, json_t *o, const char *agent, const char *text,
			     size_t len, const struct strv *args)
{
	const char *name = cmd_opt(ctx, "name");
	json_put_str(o, "name", name ? name : strrchr(agent, '/') ? "agent" : agent);
	json_put_bytes(o, "script", text, len);
	json_put(o, "args", json_argv(args->item, args->nr));
}

/* --agent NAME -e TASK: a third-party agent does the task, in a sandbox. */
int inner_agent(struct cmd_ctx *ctx, const char *task, json_t *o, struct err *err)
{
	const char *name = cmd_opt(ctx, "agent"),
		   *repo = cmd_opt(ctx, "repo") ? cmd_opt(ctx, "repo") : ".";
	struct inner_agent a;
	size_t len;
	const char *text = library_file("agents/inside.lua", &len);
	char full[PATH_MAX];
	if (!realpath(repo, full))
		return err_sys(err, "can't use workspace '%s'", repo);
	if (!text)
		return err_set(err, ERR_NOENT, "agent script not found in this build");
	const struct strv *command = &ctx->line->rest;
	CLEANUP(strv_release) struct strv args = STRV_INIT;
	const struct inner_find find = { .name = name,
					 .control = cmd_opt(ctx, "control"),
					 .program = command->nr ? command->item[0] : NULL };
	CLEANUP(registry_agent_release) struct registry_agent listed = { 0 };
	if (front_find_inner(ctx, o, &find, &a, &listed, &args, err) < 0)
		return -1;
	const char *control = cmd_opt(ctx, "control");
	inner_put_common(ctx, &a, full, &args);
	inner_put_option(&args, "--control", !control && listed.program ? "acp" : control);
	inner_put_option(&args, "--linger", cmd_opt(ctx, "linger"));
	inner_put_option(&args, "--name", listed.program ? name : NULL);
	inner_put_option(&args, "--env", listed.env);
	strv_push(&args, "--");
	strv_push(&args, task);
	if (listed.program)
		strv_push(&args, a.program ? a.program : listed.program);
	for (size_t i = 0; i < listed.words.nr; i++)
		strv_push(&args, listed.words.item[i]);
	for (size_t i = 0; i < command->nr; i++)
		strv_push(&args, i || !a.program || listed.program ? command->item[i] : a.program);
	inner_put_script(ctx, o, name, text, len, &args);
	agent_inside_release(&a);
	return 0;
}

/* The vendor's login that was added for this agent, unless a key or a model was named. NULL: none.
 * Returns owned. */
static json_t *interactive_login(struct cmd_ctx *ctx, const char *name)
{
	const char *wish = cmd_opt(ctx, "login");
	if (!name || (wish && !strcmp(wish, "none")))
		return NULL;
	return login_added(wish ? wish : name);
}

/* Where requests of the login go instead of to its vendor's host: a gateway of the user's. NULL:
 * nowhere else. */
static const char *interactive_url(const json_t *login)
{
	const struct login_kind *k = login_kind_find(json_str(login, "name", ""));
	return k && k->url_variable ? getenv(k->url_variable) : NULL;
}

/* -i: a program or an agent in its own terminal interface. */
int front_run_interactive(struct cmd_ctx *ctx, json_t *o, struct err *err)
{
	const struct strv *words = &ctx->line->rest;
	const char *name = cmd_opt(ctx, "agent"),
		   *repo = cmd_opt(ctx, "repo") ? cmd_opt(ctx, "repo") : ".",
		   *program = name ? NULL : words->item[0];
	struct inner_agent a = { 0 };
	size_t len;
	const char *text = library_file("agents/interactive.lua", &len);
	char full[PATH_MAX];
	if (!realpath(repo, full))
		return err_sys(err, "can't use workspace '%s'", repo);
	if (!text)
		return err_set(err, ERR_NOENT, "agent script not found in this build");
	CLEANUP(strv_release) struct strv args = STRV_INIT;
	const struct inner_find find = { .name = name ? name : "custom",
					 .control = name ? INNER_TERMINAL : NULL,
					 .program = program };
	if (front_find_inner(ctx, o, &find, &a, NULL, &args, err) < 0)
		return -1;
	const char *shown = name		    ? name
			    : strrchr(program, '/') ? strrchr(program, '/') + 1
						    : program;
	CLEANUP(json_release) json_t *login = interactive_login(ctx, name);
	inner_put_common(ctx, &a, full, &args);
	inner_put_option(&args, "--name", shown);
	inner_put_option(&args, "--login", json_str(login, "name", NULL));
	inner_put_option(&args, "--plan", json_str(login, "plan", NULL));
	inner_put_option(&args, "--tier", json_str(login, "tier", NULL));
	inner_put_option(&args, "--account", json_str(login, "account", NULL));
	inner_put_option(&args, "--account_id", json_str(login, "account_id", NULL));
	inner_put_option(&args, "--login_url", interactive_url(login));
	inner_put_option(&args, "--record_input", cmd_opt(ctx, "record-input"));
	front_terminal_words(&args);
	strv_push(&args, "--");
	for (size_t i = 0; i < words->nr; i++)
		strv_push(&args, i || name || !a.program ? words->item[i] : a.program);
	inner_put_script(ctx, o, shown, text, len, &args);
	agent_inside_release(&a);
	return 0;
}
