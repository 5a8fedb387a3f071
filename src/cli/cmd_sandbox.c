/* sandbox exec, shell, ls, prune; shell; attach, watch, replay: boxes and sessions by hand. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/attach_host.h"
#include "cli/box_verbs.h"
#include "cli/lib/cmd_priv.h"
#include "cli/replay_notes.h"
#include "sessions/orphans.h"
#include "cli/lib/config.h"
#include "cli/front/front.h"
#include "cli/front/front_line.h"
#include "cli/front/front_terminal.h"
#include "luahost/library.h"
#include "terminal/operator_shell.h"
#include "sessions/sessions.h"
#include "sessions/spawn.h"
#include "sessions/unmerged.h"
#include "base/fd.h"
#include "base/paths.h"
#include "control/share.h"
#include "control/socket.h"
#include "record/record.h"

enum { LS_ENDED_MAX = 50 };

/* --- attach, watch, replay --- */

/* The path and the control socket of the live session that @text means. */
static int find_live(struct cmd_ctx *ctx, const char *text, char **path, char **socket,
		     struct err *err)
{
	struct session *s;
	if (session_find(ctx->sessions, text, path, err) < 0)
		return -1;
	if (session_open(&s, *path, err) < 0)
		return -1;
	bool live = session_live(s);
	CLEANUP(free_ptr) char *id = mem_strdup(session_id(s));
	session_close(&s);
	if (!live)
		return err_set(err, ERR_CLOSED,
			       "session %s has ended\nLook at it with 'sandglass replay %s'.", id,
			       text && strchr(text, '/') ? text : id);
	*socket = share_find(id, *path);
	return 0;
}

static bool several_run(void)
{
	CLEANUP(strv_release) struct strv ids = STRV_INIT;
	struct err err = ERR_INIT;
	return control_list(&ids, &err) == 0 && ids.nr > 1;
}

/* Nothing of ours runs, but something that is shared with us does. 1: @path, 0: none, -1: several,
 * which. */
static int cmd_sandbox_find_shared(char **path, struct err *err)
{
	struct session_files files = SESSION_FILES_INIT;
	CLEANUP(strv_release) struct strv own = STRV_INIT;
	CLEANUP(buf_release) struct buf all = BUF_INIT;
	struct err none = ERR_INIT;
	if (control_list(&own, &none) < 0 || own.nr > 0)
		return 0;
	session_files_shared(&files);
	for (size_t i = 0; i < files.nr; i++)
		buf_printf(&all, "%s%s (%s)", i ? ", " : "", files.item[i].id, files.item[i].name);
	int rc = files.nr == 1	 ? 1
		 : files.nr == 0 ? 0
				 : err_set(err, ERR_USAGE,
					   "several sessions are shared with you: %s\nName one.",
					   buf_cstr(&all));
	if (rc == 1)
		*path = mem_strdup(files.item[0].path);
	session_files_release(&files);
	return rc;
}

static int cmd_sandbox_attach(struct cmd_ctx *ctx, bool watch)
{
	CLEANUP(free_ptr) char *shared = NULL;
	CLEANUP(free_ptr) char *path = NULL;
	CLEANUP(free_ptr) char *socket = NULL;
	struct err err = ERR_INIT;
	struct filter *filter = NULL;
	const struct front_opts fo = { .watch = watch,
				       .visit = true,
				       .filter = cmd_opt(ctx, "filter"),
				       .trust = !watch && cmd_has(ctx, "trust") };
	if (cmd_opt(ctx, "host")) /* a remote session is read where it runs */
		return attach_host(ctx, cmd_opt(ctx, "host"));
	if (cmd_filter(ctx, &filter, &err) < 0)
		return cmd_fail(ctx, &err);
	filter_free(&filter);
	config_user(ctx);
	if (!cmd_word(ctx, 0) && several_run())
		return front_show_all(ctx, &fo);
	if ((!cmd_word(ctx, 0) && cmd_sandbox_find_shared(&shared, &err) < 0) ||
	    find_live(ctx, shared ? shared : cmd_word(ctx, 0), &path, &socket, &err) < 0)
		return cmd_fail(ctx, &err);
	struct front_terminal_opts to = { .take = cmd_has(ctx, "take"),
					  .name = cmd_opt(ctx, "agent") };
	bool here = !watch && !cmd_has(ctx, "console") && isatty(0) && isatty(1) && !ctx->no_tui;
	to.wait = here && !to.name && front_terminal_comes(path);
	if (here && (to.wait || front_has_terminal(socket, to.name)))
		return front_terminal(ctx, path, socket, &to);
	if (to.take || to.name)
		return cmd_fail_with(ctx, EXIT_UNSUCCESSFUL, "attach: %s%s%s",
				     to.name ? "agent '" : "no agent of this session",
				     to.name ? to.name : "",
				     to.name ? "' has no terminal of its own here"
					     : " has a terminal of its own");
	return front_show(ctx, path, socket, &fo);
}

