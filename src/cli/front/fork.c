/* sandglass fork SESSION#n: the events up to n again, unchanged, in a new session; from there it
 * runs live. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/front/fork_inside.h"
#include "cli/front/fork_models.h"
#include "cli/front/fork_outcome.h"
#include "cli/front/front.h"
#include "sessions/sessions.h"
#include "base/mem.h"
#include "record/read/settled.h"
#include "record/record.h"

/* The first event after which the script runs; 0: it never did. */
static uint64_t script_begins(struct session *s, struct err *err)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct feed *f;
	struct event ev;
	uint64_t host = 0, at = 0;
	if (feed_new(&f, s, FEED_ALL, 0, err) < 0)
		return 0;
	while (!at && feed_next(f, &ev, &a, 0, err) == 1) {
		CLEANUP(json_release)
		json_t *body = ev.kind == EV_HOST_START && ev.body
				       ? json_parse(ev.body, ev.len, "event", err)
				       : NULL;
		if (!strcmp(json_str(body, "mode", ""), "script"))
			host = ev.seq;
		if (host && ev.kind == EV_HOST_FRAME && ev.cause == host)
			at = ev.seq;
		arena_reset(&a);
	}
	feed_free(&f);
	return at;
}

/* A model's answer and the end of its action are appended in one breath; between the two the action
 * would stand there as interrupted. At the end of an action in a box its files belong to it:
 * without their snapshot it would count as not done, and be done again. (What else a call does
 * itself is found by the number of the call: luahost/answer_cache.h.) */
static int with_end(const char *path, uint64_t *seq, struct err *err)
{
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct session *s;
	struct event ev;
	if (session_open(&s, path, err) < 0)
		return -1;
	int rc = session_event(s, *seq, &ev, &a, err);
	uint64_t begins = rc == 0 ? script_begins(s, err) : 0;
	if (rc == 0 && *seq < begins)
		rc = err_set(
			err, ERR_USAGE,
			"the script of session %s starts at #%llu: fork at that event or later",
			session_id(s), (unsigned long long)begins);
	uint64_t action = rc == 0 && ev.kind == EV_MODEL_REPLY ? ev.action : 0;
	if (rc == 0 && ev.kind == EV_ACTION_ENDED && ev.box)
		*seq = session_settled(s, ev.box, *seq);
	struct err none = ERR_INIT;
	if (action && session_event(s, *seq + 1, &ev, &a, &none) == 0 &&
	    ev.kind == EV_ACTION_ENDED && ev.action == action)
		++*seq;
	session_close(&s);
	return rc;
}

int cmd_fork(struct cmd_ctx *ctx)
{
	CLEANUP(json_release) json_t *o = json_object();
	CLEANUP(free_ptr) char *from = NULL;
	CLEANUP(free_ptr) char *path = NULL;
	struct err err = ERR_INIT;
	uint64_t seq = 0;
	if (!cmd_word(ctx, 0))
		return cmd_usage(ctx, "missing argument: SESSION#EVENT, such as s-7k2m9q#188");
	if (session_ref(ctx->sessions, cmd_word(ctx, 0), &from, &seq, &err) < 0)
		return cmd_fail(ctx, &err);
	if (!seq)
		return cmd_usage(ctx,
				 "missing event: %s#EVENT\n'sandglass events %s' lists the events.",
				 cmd_word(ctx, 0), cmd_word(ctx, 0));
	if (cmd_opt(ctx, "model")) {
		if (with_end(from, &seq, &err) < 0 ||
		    fork_inside_check(from, seq, cmd_opt(ctx, "model"), &err) < 0)
			return cmd_fail(ctx, &err);
		return fork_models(ctx, from, seq);
	}
	if (cmd_opt(ctx, "test") || cmd_opt(ctx, "runs") || cmd_opt(ctx, "time"))
		return cmd_usage(ctx, "--test, --runs, and --time require --model");
	if (run_budget(ctx, o, &err) < 0 || with_end(from, &seq, &err) < 0 ||
	    (cmd_opt(ctx, "with") &&
	     fork_inside_check(from, seq, cmd_opt(ctx, "with"), &err) < 0) ||
	    run_options_of(o, from, &err) < 0 || run_continued(ctx, o, &err) < 0 ||
	    record_fork(from, seq, ctx->sessions, cmd_opt(ctx, "name"), &path, &err) < 0)
		return cmd_fail(ctx, &err);
	json_put_str(o, "resume", path);
	json_put_str(o, "fork_model", cmd_opt(ctx, "with"));
	json_put_str(o, "name", "session");
	json_put_str(o, "sessions_dir", ctx->sessions);
	json_put_flag(o, "no_input", cmd_has(ctx, "no-input"));
	struct front_opts fo = { .follows = true };
	int status = run_session(ctx, o, &fo);
	struct session *s;
	/* nothing may be left of a fork that did not start; one that has may not have written
	 * yet */
	if (session_open(&s, path, &err) == 0) {
		bool begun = session_live(s) || session_head(s) > seq;
		session_close(&s);
		if (!begun)
			unlink(path);
	}
	return status;
}

/* --- taking one of them over ------------------------------------------------------------------ */

/* 0 if the files of session @s are worth taking: its agents and its test did well. */
static int worth_taking(struct session *s, struct err *err)
{
	CLEANUP(json_release) json_t *kept = fork_kept_read(session_id(s));
	CLEANUP(json_release) json_t *now = kept ? json_incref(kept) : fork_outcome(s, 0);
	const char *outcome = json_str(now, "outcome", "failed"), *why = json_str(now, "why", NULL);
	if (!strcmp(outcome, "ok"))
		return 0;
	return err_set(err, ERR_INVALID, "apply: %s: %s%s%s\nApply its files anyway with --force.",
		       session_id(s),
		       !strcmp(outcome, "budget")    ? "budget used up"
		       : !strcmp(outcome, "late")    ? "stopped"
		       : !strcmp(outcome, "running") ? "still running"
						     : "failed",
		       why ? ": " : "", why ? why : "");
}

int fork_apply(struct cmd_ctx *ctx)
{
	const char *word = cmd_word(ctx, 0);
	struct session *s;
	struct err err = ERR_INIT;
	uint64_t seq;
	if (!word)
		return cmd_usage(ctx, "missing argument: ID or SESSION");
	if (session_open_ref(ctx, word, &s, &seq, &err) < 0)
		return cmd_fail(ctx, &err);
	CLEANUP(free_ptr) char *id = mem_strdup(session_id(s));
	int rc = cmd_has(ctx, "force") ? 0 : worth_taking(s, &err);
	session_close(&s);
	if (rc < 0)
		return cmd_fail(ctx, &err);
	CLEANUP(strv_release) struct strv w = STRV_INIT;
	const char *const words[] = { "sandglass", "--sessions", ctx->sessions,
				      "merge",	   id,		 "--apply" };
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		strv_push(&w, words[i]);
	if (ctx->json)
		strv_push(&w, "--json");
	if (ctx->quiet)
		strv_push(&w, "-q");
	execv("/proc/self/exe", w.item);
	err_sys(&err, "apply: can't start merge");
	return cmd_fail(ctx, &err);
}
