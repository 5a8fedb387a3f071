/* repeat: in the session that runs, else in a new one. */
#include <stdlib.h>
#include <string.h>

#include "cli/lib/cmd_priv.h"
#include "phrase/describe.h"
#include "cli/verify_repeat.h"
#include "sessions/sessions.h"
#include "sessions/spawn.h"
#include "supervisor/trial/repeat_priv.h"
#include "base/mem.h"
#include "control/client.h"
#include "control/socket.h"
#include "record/read/session.h"
#include "phrase/repeat_lines.h"
#include "wire/event.h"

/* Progress while it runs, read from the recording whenever the supervisor announces new events. */
struct told {
	struct cmd_ctx *ctx;
	struct session *read;
	struct feed *feed;
	uint64_t action, started, again; /* asked for; redo.started; the second run */
};

static void tell_event(struct told *t, const struct event *ev, const json_t *o)
{
	CLEANUP(buf_release) struct buf lacks = BUF_INIT;
	const char *why = json_str(o, "why", "");
	if (ev->kind == EV_REDO_STARTED && !t->started &&
	    (uint64_t)json_int(json_object_get(o, "origin"), "action", 0) == t->action) {
		t->started = ev->seq;
		repeat_lines_lacks(o, &lacks);
		if (lacks.len)
			fprintf(t->ctx->err, "not in the recording, so the run lacks: %s\n",
				buf_cstr(&lacks));
	} else if (ev->kind == EV_ACTION_REQUESTED && t->started && ev->cause == t->started) {
		t->again = ev->seq;
	} else if (ev->kind == EV_ACTION_HELD && t->again && ev->action == t->again) {
		CLEANUP(buf_release) struct buf line = BUF_INIT;
		buf_printf(&line, "pending approval%s%s: sandglass approve %llu -S %s\n",
			   *why ? ", " : "", why, (unsigned long long)t->again,
			   session_id(t->read));
		cmd_print_safe(t->ctx->err, buf_cstr(&line), line.len, true);
	}
}

static void cmd_repeat_on_head(void *self, uint64_t head)
{
	struct told *t = self;
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	struct event ev;
	(void)head;
	while (t->feed && feed_next(t->feed, &ev, &a, 0, &err) == 1) {
		bool ours = ev.kind == EV_REDO_STARTED || ev.kind == EV_ACTION_REQUESTED ||
			    ev.kind == EV_ACTION_HELD;
		CLEANUP(json_release)
		json_t *o = ours && ev.body ? json_parse(ev.body, ev.len, "event", &err) : NULL;
		if (o)
			tell_event(t, &ev, o);
		arena_reset(&a);
	}
	fflush(t->ctx->err);
}

static void told_begin(struct told *t, const char *path)
{
	struct err err = ERR_INIT; /* an error only hides the progress */
	if (t->ctx->quiet || session_open(&t->read, path, &err) < 0)
		return;
	if (feed_new(&t->feed, t->read, FEED_ALL, 0, &err) == 0)
		feed_seek(t->feed, session_head(t->read));
}

static void told_end(struct told *t)
{
	feed_free(&t->feed);
	session_close(&t->read);
}

/* @path: the record that the second run goes to; @from: the session of the first, NULL the same;
 * @end: the session ends with it. */
static int cmd_repeat_ask(struct cmd_ctx *ctx, const char *socket, const char *path,
			  uint64_t action, const char *from, bool end, json_t **reply,
			  struct err *err)
{
	static const struct control_client_ops ops = { .head = cmd_repeat_on_head };
	struct told told = { .ctx = ctx, .action = action };
	struct control_client *c;
	CLEANUP(free_ptr) char *id = mem_printf("%llu", (unsigned long long)action);
	if (control_client_open(&c, socket, NULL, &ops, &told, err) < 0)
		return -1;
	json_t *words = json_array(), *opts = json_object();
	json_array_append_new(words, json_string("redo_here"));
	json_array_append_new(words, json_string(id));
	json_put_str(opts, "from", from);
	if (end)
		json_put_flag(opts, "end", true);
	const char *in = cmd_opt(ctx, "in");
	if (cmd_has(ctx, "keep") || (in && !strcmp(in, "fork")))
		json_put_flag(opts, "keep", true);
	if (cmd_has(ctx, "now") || (in && !strcmp(in, "live")))
		json_put_flag(opts, "now", true);
	json_put_str(opts, "backend", cmd_opt(ctx, "backend"));
	told_begin(&told, path);
	int rc = control_client_call(c, words, opts, -1, reply, err);
	cmd_repeat_on_head(&told, 0);
	told_end(&told);
	control_client_free(&c);
	return rc;
}

static void cmd_repeat_end_session(const char *socket)
{
	struct control_client *c;
	struct err none = ERR_INIT;
	CLEANUP(json_release) json_t *ignored = NULL;
	json_t *words = json_array();
	json_array_append_new(words, json_string("stop"));
	if (control_client_open(&c, socket, NULL, NULL, NULL, &none) < 0) {
		json_decref(words);
		return; /* it has ended already */
	}
	if (control_client_call(c, words, json_object(), -1, &ignored, &none) < 0)
		none.code = ERR_NONE;
	control_client_free(&c);
}

static void cmd_repeat_tell(struct cmd_ctx *ctx, const json_t *reply)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	if (ctx->json) {
		cmd_json(ctx, json_incref((json_t *)(uintptr_t)reply));
		return;
	}
	describe_redo(reply, &text);
	buf_puts(&text, "\n");
	cmd_print_safe(ctx->out, buf_cstr(&text), text.len, true);
	fflush(ctx->out);
}