int cmd_attach(struct cmd_ctx *ctx)
{
	return cmd_sandbox_attach(ctx, false);
}

int cmd_watch(struct cmd_ctx *ctx)
{
	return cmd_sandbox_attach(ctx, true);
}

char *cmd_replay_program(void)
{
	char *program = paths_libexec("sandglass-replay");
	if (access(program, X_OK) != 0) { /* installed: it lies beside us, for users */
		free(program);
		program = mem_printf("%s/bin/sandglass-replay", SANDGLASS_PREFIX);
	}
	return program;
}

/* The program that replays is another one: it has nothing in it that could run something. Comes
 * back only when it cannot be started. */
static int start_replay(struct cmd_ctx *ctx, const struct strv *argv)
{
	CLEANUP(free_ptr) char *program = cmd_replay_program();
	struct err err = ERR_INIT;
	fflush(ctx->out);
	execv(program, argv->item);
	err_sys(&err, "can't start '%s'", program);
	return cmd_fail(ctx, &err);
}

static void cmd_replay_notes(const char *path, struct strv *argv)
{
	int fd = replay_notes_open(path);
	CLEANUP(free_ptr) char *number = mem_printf("%d", fd);
	if (fd < 0)
		return;
	strv_push(argv, "--claims");
	strv_push(argv, number);
}

int cmd_replay(struct cmd_ctx *ctx)
{
	CLEANUP(free_ptr) char *path = NULL;
	struct err err = ERR_INIT;
	uint64_t seq = 0;
	char at[24];
	if (session_ref(ctx->sessions, cmd_word(ctx, 0), &path, &seq, &err) < 0)
		return cmd_fail(ctx, &err);
	struct strv argv = STRV_INIT;
	strv_push(&argv, "sandglass-replay");
	const char *from = cmd_opt(ctx, "at");
	if (!from && seq) {
		snprintf(at, sizeof(at), "%llu", (unsigned long long)seq);
		from = at;
	}
	if (from && *from == '#')
		from++;
	if (cmd_has(ctx, "screen")) {
		strv_push(&argv, "--screen");
		strv_push(&argv, from ? from : "0");
	} else if (from) {
		strv_push(&argv, "--at");
		strv_push(&argv, from);
	}
	static const char *const passed[] = { "view", "size", "speed" };
	for (size_t i = 0; i < ARRAY_LEN(passed); i++)
		if (cmd_opt(ctx, passed[i])) {
			CLEANUP(free_ptr) char *flag = mem_printf("--%s", passed[i]);
			strv_push(&argv, flag);
			strv_push(&argv, cmd_opt(ctx, passed[i]));
		}
	if (ctx->no_tui)
		strv_push(&argv, "--no-tui");
	if (cmd_has(ctx, "step"))
		strv_push(&argv, "--step");
	if (!ctx->json && !cmd_has(ctx, "screen"))
		cmd_replay_notes(path, &argv);
	if (ctx->json)
		strv_push(&argv, "--json");
	strv_push(&argv, path);
	for (size_t i = 1; cmd_word(ctx, i); i++) {
		CLEANUP(free_ptr) char *beside = NULL;
		if (session_ref(ctx->sessions, cmd_word(ctx, i), &beside, &seq, &err) < 0)
			return cmd_fail(ctx, &err);
		strv_push(&argv, beside);
	}
	int status = start_replay(ctx, &argv);
	strv_release(&argv);
	return status;
}

