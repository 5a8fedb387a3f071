/* run, demo: start a session and show it. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/front/run_priv.h"
#include "cli/lib/cmd.h"
#include "cli/lib/cmd_priv.h"
#include "cli/lib/config.h"
#include "cli/front/front.h"
#include "inside/agent_inside.h"
#include "luahost/library.h"
#include "sessions/spawn.h"
#include "sessions/unmerged.h"
#include "base/fd.h"
#include "base/mem.h"
#include "sandbox/driver.h"
#include "control/share.h"

enum { SCRIPT_MAX = 4 << 20 };

static int load_script(struct cmd_ctx *ctx, json_t *o, struct err *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	const char *file = cmd_word(ctx, 0);
	char full[PATH_MAX];
	struct stat st;
	if (!realpath(file, full))
		return err_sys(err, "can't open script '%s'", file);
	if (stat(full, &st) == 0 && S_ISDIR(st.st_mode))
		return err_set(err, ERR_INVALID, "script '%s' is a directory\nName a Lua file.",
			       file);
	if (file_read(full, &text, SCRIPT_MAX, err) < 0)
		return -1;
	CLEANUP(free_ptr) char *name = name_of_script(full);
	json_put_str(o, "name", cmd_opt(ctx, "name") ? cmd_opt(ctx, "name") : name);
	json_put_str(o, "script_path", full);
	json_put_bytes(o, "script", text.data ? text.data : "", text.len);
	json_put(o, "args", json_argv(ctx->line->rest.item, ctx->line->rest.nr));
	return 0;
}

/* -e TASK: the built-in agent gets its wishes as script arguments. */
static int front_run_built_in(struct cmd_ctx *ctx, const char *task, json_t *o, struct err *err)
{
	size_t len;
	const char *text = library_file("agents/coding.lua", &len);
	const char *repo = cmd_opt(ctx, "repo") ? cmd_opt(ctx, "repo") : ".",
		   *test = cmd_opt(ctx, "test");
	struct stat st;
	if (!text)
		return err_set(err, ERR_NOENT, "built-in agent not found in this build");
	if (stat(repo, &st) < 0)
		return err_sys(err, "can't use workspace '%s'", repo);
	if (!S_ISDIR(st.st_mode))
		return err_set(err, ERR_INVALID, "workspace '%s' is not a directory", repo);
	struct strv args = STRV_INIT;
	strv_push(&args, "--repo");
	strv_push(&args, repo);
	if (test) {
		strv_push(&args, "--test");
		strv_push(&args, test);
	}
	strv_push(&args, task);
	json_put_str(o, "name", cmd_opt(ctx, "name") ? cmd_opt(ctx, "name") : "coding");
	json_put_bytes(o, "script", text, len);
	json_put(o, "args", json_argv(args.item, args.nr));
	strv_release(&args);
	return 0;
}

static int interactive_usage(struct cmd_ctx *ctx, const char *task)
{
	const char *input = cmd_opt(ctx, "record-input");
	if (task || cmd_word(ctx, 0))
		return cmd_usage(
			ctx,
			"-i can't be combined with a task or a script\nRun 'sandglass run -i -- PROGRAM' or 'sandglass run --agent NAME -i'.");
	if (!cmd_has(ctx, "agent") && !ctx->line->rest.nr)
		return cmd_usage(ctx,
				 "missing argument: PROGRAM\nRun 'sandglass run -i -- PROGRAM'.");
	if (input && strcmp(input, "off") != 0 && strcmp(input, "counts") != 0 &&
	    strcmp(input, "full") != 0)
		return cmd_usage(ctx, "--record-input: expected off, counts, or full, got '%s'",
				 input);
	if (!cmd_has(ctx, "detach") && !cmd_has(ctx, "dry-run") && (!isatty(0) || !isatty(1)))
		return cmd_usage(ctx,
				 "-i requires a terminal\nStart it in the background with -d.");
	return 0;
}

