/* redo: in the session that runs, else in a new one. */
#include <string.h>

#include "app/cmd/cmd_inner.h"
#include "app/cmd/describe.h"
#include "app/front/sessions.h"
#include "app/front/spawn.h"
#include "app/host/library.h"
#include "base/mem.h"
#include "control/client.h"
#include "control/socket.h"
#include "record/read/session.h"
#include "ui/views/redone.h"
#include "wire/event.h"

/* What is told while it runs: read from the record, as the supervisor says that there is more of it. */
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
		redone_lacks(o, &lacks);
		if (lacks.len)
			fprintf(t->ctx->err, "not in the record, so it has to do without: %s\n", buf_cstr(&lacks));
	} else if (ev->kind == EV_ACTION_REQUESTED && t->started && ev->cause == t->started) {
		t->again = ev->seq;
	} else if (ev->kind == EV_ACTION_HELD && t->again && ev->action == t->again) {
		CLEANUP(buf_release) struct buf line = BUF_INIT;
		buf_printf(&line, "waits for approval%s%s: sandglass approve %llu -S %s\n", *why ? ", " : "", why,
			   (unsigned long long)t->again, session_id(t->read));
		cmd_print_safe(t->ctx->err, buf_cstr(&line), line.len, true);
	}
}

static void on_head(void *self, uint64_t head)
{
	struct told *t = self;
	CLEANUP(arena_release) struct arena a = ARENA_INIT;
	struct err err = ERR_INIT;
	struct event ev;
	(void)head;
	while (t->feed && feed_next(t->feed, &ev, &a, 0, &err) == 1) {
		bool ours = ev.kind == EV_REDO_STARTED || ev.kind == EV_ACTION_REQUESTED || ev.kind == EV_ACTION_HELD;
		CLEANUP(json_release) json_t *o = ours && ev.body ? json_parse(ev.body, ev.len, "event", &err) : NULL;
		if (o)
			tell_event(t, &ev, o);
		arena_reset(&a);
	}
	fflush(t->ctx->err);
}

static void told_begin(struct told *t, const char *path)
{
	struct err err = ERR_INIT; /* then nothing is told, and the answer comes all the same */
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

/* @path: the record that the second run goes to; @from: the session of the first, NULL the same. */
static int ask(struct cmd_ctx *ctx, const char *socket, const char *path, uint64_t action, const char *from, json_t **reply,
	       struct err *err)
{
	static const struct control_client_ops ops = { .head = on_head };
	struct told told = { .ctx = ctx, .action = action };
	struct control_client *c;
	CLEANUP(free_ptr) char *id = xasprintf("%llu", (unsigned long long)action);
	if (control_client_open(&c, socket, NULL, &ops, &told, err) < 0)
		return -1;
	json_t *words = json_array(), *opts = json_object();
	json_array_append_new(words, json_string("redo_here"));
	json_array_append_new(words, json_string(id));
	json_put_str(opts, "from", from);
	if (from)
		json_put_flag(opts, "end", true);
	if (cmd_has(ctx, "keep"))
		json_put_flag(opts, "keep", true);
	if (cmd_has(ctx, "now"))
		json_put_flag(opts, "now", true);
	told_begin(&told, path);
	int rc = control_client_call(c, words, opts, -1, reply, err);
	on_head(&told, 0);
	told_end(&told);
	control_client_free(&c);
	return rc;
}

/* A session of its own whose record names the origin. */
static int in_new_session(struct cmd_ctx *ctx, const char *path, uint64_t action, json_t **reply, struct err *err)
{
	CLEANUP(json_release) json_t *o = json_object();
	struct spawned sp = { 0 };
	size_t len;
	const char *text = library_file("agents/redo.lua", &len), *accept = cmd_opt(ctx, "accept");
	if (!text)
		return err_set(err, ERR_NOENT, "'agents/redo.lua' is missing from this build");
	if (accept && strcmp(accept, "reduced") != 0)
		return err_set(err, ERR_USAGE, "--accept '%s': only 'reduced' can be accepted", accept);
	json_put_str(o, "name", "redo");
	json_put_bytes(o, "script", text, len);
	json_put_str(o, "sessions_dir", ctx->sessions);
	json_put_flag(o, "accept_reduced", accept != NULL);
	if (spawn_supervisor(o, &sp, err))
		return -1;
	int rc = ask(ctx, sp.socket, sp.path, action, path, reply, err);
	if (!ctx->quiet)
		fprintf(ctx->err, "recorded as %s\n", sp.id);
	spawned_release(&sp);
	return rc;
}

int cmd_redo(struct cmd_ctx *ctx)
{
	CLEANUP(free_ptr) char *path = NULL;
	CLEANUP(json_release) json_t *reply = NULL;
	CLEANUP(buf_release) struct buf text = BUF_INIT;
	struct err err = ERR_INIT;
	struct session *s;
	uint64_t action;
	if (session_ref(ctx->sessions, cmd_word(ctx, 0), &path, &action, &err) < 0 || session_open(&s, path, &err) < 0)
		return cmd_fail(ctx, &err);
	bool live = session_live(s);
	CLEANUP(free_ptr) char *socket = control_path(session_id(s));
	session_close(&s);
	if (!action)
		return cmd_usage(ctx, "which action? give its number: redo s-7k2m9q#403");
	int rc = live ? ask(ctx, socket, path, action, NULL, &reply, &err) : in_new_session(ctx, path, action, &reply, &err);
	if (rc < 0)
		return cmd_fail(ctx, &err);
	if (ctx->json) {
		cmd_json(ctx, json_incref(reply));
	} else {
		describe_redo(reply, &text);
		buf_puts(&text, "\n");
		cmd_print_safe(ctx->out, buf_cstr(&text), text.len, true);
	}
	return json_flag(reply, "same", false) ? EXIT_DONE : EXIT_UNSUCCESSFUL;
}