int replay_at(struct cmd_ctx *ctx, const char *path, uint64_t seq)
{
	char at[24];
	struct strv argv = STRV_INIT;
	snprintf(at, sizeof(at), "%llu", (unsigned long long)seq);
	strv_push(&argv, "sandglass-replay");
	strv_push(&argv, "--at");
	strv_push(&argv, at);
	strv_push(&argv, "--view");
	strv_push(&argv, "agent");
	if (ctx->no_tui)
		strv_push(&argv, "--no-tui");
	if (ctx->json)
		strv_push(&argv, "--json");
	else
		cmd_replay_notes(path, &argv);
	strv_push(&argv, path);
	int status = start_replay(ctx, &argv);
	strv_release(&argv);
	return status;
}

/* --- a user's shell in a running box --- */

/* @alone: the session is there for this shell and ends with it, also when we are killed. */
static int shell_in(struct cmd_ctx *ctx, const char *path, const char *socket, const char *box,
		    bool alone)
{
	struct control_client *c;
	struct session *s;
	struct err err = ERR_INIT;
	json_t *words, *opts, *reply = NULL;
	if (session_open(&s, path, &err) < 0)
		return cmd_fail(ctx, &err);
	if (control_client_open(&c, socket, NULL, NULL, NULL, &err) < 0) {
		session_close(&s);
		return cmd_fail(ctx, &err);
	}
	words = json_array();
	opts = json_object();
	json_array_append_new(words, json_string("open_shell"));
	if (box)
		json_array_append_new(words, json_string(box));
	if (alone)
		json_put_flag(opts, "end", true);
	int status = -1;
	if (control_client_call(c, words, opts, 10000, &reply, &err) == 0)
		status = operator_shell(c, s, (uint64_t)json_int(reply, "action", 0), &err);
	json_decref(reply);
	control_client_free(&c);
	session_close(&s);
	return status < 0 ? cmd_fail(ctx, &err) : status;
}

int cmd_shell(struct cmd_ctx *ctx)
{
	CLEANUP(free_ptr) char *path = NULL;
	CLEANUP(free_ptr) char *socket = NULL;
	struct err err = ERR_INIT;
	if (find_live(ctx, cmd_opt(ctx, "in"), &path, &socket, &err) < 0)
		return cmd_fail(ctx, &err);
	return shell_in(ctx, path, socket, cmd_word(ctx, 0), false);
}

/* --- sandbox --- */

static int cmd_sandbox_session_opts(struct cmd_ctx *ctx, const char *script, json_t *o,
				    struct err *err)
{
	size_t len;
	const char *text = library_file(script, &len);
	if (!text)
		return err_set(err, ERR_NOENT, "'%s' not found in this build", script);
	json_put_str(o, "name", cmd_opt(ctx, "name") ? cmd_opt(ctx, "name") : "sandbox");
	json_put_bytes(o, "script", text, len);
	return run_common(ctx, o, err);
}

static json_t *script_args(struct cmd_ctx *ctx, const char *words)
{
	json_t *args = json_array();
	if (cmd_opt(ctx, "repo")) {
		json_array_append_new(args, json_string("--repo"));
		json_array_append_new(args, json_bytes_z(cmd_opt(ctx, "repo")));
	}
	if (words)
		json_array_append_new(args, json_string(words));
	return args;
}