/* For an ended session: its launcher has printed how to come back to it. */
static void tell_recorded(struct cmd_ctx *ctx, const struct spawned *sp)
{
	struct session *s = NULL;
	struct arena arena = ARENA_INIT;
	struct err none = ERR_INIT;
	struct event last;
	if (!ctx->quiet && session_open(&s, sp->path, &none) == 0 &&
	    session_event(s, session_head(s), &last, &arena, &none) == 0 &&
	    last.kind == EV_SESSION_END)
		fprintf(ctx->err,
			"Recorded as %s. Replay it with 'sandglass replay', check it with 'sandglass verify %s'.\nWrite your own agent with 'sandglass new my'.\n",
			sp->id, sp->id);
	arena_release(&arena);
	session_close(&s);
}

static int print_plan(struct cmd_ctx *ctx, json_t *o)
{
	json_object_del(o, "script");
	json_object_del(json_object_get(o, "otlp"), "headers"); /* a key may stand there by value */
	if (ctx->json) {
		cmd_json(ctx, json_incref(o));
		return EXIT_DONE;
	}
	const char *key;
	json_t *v;
	fprintf(ctx->out, "would run (nothing started):\n");
	json_object_foreach(o, key, v)
	{
		if (json_is_false(v) || (json_is_array(v) && !json_array_size(v)))
			continue;
		CLEANUP(free_ptr)
		char *text =
			json_is_string(v) ? mem_strdup(json_string_value(v)) : json_dump_str(v);
		fprintf(ctx->out, "  %-14s ", key);
		cmd_print_safe(ctx->out, text, strlen(text), false);
		fputc('\n', ctx->out);
	}
	return EXIT_DONE;
}

/* The one line that those need who are to look at it. */
static void tell_share(struct cmd_ctx *ctx, const json_t *o, const char *path)
{
	const char *share = json_str(o, "share", NULL);
	if (!share || ctx->quiet || ctx->json)
		return;
	int n = (int)strcspn(share, ":");
	fprintf(ctx->err, "sandglass: group %.*s %s this session with 'sandglass attach %s'\n", n,
		share, !strcmp(share + n, ":decide") ? "watches and decides in" : "watches", path);
}

/* Starts what @o says and stays with it. */
int run_session(struct cmd_ctx *ctx, json_t *o, const struct front_opts *fo)
{
	struct spawned sp = { 0 };
	struct err err = ERR_INIT;
	bool detach = fo->detach || cmd_has(ctx, "detach");
	config_user(ctx);
	prune_warn(ctx);
	json_put_flag(o, "stand", detach);
	int status = spawn_supervisor(o, &sp, &err);
	if (status)
		return cmd_fail_as(ctx, status, &err);
	tell_share(ctx, o, sp.path);
	if (detach) {
		if (ctx->json) {
			json_t *j = json_object();
			json_put_str(j, "event", "launch");
			json_put_str(j, "session", sp.id);
			json_put_str(j, "path", sp.path);
			json_put_str(j, "socket", sp.socket);
			json_put_int(j, "pid", sp.pid);
			cmd_json(ctx, j);
		} else {
			fprintf(ctx->out, "%s\n", sp.id);
		}
		status = EXIT_DONE;
	} else {
		if (fo->follows && !ctx->quiet && !ctx->json && !front_is_console(ctx, fo))
			fprintf(ctx->err,
				"sandglass: %s runs; its events follow until it ends (-d: in the background)\n",
				sp.id);
		status = front_show(ctx, sp.path, sp.socket, fo);
		if (!fo->coach && !fo->automatic)
			unmerged_tell(ctx, sp.path);
		if (!fo->coach && front_is_console(ctx, fo))
			merged_tell(ctx, sp.path);
		if (!fo->coach)
			prune_old(ctx);
		if (fo->recorded)
			tell_recorded(ctx, &sp);
	}
	spawned_release(&sp);
	return status;
}