/* The command to repeat, and its place. */
struct wanted {
	char *path;	  /* of the record */
	uint64_t *action; /* ascending */
	size_t nr;
	bool live;
	char *socket; /* of the live session */
};

static void wanted_release(struct wanted *w)
{
	free(w->path);
	free(w->action);
	free(w->socket);
}

/* Whether it can be run again at all, before a session is made for it. */
static int check_one(const char *path, uint64_t action, struct err *err)
{
	struct origin o;
	int rc = origin_read(&o, path, action, false, err);
	origin_release(&o);
	return rc;
}

/* "ID" or "ID..M": one action, or all commands in between. */
static int read_wanted(struct cmd_ctx *ctx, struct wanted *w, struct err *err)
{
	const char *word = cmd_word(ctx, 0), *dots = word ? strstr(word, "..") : NULL;
	bool range = dots && dots > word && strspn(dots + 2, "0123456789") == strlen(dots + 2) &&
		     dots[2];
	CLEANUP(free_ptr)
	char *first =
		range ? mem_strndup(word, (size_t)(dots - word)) : mem_strdup(word ? word : "");
	uint64_t from, to = range ? strtoull(dots + 2, NULL, 10) : 0;
	const char *in = cmd_opt(ctx, "in");
	struct session *s;
	if (in && strcmp(in, "fresh") != 0 && strcmp(in, "fork") != 0 && strcmp(in, "live") != 0)
		return err_set(err, ERR_USAGE, "--in: expected fresh, fork, or live, got '%s'", in);
	if (session_ref(ctx->sessions, first, &w->path, &from, err) < 0 ||
	    session_open(&s, w->path, err) < 0)
		return -1;
	w->live = session_live(s);
	w->socket = control_path(session_id(s));
	int rc = 0;
	if (!from) {
		rc = err_set(err, ERR_USAGE,
			     "missing argument: ID, such as s-7k2m9q#403 or #403..420");
	} else if (!range) {
		w->action = mem_calloc(1, sizeof(*w->action));
		w->action[0] = from;
		w->nr = 1;
		rc = w->live ? 0 : check_one(w->path, from, err);
	} else if (to < from) {
		rc = err_set(err, ERR_USAGE, "'%s' ends before it starts", word);
	} else {
		rc = verify_repeat_actions(s, from, to, &w->action, &w->nr, err);
		if (rc == 0 && !w->nr)
			rc = err_set(err, ERR_NOENT,
				     "no sandbox command found between #%llu and #%llu",
				     (unsigned long long)from, (unsigned long long)to);
	}
	session_close(&s);
	return rc;
}

/* In a range, files of which the record has the changes of several commands in one snapshot are no
 * difference: whose they are is not known. */
static bool counts_as_same(const json_t *reply)
{
	static const char *const part[] = { "status", "stdout", "stderr", "pty" };
	const json_t *tree = json_object_get(reply, "tree");
	bool same = json_flag(reply, "same", false);
	if (same || *json_str(reply, "why", "") || !json_flag(tree, "shared", false))
		return same;
	for (size_t i = 0; i < ARRAY_LEN(part); i++) {
		const json_t *p = json_object_get(reply, part[i]);
		if (p && !json_flag(p, "same", false))
			return false;
	}
	return true;
}

/* One after the other; the first that is not the same is the last. */
static int run_wanted(struct cmd_ctx *ctx, const struct wanted *w, const char *socket,
		      const char *path, bool *same, struct err *err)
{
	size_t done = 0;
	*same = true;
	for (; done < w->nr && *same; done++) {
		CLEANUP(json_release) json_t *reply = NULL;
		if (cmd_repeat_ask(ctx, socket, path, w->action[done], w->live ? NULL : w->path,
				   !w->live && done + 1 == w->nr, &reply, err) < 0)
			return -1;
		cmd_repeat_tell(ctx, reply);
		*same = w->nr > 1 ? counts_as_same(reply) : json_flag(reply, "same", false);
	}
	if (w->nr > 1 && !ctx->quiet && !ctx->json)
		fprintf(ctx->out,
			*same ? "%zu of %zu commands the same\n"
			      : "%zu of %zu commands run again: stopped at the first difference\n",
			done, w->nr);
	return 0;
}

static int cmd_repeat_run_all(struct cmd_ctx *ctx, const struct wanted *w, bool *same,
			      struct err *err)
{
	struct spawned sp = { 0 };
	if (w->live)
		return run_wanted(ctx, w, w->socket, w->path, same, err);
	if (verify_repeat_session(ctx, false, &sp, err) < 0)
		return -1;
	int rc = run_wanted(ctx, w, sp.socket, sp.path, same, err);
	if (rc < 0 || !*same)
		cmd_repeat_end_session(sp.socket);
	if (!ctx->quiet)
		fprintf(ctx->err, "recorded as %s\n", sp.id);
	spawned_release(&sp);
	return rc;
}

int cmd_repeat(struct cmd_ctx *ctx)
{
	struct wanted w = { 0 };
	struct err err = ERR_INIT;
	bool same = false;
	int rc = read_wanted(ctx, &w, &err);
	if (rc == 0)
		rc = cmd_repeat_run_all(ctx, &w, &same, &err);
	wanted_release(&w);
	return rc < 0 ? cmd_fail(ctx, &err) : same ? EXIT_DONE : EXIT_UNSUCCESSFUL;
}