static int sandbox_exec(struct cmd_ctx *ctx)
{
	CLEANUP(json_release) json_t *o = json_object();
	struct err err = ERR_INIT;
	if (!ctx->line->rest.nr)
		return cmd_usage(
			ctx,
			"exec: missing argument: COMMAND\nRun 'sandglass sandbox exec -- COMMAND'.");
	CLEANUP(json_release) json_t *words = json_argv(ctx->line->rest.item, ctx->line->rest.nr);
	CLEANUP(free_ptr) char *text = json_dump_str(words);
	bool input = cmd_has(ctx, "stdin");
	if (cmd_sandbox_session_opts(ctx, "agents/exec.lua", o, &err) < 0)
		return cmd_fail(ctx, &err);
	json_t *args = script_args(ctx, text);
	if (input)
		json_array_append_new(args, json_string("--stdin"));
	json_put(o, "args", args);
	const struct front_opts fo = { .raw = true, .input = input };
	return run_session(ctx, o, &fo);
}

/* Waits for the mark that lua/agents/shell.lua sets when its box is there. */
static int wait_ready(const char *path, struct err *err)
{
	struct session *s;
	struct feed *f;
	struct event ev;
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	if (session_open(&s, path, err) < 0)
		return -1;
	int rc = feed_new(&f, s, FEED_ALL, 0, err);
	bool ready = false, over = false;
	while (rc == 0 && !ready && !over) {
		int got = feed_next(f, &ev, &a, 0, err);
		if (got < 0)
			rc = -1;
		else if (got == 0 && !session_live(s) && feed_next(f, &ev, &a, 0, err) != 1)
			over = true;
		else if (got == 0)
			usleep(10000);
		else
			ready = ev.kind == EV_NOTE && strstr(ev.body, "\"ready\"");
	}
	if (rc == 0 && !ready) {
		CLEANUP(buf_release) struct buf why = BUF_INIT;
		front_status(s, &why);
		rc = err_set(err, ERR_CLOSED, "can't open the sandbox: %s", buf_cstr(&why));
	}
	feed_free(&f);
	session_close(&s);
	return rc;
}

static int sandbox_shell(struct cmd_ctx *ctx)
{
	CLEANUP(json_release) json_t *o = json_object();
	struct spawned sp = { 0 };
	struct err err = ERR_INIT;
	if (cmd_sandbox_session_opts(ctx, "agents/shell.lua", o, &err) < 0)
		return cmd_fail(ctx, &err);
	json_put(o, "args", script_args(ctx, NULL));
	int status = spawn_supervisor(o, &sp, &err);
	if (status)
		return cmd_fail_as(ctx, status, &err);
	if (wait_ready(sp.path, &err) < 0) {
		status = cmd_fail_as(ctx, EXIT_SANDBOX, &err);
	} else {
		struct control_client *c;
		status = shell_in(ctx, sp.path, sp.socket, NULL, true);
		if (control_client_open(&c, sp.socket, NULL, NULL, NULL, &err) == 0) {
			json_t *words = json_array(), *reply;
			json_array_append_new(words, json_string("stop"));
			if (control_client_call(c, words, NULL, 10000, &reply, &err) == 0)
				json_decref(reply);
			control_client_free(&c);
		}
		fprintf(ctx->err, "recorded as %s\n", sp.id);
	}
	spawned_release(&sp);
	return status;
}

/* Boxes that have gone and hold work that nobody has merged. */
static void ls_unmerged(struct cmd_ctx *ctx, const struct session_file *f)
{
	struct session *s;
	struct unmerged u = UNMERGED_INIT;
	struct err err = ERR_INIT;
	if (session_open(&s, f->path, &err) < 0)
		return;
	bool ended = !session_live(s) && unmerged_read(&u, s, &err) == 0;
	session_close(&s);
	for (size_t i = 0; ended && i < u.nr; i++) {
		const struct unmerged_box *b = &u.box[i];
		CLEANUP(buf_release) struct buf what = BUF_INIT, safe = BUF_INIT;
		if (!b->files && !b->branches)
			continue;
		unmerged_what(b, &what);
		cmd_safe(&safe, buf_cstr(&what), what.len, false);
		if (ctx->json) {
			json_t *row = json_object();
			json_put_str(row, "session", f->id);
			json_put_int(row, "box", (int64_t)b->id);
			json_put_str(row, "name", b->name);
			json_put_flag(row, "ended", true);
			json_put_int(row, "not_merged", (int64_t)b->files);
			json_put_int(row, "branches", (int64_t)b->branches);
			cmd_json(ctx, row);
		} else {
			fprintf(ctx->out, "%s  %-16s ended, %s not merged\n", f->id, b->name,
				buf_cstr(&safe));
		}
	}
	unmerged_release(&u);
}