int cmd_run(struct cmd_ctx *ctx)
{
	CLEANUP(json_release) json_t *o = json_object();
	struct err err = ERR_INIT;
	const char *task = cmd_opt(ctx, "execute");
	bool terminal = cmd_has(ctx, "interactive");
	int wrong = terminal ? interactive_usage(ctx, task) : 0;
	if (wrong)
		return wrong;
	if (!terminal && cmd_opt(ctx, "record-input"))
		return cmd_usage(ctx, "--record-input requires -i");
	if (!task && !cmd_word(ctx, 0) && !terminal)
		return cmd_usage(ctx, "missing argument: FILE, or -e TASK");
	if (!cmd_has(ctx, "agent") &&
	    (cmd_has(ctx, "control") || cmd_has(ctx, "linger") || cmd_has(ctx, "hold-exec")))
		return cmd_usage(ctx, "--control, --linger, and --hold-exec require --agent NAME");
	if (!cmd_has(ctx, "agent") && !terminal &&
	    (cmd_has(ctx, "image") || cmd_has(ctx, "build") || cmd_has(ctx, "option")))
		return cmd_usage(ctx, "--image, --build, and --option require --agent or -i\n"
				      "In a script, name them in sg.sandbox.");
	if (cmd_has(ctx, "registry") && (!cmd_has(ctx, "agent") || !task))
		return cmd_usage(ctx, "--registry requires --agent ID and -e TASK");
	if (cmd_has(ctx, "agent") && !task && !terminal)
		return cmd_usage(ctx, "--agent requires -e TASK or -i");
	if (task && !task[strspn(task, " \t\r\n")])
		return cmd_usage(ctx, "-e: expected a task, got an empty text");
	if (task && cmd_word(ctx, 0))
		return cmd_usage(ctx, "-e can't be combined with a script");
	if (common_opts(ctx, o, &err) < 0 || (task && front_run_names_model(ctx, o, &err) < 0) ||
	    (terminal		     ? front_run_interactive(ctx, o, &err)
	     : cmd_has(ctx, "agent") ? inner_agent(ctx, task, o, &err)
	     : task		     ? front_run_built_in(ctx, task, o, &err)
				     : load_script(ctx, o, &err)) < 0)
		return cmd_fail(ctx, &err);
	if (cassette_opts(ctx, o, &err) < 0 || share_opts(ctx, o, &err) < 0)
		return cmd_fail(ctx, &err);
	if (cmd_has(ctx, "dry-run"))
		return print_plan(ctx, o);
	if (cmd_has(ctx, "watch"))
		return task ? cmd_usage(ctx, "--watch requires a script")
			    : run_watch(ctx, o, cmd_word(ctx, 0));
	struct front_opts fo = { .trust = cmd_has(ctx, "trust"), .terminal = terminal };
	return run_session(ctx, o, &fo);
}

/* The demo's session is kept, for replay and verify, unless it is to leave nothing behind. */
int cmd_demo(struct cmd_ctx *ctx)
{
	CLEANUP(json_release) json_t *o = json_object();
	struct err err = ERR_INIT;
	size_t len;
	const char *what = cmd_word(ctx, 0);
	if (what && (strcmp(what, "patterns") != 0 || cmd_word(ctx, 1)))
		return cmd_usage(ctx, "expected patterns, or no argument");
	if (what && patterns_canary(&err) < 0)
		return cmd_fail(ctx, &err);
	const char *text =
		library_file(what ? "agents/demo_patterns.lua" : "agents/demo.lua", &len);
	const char *tmp = getenv("TMPDIR");
	if (!text)
		return cmd_fail_with(ctx, EXIT_UNSUCCESSFUL, "demo not found in this build");
	CLEANUP(free_ptr)
	char *dir = mem_printf("%s/sandglass-demo-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	bool keep = !cmd_has(ctx, "forget");
	if (!keep && !mkdtemp(dir))
		return cmd_fail_with(ctx, EXIT_UNSUCCESSFUL, "can't create a directory in '%s'",
				     tmp ? tmp : "/tmp");
	json_put_str(o, "sessions_dir", keep ? ctx->sessions : dir);
	json_put_str(o, "name", "demo");
	json_put_bytes(o, "script", text, len);
	json_t *policy = json_array();
	json_array_append_new(policy, json_string("lua:agents/demo_policy.lua"));
	json_put(o, "policy", policy);
	json_put_flag(o, "own_rules", true);
	/* the demo's models are scripted, so its commands are known */
	json_put_flag(o, "accept_reduced", true);
	struct front_opts fo = { .coach = !what,
				 .recorded = keep,
				 .automatic = !isatty(0) || !isatty(1) };
	int status = run_session(ctx, o, &fo);
	if (!keep && dir_remove(dir, &err) < 0)
		cmd_tell_error(ctx, NULL, &err);
	return status;
}
