/* resume: continues an interrupted session. */
#include <sys/stat.h>

#include "cli/front/run_priv.h"
#include "cli/lib/cmd.h"
#include "cli/lib/cmd_priv.h"
#include "cli/lib/config.h"
#include "cli/front/front.h"
#include "cli/front/front_terminal.h"
#include "sessions/sessions.h"
#include "cli/front/tool_roots.h"
#include "sessions/unmerged.h"
#include "base/mem.h"

int run_options_of(json_t *o, const char *path, struct err *err)
{
	/* a third party may have written the file: no kept option names a host command */
	static const char *const kept[] = { "policy",	       "roots",		 "box",
					    "hash_only",       "box_uid",	 "ask_timeout_us",
					    "keep_file_bytes", "accept_reduced", "share",
					    "hide_tokens" };
	static const char *const same[] = { "model", "backend" };
	struct session *s;
	struct event ev;
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	if (session_open(&s, path, err) < 0)
		return -1;
	int rc =
		session_head(s)
			? session_event(s, 1, &ev, &a, err)
			: err_set(err, ERR_INVALID,
				  "session %s was interrupted before its script started\nRun the script again.",
				  session_id(s));
	CLEANUP(json_release)
	json_t *start = rc == 0 && ev.body ? json_parse(ev.body, ev.len, "session.start", err)
					   : json_object();
	session_close(&s);
	if (rc < 0 || !start)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(kept); i++)
		json_put(o, kept[i],
			 json_incref(json_object_get(json_object_get(start, "options"), kept[i])));
	for (size_t i = 0; i < ARRAY_LEN(same); i++)
		json_put(o, same[i], json_incref(json_object_get(start, same[i])));
	return 0;
}

static int resume_one(struct cmd_ctx *ctx, const char *path, bool detach)
{
	CLEANUP(json_release) json_t *o = json_object();
	struct err err = ERR_INIT;
	if (run_options_of(o, path, &err) < 0 || run_continued(ctx, o, &err) < 0)
		return cmd_fail(ctx, &err);
	json_put_str(o, "resume", path);
	json_put_str(o, "name", "session");
	json_put_str(o, "sessions_dir", ctx->sessions);
	json_put_flag(o, "no_input", cmd_has(ctx, "no-input"));
	struct front_opts fo = { .detach = detach };
	return run_session(ctx, o, &fo);
}

/* Every session without an end whose supervisor is gone, except archived ones: archiving with
 * --force leaves them as they are. One that can't be resumed does not stop the others. */
static int resume_all(struct cmd_ctx *ctx)
{
	struct session_files files = SESSION_FILES_INIT;
	struct err err = ERR_INIT;
	int status = EXIT_DONE;
	size_t nr = 0;
	if (session_files_list(&files, ctx->sessions, &err) < 0)
		return cmd_fail(ctx, &err);
	for (size_t i = 0; i < files.nr; i++) {
		struct session *s = NULL;
		struct err none = ERR_INIT;
		if (session_open(&s, files.item[i].path, &none) < 0)
			continue; /* ls says what it is */
		bool off = !files.item[i].archived && session_broken_off(s);
		session_close(&s);
		int rc = off ? resume_one(ctx, files.item[i].path, true) : EXIT_DONE;
		nr += off;
		status = rc ? rc : status;
	}
	session_files_release(&files);
	if (!nr && !ctx->quiet)
		fprintf(ctx->err, "sandglass: resume: no interrupted session in '%s'\n",
			ctx->sessions);
	return status;
}

int cmd_resume(struct cmd_ctx *ctx)
{
	CLEANUP(free_ptr) char *path = NULL;
	struct err err = ERR_INIT;
	if (cmd_has(ctx, "all"))
		return cmd_word(ctx, 0) ? cmd_usage(ctx, "expected SESSION or --all")
					: resume_all(ctx);
	if (session_find(ctx->sessions, cmd_word(ctx, 0), &path, &err) < 0)
		return cmd_fail(ctx, &err);
	return resume_one(ctx, path, false);
}