/* Boxes of sessions that run, then those of the newest others that hold unmerged work. */
static int sandbox_ls(struct cmd_ctx *ctx)
{
	struct session_files files = SESSION_FILES_INIT;
	struct err err = ERR_INIT;
	if (session_files_list(&files, ctx->sessions, &err) < 0)
		return cmd_fail(ctx, &err);
	for (size_t i = 0; i < files.nr; i++) {
		struct control_client *c;
		CLEANUP(free_ptr) char *socket = control_path(files.item[i].id);
		json_t *reply, *b, *words = json_array();
		size_t n;
		json_array_append_new(words, json_string("state"));
		if (access(socket, F_OK) != 0 ||
		    control_client_open(&c, socket, NULL, NULL, NULL, &err) < 0) {
			json_decref(words);
			if (i < LS_ENDED_MAX)
				ls_unmerged(ctx, &files.item[i]);
			continue;
		}
		if (control_client_call(c, words, NULL, 5000, &reply, &err) == 0) {
			json_array_foreach(json_object_get(reply, "boxes"), n, b)
			{
				if (ctx->json) {
					json_t *row = json_copy(b);
					json_put_str(row, "session", files.item[i].id);
					cmd_json(ctx, row);
				} else {
					fprintf(ctx->out, "%s  %-16s %lld processes\n",
						files.item[i].id, json_str(b, "name", ""),
						(long long)json_int(b, "alive", 0));
				}
			}
			json_decref(reply);
		}
		control_client_free(&c);
	}
	session_files_release(&files);
	return EXIT_DONE;
}

/* prune --boxes, without its words. */
static int sandbox_prune(struct cmd_ctx *ctx)
{
	const struct strv none = STRV_INIT;
	struct cmd_ctx all = *ctx;
	all.words = &none;
	return orphans_prune(&all);
}

int cmd_sandbox(struct cmd_ctx *ctx)
{
	static const struct {
		const char *name;
		int (*run)(struct cmd_ctx *ctx);
		size_t min, max; /* words after it */
		const char *words;
	} verb[] = {
		{ "exec", sandbox_exec, 0, 0, "[-i] -- COMMAND" },
		{ "shell", sandbox_shell, 0, 0, "" },
		{ "ls", sandbox_ls, 0, 0, "" },
		{ "cp", box_cp, 2, 2, "FROM TO" },
		{ "snapshot", box_snapshot, 1, 2, "SANDBOX [LABEL]" },
		{ "rm", box_rm, 1, 1, "SANDBOX" },
		{ "prune", sandbox_prune, 0, 0, "" },
	};
	const char *names[ARRAY_LEN(verb)], *word = cmd_word(ctx, 0);
	size_t nr = ctx->words->nr - 1;
	for (size_t i = 0; i < ARRAY_LEN(verb); i++) {
		names[i] = verb[i].name;
		if (strcmp(verb[i].name, word) != 0)
			continue;
		if (nr < verb[i].min || nr > verb[i].max)
			return cmd_usage(ctx, "expected: sandglass sandbox %s%s%s", word,
					 *verb[i].words ? " " : "", verb[i].words);
		if (ctx->line->rest.nr && strcmp(word, "exec") != 0)
			return cmd_usage(ctx, "%s: unexpected arguments after --", word);
		if (cmd_has(ctx, "stdin") && strcmp(word, "exec") != 0)
			return cmd_usage(ctx, "%s: --stdin requires exec", word);
		return verb[i].run(ctx);
	}
	const char *near = word_nearest(word, names, ARRAY_LEN(names));
	return near ? cmd_usage(ctx, "unknown command '%s'; did you mean '%s'?", word, near)
		    : cmd_usage(ctx,
				"expected exec, shell, ls, cp, snapshot, rm, or prune, got '%s'",
				word);
}
